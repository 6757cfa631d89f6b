// The question: every control with its unit and a sentence on what it does.

import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { CHOICES } from "./choices.js";
import { domainsOf, domainsText, mayHaveTargets } from "./domains.js";
import { rounded, typed, ungrouped } from "./format.js";
import { hasTargets, isWhole, NUMBERS } from "./plan.js";
import { Protection } from "./protection.js";
import { capital, worded } from "./wording.js";

const ANSWERS = ["0:1", "yes_no", "0:10:1", "0:100:1"];
const QUESTIONS = {
  total: { label: "exactly", unit: "people invited" },
  at_most: { label: "at most", unit: "people invited" },
  target_se: { label: "standard error", unit: "in units of the answers" },
  target_margin: { label: "margin of error", unit: "in units of the answers" },
  budget: { label: "budget", unit: "in the unit of the cost column" },
};
const QUESTION_WORDS = {
  total: "The total number of people to invite; the plan divides them among the strata.",
  at_most: "At most this many people are invited, and fewer if more would hurt precision.",
  target_se: "The plan invites the fewest people that reach this standard error of the mean.",
  target_margin: "The plan invites the fewest people that reach this half-width of the interval.",
  budget: "All invitations together cost no more than this.",
};

export function Controls({ plan, population, range, problem, misfits, lost, onChange, onRest, onPause }) {
  const { options } = plan;
  const set = (name, value, gesture) => onChange({ ...plan, options: { ...options, [name]: value } }, gesture);
  const failed = (name) => (problem?.field === name ? problem.message : null);
  const question = QUESTIONS[options.question];
  const whole = isWhole(options.question);
  const limits = whole
    ? [Math.max(plan.rows.length, 1), Math.max(population, plan.rows.length + 1)]
    : options.question === "budget" ? [100, 1_000_000] : [range * 1e-4, range * 0.5];
  const hasCost = plan.columns.includes("cost");
  const asksMany = Boolean(plan.questions);
  const decided = asksMany && hasTargets(plan.questions);
  const goals = Object.entries(QUESTIONS).filter(([name]) => (name !== "budget" || hasCost || options.question === "budget") && !(asksMany && mayHaveTargets(name)));
  const wide = matchMedia("(min-width: 60rem)").matches;
  return html`
    <section class="controls" aria-labelledby="controls-heading">
      <h2 id="controls-heading">Goal</h2>
      <${Protection} plan=${plan} lost=${lost} error=${failed("device_epsilon")} onChange=${onChange} onSet=${set} />
      <${Slider} name="epsilon" label="Privacy budget ε" unit="no unit" least=${0.01} most=${10}
        words="Limits what the release may reveal about anyone; smaller values protect more but cost precision."
        value=${options.epsilon} error=${failed("epsilon")} onSet=${set} onRest=${onRest} onPause=${onPause} />
      <fieldset class="control" disabled=${decided}>
        <legend>How large may the survey be?</legend>
        ${asksMany && html`<p class="soft">${decided ? "The margins to reach in the questionnaire decide this; remove them to choose it here." : "To reach a precision, give questions a margin to reach in the questionnaire."}</p>`}
        <div class="choices">
          ${goals.map(
            ([name, { label }]) => html`<label class="choice"><input type="radio" name="question" value=${name}
              checked=${options.question === name} onChange=${() => set("question", name, null)} /><span>${label}</span></label>`,
          )}
        </div>
        <${Slider} key=${options.question} name=${options.question} label=${`${question.label[0].toUpperCase()}${question.label.slice(1)}`} unit=${question.unit}
          least=${limits[0]} most=${limits[1]} whole=${whole} words=${QUESTION_WORDS[options.question]}
          value=${options[options.question]} error=${failed(options.question)} onSet=${set} onRest=${onRest} onPause=${onPause} />
      </fieldset>
      ${asksMany ? html`<p class="control soft one-question">Every question of a questionnaire says itself what can be answered and how important it is, so there is no mechanism, no range of answers, no cap and no objective to choose.</p>` : html`<${Select} name="mechanism" label="Mechanism" choices=${CHOICES.mechanism} value=${options.mechanism} error=${failed("mechanism")} onSet=${set}
        misfits=${misfits} words="The kind of noise. Which kinds fit depends on the answers and on what is published." />
      <${Reasons} misfits=${misfits} />`}
      ${!asksMany && options.mechanism === "gaussian" && html`<${Field} name="delta" label="Delta" unit="between 0 and 1" value=${options.delta}
        error=${failed("delta")} onSet=${set} words="The amount by which probabilities may differ beyond the factor of ε. Gaussian noise needs it; choose it far below 1 divided by the number of people." />`}
      <details class="more" open=${wide}>
        <summary>${asksMany ? "Release and more" : "Answers, release and more"}</summary>
        ${!asksMany && html`<${Field} name="questions" label="Answers" unit="lower:upper, lower:upper:step or a|b|c" value=${options.questions} suggestions=${ANSWERS}
          error=${failed("questions")} onSet=${set} words="The smallest and the largest possible answer, and the step of a grid; yes_no means yes or no; names between | are categories." />`}
        <${Select} name="release" label="What is published" choices=${CHOICES.release} value=${options.release} error=${failed("release")} onSet=${set}
          words="Sums: the office adds up the answers of each stratum and adds noise to each sum once, far less of it." />
        ${!asksMany && html`<${Field} name="local_epsilon_cap" label="Local epsilon cap" unit="ε of one answer; empty for none" value=${options.local_epsilon_cap}
          error=${failed("local_epsilon_cap")} onSet=${set}
          words="The most that one noised answer may reveal to someone who knows who gave it." />
        <${Select} name="objective" label="What should be precise" choices=${CHOICES.objective} value=${options.objective} error=${failed("objective")} onSet=${set}
          words="What the plan makes as precise as possible." />`}
        <${Domains} plan=${plan} error=${failed("domains")} onSet=${set} />
        <${Field} name="confidence" label="Confidence" unit="between 0 and 1" value=${options.confidence}
          error=${failed("confidence")} onSet=${set} words="Confidence level of the margin of error." />
        <${Field} name="min_per_stratum" label="Minimum per stratum" unit="people; empty for the default" value=${options.min_per_stratum}
          error=${failed("min_per_stratum")} onSet=${set} words="Every stratum gets at least this many people, or is sampled in full. By default 1 or, with response rates, enough for two answers in every stratum with a chance of 99%." />
      </details>
    </section>`;
}

