// The result in words and in a few figures, and what to do where there is none.

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { SILENT } from "./api.js";
import { CHOICES } from "./choices.js";
import { budget, count, even, percent, significant } from "./format.js";
import { capital, labelOf, worded } from "./wording.js";

export function Headline({ result, failure, stale, offers, question, unfit, onRetry, onChoose, onCell, onSeek }) {
  return html`<section class="headline card ${stale && !failure ? "stale" : ""}" aria-labelledby="headline-heading">
    <h2 id="headline-heading" class="hidden">Result</h2>
    ${failure && html`<${Failure} failure=${failure} question=${question} unfit=${unfit} onRetry=${onRetry} onChoose=${onChoose} onCell=${onCell} onSeek=${onSeek} />`}
    ${result
      ? html`<div class=${failure ? "result old" : "result"}>
          ${failure && html`<p class="before soft">The previous plan, which still had a design:</p>`}
          <p class="headline-text" id="headline" aria-busy=${String(!failure && stale)}>${result.headline}</p>${result.notes.map((text) => html`<p class="note">${text}</p>`)}<${Tiles} result=${result} />
          ${result.warning_parts.map((parts) => html`<p class="warning">${capital(worded(parts))}</p>`)}
          ${!failure && html`<${Offers} offers=${offers} result=${result} onChoose=${onChoose} />`}
          <${Reasons} result=${result} /></div>`
      : !failure && html`<p class="headline-text waiting" aria-hidden="true"> </p><p class="hidden">The plan is being computed.</p>`}
    <${Announcer} text=${failure ? `No design: ${describe(failure)}` : !stale && result ? result.headline : null} />
  </section>`;
}

// Not announced by itself: the announcer says it once, after a pause.
function Failure({ failure, question, unfit, onRetry, onChoose, onCell, onSeek }) {
  const { nearest, passes, cells: [cell] = [] } = failure;
  const offered = nearest && (cell || nearest.option === question || !QUESTIONS.has(nearest.option));
  const use = () => (cell ? onCell(cell, String(nearest.value)) : onChoose({ [nearest.option]: String(nearest.value) }));
  return html`<div class="failure"><p class="failure-title">${titleOf(failure)}</p><p>${describe(failure)}</p>
    ${cell && html`<p><button type="button" class="small" onClick=${() => onSeek(cell)}>Go to ${failure.cells.length === 1 ? "the cell" : "the first cell"}</button></p>`}
    ${offered && html`<p><button type="button" class="small" data-nearest=${nearest.option} onClick=${use}>${nearestWords(nearest)}</button></p>`}
    ${unfit && html`<p><button type="button" class="small" data-nearest="mechanism" onClick=${() => onChoose({ mechanism: "best" })}>Use the most precise mechanism that fits</button></p>`}
    ${passes && html`<p class="soft">It tries again by itself as soon as the server answers.</p><p><button type="button" class="small" onClick=${onRetry}>Try again</button></p>`}</div>`;
}

// A goal that cannot be met is told from work that was given up, and that from a server which is away or busy.
function titleOf({ passes, message, field, argument, cells }) {
  if (passes) return message === SILENT ? "The planner is not connected" : "The planner is busy";
  return field || argument || cells?.length ? "No design for this goal" : "No design";
}

const nearestWords = ({ option, value }) =>
  option === "total" ? `Use ${count(value)} people` : option === "at_most" ? `Use at most ${count(value)} people` : `Use ${labelOf(option).replace(/^the/, "a")} of ${significant(value, 6)}`;

const QUESTIONS = new Set(["total", "at_most", "target_se", "target_margin", "budget"]);

function describe({ message, cells = [], nearest }) {
  if (cells.length === 0 || nearest) return message;
  return `${cells.length === 1 ? "One cell of the table needs" : `${count(cells.length)} cells of the table need`} your attention.`;
}

// What would do better for the same goal, each by a click.
function Offers({ offers, result, onChoose }) {
  if (!offers.length) return null;
  const figure = ({ saves, total, cost, standard_error, variance }) =>
    saves === "total" ? `${count(total)} people instead of ${count(result.total)}`
    : saves === "cost" ? `a cost of ${significant(cost, 6)} instead of ${significant(result.cost, 6)}`
    : standard_error === null ? `an objective of ${even(variance)} instead of ${even(result.variance)}`
    : `a standard error of ${even(standard_error)} instead of ${even(result.standard_error)}`;
  return html`<div class="offers"><h3>What would do better</h3><ul>${offers.map((offer) => html`<li><span>${offerTitle(offer)}: <strong>${figure(offer)}</strong>.</span>
    <button type="button" class="small" onClick=${() => onChoose(textOptions(offer.options))}>Use it<span class="hidden">: ${offerTitle(offer)}</span></button></li>`)}</ul></div>`;
}

function offerTitle({ options, mechanism, raw_answers }) {
  if (options.release === undefined) return `${mechanism} noise, with the same promise`;
  const what = CHOICES.release.find(([key]) => key === options.release)[1];
  if (raw_answers) return `Publish ${what} only, if the office may see raw answers`;
  return `Publish ${what} only, with devices at ε ${significant(options.device_epsilon)}: the same promise to everyone, and at least the same against the office`;
}

const textOptions = (options) => Object.fromEntries(Object.entries(options).map(([name, value]) => [name, value === null ? "" : String(value)]));

function Tiles({ result }) {
  const parts = result.variance_parts;
  const share = parts.sampling + parts.privacy > 0 ? parts.privacy / (parts.sampling + parts.privacy) : 0;
  const neyman = result.comparison.find((row) => row.design === "neyman");
  const tiles = [
    ["People invited", count(result.total), `of ${count(result.population)}`],
    result.standard_error === null
      ? ["Objective", significant(result.variance), result.objective.replace("_", " ")]
      : ["Standard error", significant(result.standard_error, 3), `margin ±${significant(result.margin, 3)}`],
    ["Without privacy", significant(result.standard_error_without_privacy ?? parts.sampling, 3), `privacy is ${percent(share)} of the variance`],
    ["Neyman instead", `${significant(neyman.ratio, 3)}×`, "the variance"],
    ...(result.office_epsilon === null ? [] : [["Against the office", budget(result.office_epsilon), "ε of one person's answers"]]),
    ...(result.office_sees_raw_answers ? [["Against the office", "none", "it sees raw answers"]] : []),
    ...(result.cost === null ? [] : [["Cost", significant(result.cost, 6), "of all invitations"]]),
  ];
  return html`<dl class="tiles">${tiles.map(([title, value, note]) => html`<div class="tile"><dt>${title}</dt><dd><span class="value">${value}</span> <span class="soft">${note}</span></dd></div>`)}</dl>`;
}

function Reasons({ result }) {
  return html`<details class="reasons"><summary>In full: proof, promise and assumptions</summary>${result.sentence_parts.map((parts) => html`<p>${worded(parts)}</p>`)}</details>`;
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
