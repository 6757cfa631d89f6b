// Whom the survey must protect against: it decides what is published and whether devices randomise.

import { html } from "htm/preact";
import { useEffect, useId, useState } from "preact/hooks";
import { ask, wasGivenUp } from "./api.js";
import { Field } from "./controls.js";
import { budget, count, significant } from "./format.js";
import { hasDevices, hasTargets, isEmpty, toRequest } from "./plan.js";

const REST = 400; // milliseconds without a change before the choices are compared
const DEVICES = "5"; // the budget of devices until someone chooses another
const CHOICES = {
  public: ["Only the public", "The office sees every answer as it is given and must keep them safe. Only noised sums are published."],
  office: ["The office too", "Respondents' devices change answers at random before the office gets them. Only noised sums are published."],
  published: ["The office too, and every answer is published", "Every answer is noised on its own device, as strongly as publishing all of them requires, and then published."],
};

// What the plan's own options amount to.
function chosen(options) {
  if (!hasDevices(options)) return "published";
  return options.device_epsilon.trim() === "" ? "public" : "office";
}

// The options that a choice sets; one number for everyone stays one number.
export function choose(name, options) {
  if (name === "published") return { ...options, release: "microdata", device_epsilon: "" };
  const release = hasDevices(options) ? options.release : "sums";
  return { ...options, release, device_epsilon: name === "office" ? options.device_epsilon.trim() || DEVICES : "" };
}

export function Protection({ plan, lost, error, onChange, onSet }) {
  const { options } = plan;
  const [language, setLanguage] = useState("en");
  const { answer, of } = useProtection(plan, language, lost);
  const stale = of !== plan;
  const now = chosen(options);
  const asksMany = Boolean(plan.questions);
  return html`<fieldset class="control protection">
    <legend>Whom must it protect against?</legend>
    ${Object.entries(CHOICES).map(([name, [title, words]]) => html`<label class="option"><input type="radio" name="against" value=${name}
      checked=${now === name} onChange=${() => onChange({ ...plan, options: choose(name, options) }, null)} />
      <span class="title">${title}</span><span class="soft">${words}</span><${Cost} figures=${answer?.choices[name]} known=${Boolean(answer)} none=${isEmpty(plan) || (!answer && !stale)} reached=${asksMany && hasTargets(plan.questions)} stale=${stale} /></label>`)}
    ${hasDevices(options) && html`<${Field} name="device_epsilon" label="Budget of respondents' devices" unit="ε; empty if the office sees raw answers"
      value=${options.device_epsilon} error=${error} onSet=${onSet}
      words="The most that the office, or whoever gets hold of its file, can learn from what a device sends." />`}
    <${Meaning} answer=${answer} stale=${stale} language=${language} onLanguage=${setLanguage} />
  </fieldset>`;
}

// What a choice gives: how precise the result would be with as many people, or how many people the same result takes.
function Cost({ figures, known, none, reached, stale }) {
  if (none) return null; // of an empty plan, or one that is refused
  if (!known) return html`<span class="cost soft">…</span>`;
  if (!figures) return html`<span class="cost soft">Not possible with this plan.</span>`;
  if (figures.total === null) return html`<span class="cost soft">No plan reaches this goal.</span>`;
  const precision = reached ? "every margin reached" : figures.standard_error === null ? `objective ${significant(figures.variance, 3)}` : `standard error ${significant(figures.standard_error, 3)}`;
  const office = figures.office_sees_raw_answers ? "" : figures.office_epsilon === null ? "" : `; against the office ε ${budget(figures.office_epsilon)}`;
  return html`<span class="cost ${stale ? "soft" : ""}">${count(figures.total)} invited, ${precision}${office}</span>`;
}

function Meaning({ answer, stale, language, onLanguage }) {
  const id = useId();
  return html`<details class="meaning"><summary>What does this mean?</summary>
    ${answer && html`<div aria-busy=${String(stale)}>
      <h3>The odds</h3>
      ${answer.sentences.map((text) => html`<p>${text}</p>`)}
      ${answer.consent && html`<h3>What respondents are told</h3>
      <label for=${id}>Language</label>
      <select id=${id} onChange=${(event) => onLanguage(event.currentTarget.value)}>
        ${Object.entries(answer.languages).map(([code, name]) => html`<option value=${code} selected=${code === language}>${name}</option>`)}
      </select>
      <div class="consent" lang=${answer.consent.language} dir=${answer.consent.direction}>
        <h4>${answer.consent.title}</h4>
        ${answer.consent.parts.map(({ heading, sentences }) => html`<p><strong>${heading}</strong></p><p>${sentences.join(" ")}</p>`)}
      </div>`}
    </div>`}
  </details>`;
}

// The comparison for a plan that has come to rest; the one before stays until then. It is asked for again once a lost server is back.
function useProtection(plan, language, lost) {
  const [found, setFound] = useState({ answer: null, of: null });
  useEffect(() => {
    let request;
    try {
      request = isEmpty(plan) ? null : toRequest(plan);
    } catch {
      request = null; // the plan says at its place what is wrong
    }
    if (!request) return setFound((old) => (old.answer ? old : { answer: null, of: plan })), undefined;
    const timer = setTimeout(async () => {
      try {
        const answer = await ask(`/api/protection?language=${encodeURIComponent(language)}`, request, { kind: "protection" });
        setFound({ answer, of: plan });
      } catch (error) {
        if (!wasGivenUp(error)) setFound({ answer: null, of: plan });
      }
    }, REST);
    return () => clearTimeout(timer);
  }, [plan, language, lost]);
  return found;
}