const STEP = 0.002;

function Slider({ name, label, unit, words, least, most, whole, value, error, onSet, onRest, onPause }) {
  const id = useId();
  const number = typed(whole ? ungrouped(value) : value);
  const at = Number.isNaN(number) || number <= 0 ? least : Math.min(Math.max(number, least), most);
  const position = Math.log(at / least) / Math.log(most / least);
  const slide = (event) => {
    const share = Number(event.currentTarget.value);
    const there = rounded(least * (most / least) ** share);
    const next = whole ? nextWhole(there, number, Math.sign(share - Math.round(position / STEP) * STEP)) : there;
    onSet(name, String(whole ? Math.min(Math.max(next, least), most) : next), `slide-${name}`);
  };
  return html`<div class="control">
    <div class="label-row"><label for=${`${id}n`}>${label}</label><span class="unit">${unit}</span></div>
    <div class="slider-row">
      <input type="range" id=${`${id}r`} data-name=${name} min="0" max="1" step=${STEP} value=${position} aria-label=${`${label}, slider`}
        aria-valuetext=${`${value} ${unit === "no unit" ? "" : unit}`} onInput=${slide}
        onChange=${onPause} onPointerUp=${onRest} onBlur=${onRest} />
      <${Input} id=${`${id}n`} name=${name} value=${value} error=${error} onSet=${onSet} />
    </div>
    <${Words} id=${id} words=${words} error=${error} />
  </div>`;
}

// A step of a slider changes a whole number by one at least, and never against its direction.
function nextWhole(there, number, direction) {
  const next = Math.round(there);
  return direction === 0 || Number.isNaN(number) || (next - number) * direction > 0 ? next : Math.round(number) + direction;
}

