// The result in words and in a few figures.

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { budget, count, percent, significant } from "./format.js";
import { worded } from "./wording.js";

export function Headline({ result, error, problem, stale, onRetry }) {
  const failure = problem ?? error;
  return html`<section class="headline card ${stale && !failure ? "stale" : ""}" aria-labelledby="headline-heading">
    <h2 id="headline-heading" class="hidden">Result</h2>
    ${failure
      ? failure.empty
        ? html`<p class="headline-text">No strata yet</p><p class="note">${failure.message}</p>`
        : html`<div class="failure" role="alert"><p class="failure-title">No design for this goal</p><p>${describe(failure)}</p>
          <p><button type="button" class="small" onClick=${onRetry}>Try again</button></p></div>`
      : result
        ? html`<p class="headline-text" id="headline" aria-busy=${!result.told}>${result.headline}</p>${result.notes.map((text) => html`<p class="note">${text}</p>`)}<${Tiles} result=${result} />
          ${result.warning_parts.map((parts) => html`<p class="warning">${worded(parts)}</p>`)}
          <${Reasons} result=${result} />`
        : html`<p class="headline-text waiting" aria-hidden="true"> </p><p class="hidden">The plan is being computed.</p>`}
    <${Announcer} text=${failure ? `${failure.empty ? "No strata yet." : "No design:"} ${describe(failure)}` : !stale && result?.told ? result.headline : null} />
  </section>`;
}

function describe({ message, cells = [] }) {
  if (cells.length === 0) return message;
  return `${cells.length === 1 ? "One cell of the table needs" : `${count(cells.length)} cells of the table need`} your attention. The charts show the previous plan.`;
}

function Tiles({ result }) {
  const parts = result.variance_parts;
  const share = parts.sampling + parts.privacy > 0 ? parts.privacy / (parts.sampling + parts.privacy) : 0;
  const neyman = result.comparison.find((row) => row.design === "neyman");
  const tiles = [
    ["People invited", count(result.total), `of ${count(result.population)}`],
    result.standard_error === null
      ? ["Objective", significant(result.variance), result.objective.replace("_", " ")]
      : ["Standard error", significant(result.standard_error, 3), `margin ±${significant(result.margin, 3)}`],
    ["From privacy", percent(share), "of the variance"],
    ["Neyman instead", `${significant(neyman.ratio, 3)}×`, "the variance"],
    ...(result.office_epsilon === null ? [] : [["Against the office", budget(result.office_epsilon), "ε of one person's answers"]]),
    ...(result.office_sees_raw_answers ? [["Against the office", "none", "it sees raw answers"]] : []),
    ...(result.cost === null ? [] : [["Cost", significant(result.cost, 6), "of all invitations"]]),
  ];
  return html`<dl class="tiles">${tiles.map(([title, value, note]) => html`<div class="tile"><dt>${title}</dt><dd><span class="value">${value}</span> <span class="soft">${note}</span></dd></div>`)}</dl>`;
}

function Reasons({ result }) {
  return html`<details class="reasons"><summary>In full: proof, promise and assumptions</summary>${result.sentences.map((text) => html`<p>${text}</p>`)}</details>`;
}

// Screen readers hear the headline once it has come to rest, not every step of a slider.
function Announcer({ text }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!text) return undefined;
    const timer = setTimeout(() => setSaid(text), 900);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<p class="hidden" role="status" aria-live="polite">${said}</p>`;
}

// On narrow screens the figures stay in sight while the question is changed.
export function Ticker({ result, stale }) {
  if (!result) return null;
  const figure = result.standard_error === null ? `objective ${significant(result.variance, 3)}` : `standard error ${significant(result.standard_error, 3)}`;
  return html`<p class="ticker ${stale ? "stale" : ""}" aria-hidden="true"><strong>${count(result.total)}</strong> invited, <strong>${figure}</strong></p>`;
}