export function Field({ name, label, unit, words, value, error, suggestions, onSet }) {
  const id = useId();
  return html`<div class="control">
    <div class="label-row"><label for=${`${id}n`}>${label}</label><span class="unit">${unit}</span></div>
    <${Input} id=${`${id}n`} name=${name} value=${value} error=${error} onSet=${onSet} list=${suggestions ? `${id}l` : undefined} />
    ${suggestions && html`<datalist id=${`${id}l`}>${suggestions.map((each) => html`<option value=${each}></option>`)}</datalist>`}
    <${Words} id=${id} words=${words} error=${error} />
  </div>`;
}

function Input({ id, name, value, error, list, onSet }) {
  const base = id.slice(0, -1);
  return html`<input type="text" id=${id} data-name=${name} inputmode=${list ? "text" : "decimal"} autocomplete="off" spellcheck=${false}
    value=${value} list=${list} aria-invalid=${error ? "true" : undefined} aria-describedby=${`${base}w`}
    onInput=${(event) => onSet(name, event.currentTarget.value, `type-${name}`)} />`;
}

function Select({ name, label, words, choices, value, error, misfits = {}, onSet }) {
  const id = useId();
  return html`<div class="control">
    <div class="label-row"><label for=${`${id}n`}>${label}</label></div>
    <select id=${`${id}n`} data-name=${name} aria-invalid=${error ? "true" : undefined} aria-describedby=${`${id}w`} onChange=${(event) => onSet(name, event.currentTarget.value, null)}>
      ${choices.map(([key, title]) => html`<option value=${key} selected=${key === value} disabled=${key in misfits && key !== value}>${title}${key in misfits ? " – does not fit" : ""}</option>`)}
    </select>
    <${Words} id=${id} words=${words} error=${error} />
  </div>`;
}

// Why some mechanisms cannot be chosen.
function Reasons({ misfits }) {
  const unfit = CHOICES.mechanism.filter(([key]) => key in misfits);
  if (!unfit.length) return null;
  return html`<details class="misfits"><summary>Why ${unfit.length === 1 ? "one does" : `${unfit.length} do`} not fit</summary>
    <dl>${unfit.map(([key, title]) => html`<dt>${title}</dt><dd class="soft">${capital(worded(misfits[key]))}</dd>`)}</dl></details>`;
}

// Columns of the table that group strata, to be reported besides the whole.
function Domains({ plan, error, onSet }) {
  const columns = plan.columns.filter((name) => !NUMBERS.has(name) && !["stratum", "sd_source"].includes(name));
  const chosen = domainsOf(plan.options.domains);
  const targets = mayHaveTargets(plan.options.question);
  const set = (domains, gesture) => onSet("domains", domainsText(domains), gesture);
  return html`<fieldset class="control" data-name="domains"><legend>Groups to report</legend>
    ${columns.map((name) => {
      const own = chosen.find((each) => each.name === name);
      const without = chosen.filter((each) => each.name !== name);
      return html`<div class="domain"><label><input type="checkbox" value=${name} checked=${Boolean(own)} onChange=${() => set(own ? without : [...chosen, { name, target: "" }], null)} /> ${name}</label>
        ${own && targets && html`<input type="text" aria-label=${`Target for every group of ${name}`} placeholder="no target" value=${own.target}
          onInput=${(event) => set(chosen.map((each) => (each === own ? { name, target: event.currentTarget.value } : each)), `type-domain-${name}`)} />`}</div>`;
    })}
    <p class=${error ? "error-text" : "soft"}>${error ?? (columns.length === 0 ? "Columns of the strata file that group its strata, such as region, can be reported too; this table has none."
      : targets ? "Each group gets an estimate of its own, and reaches its target, if it has one: 0.02se, 0.03margin or 15%cv." : "Each group gets an estimate of its own. Choose a standard error, a margin of error or a budget above to set targets for groups.")}</p>
  </fieldset>`;
}

function Words({ id, words, error }) {
  return html`<p id=${`${id}w`} class=${error ? "error-text" : "soft"}>${error ?? words}</p>`;
}
