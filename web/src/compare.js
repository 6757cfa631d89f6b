// Two plans side by side.

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { ask, wasGivenUp } from "./api.js";
import { Chart } from "./charts.js";
import { CHOICES } from "./choices.js";
import { budget, count, significant } from "./format.js";
import { toRequest } from "./plan.js";

const SHOWN = 50;
const WHOLE = new Set(["total"]);

export function Compare({ plan, held, ready, failed, onHold, onSwap, onLetGo }) {
  const [found, setFound] = useState({ of: [] }); // with the two plans it belongs to
  useEffect(() => {
    if (!held || !ready) return;
    let current = true;
    (async () => {
      try {
        const answer = await ask("/api/compare", { held: toRequest(held), current: toRequest(plan) });
        if (current) setFound({ answer, of: [held, plan] });
      } catch (error) {
        if (current && !wasGivenUp(error)) setFound({ problem: error.message, of: [held, plan] });
      }
    })();
    return () => (current = false);
  }, [plan, held, ready]);
  const stale = found.of[0] !== held || found.of[1] !== plan;
  const { answer, problem } = found;
  return html`<section class="compare card" aria-labelledby="compare-heading">
    <div class="section-head">
      <div>
        <h2 id="compare-heading">Two plans side by side</h2>
        <p class="soft">${held ? "The held plan stays as it was; everything you change goes into this plan." : "Hold this plan, change anything, and see what the change does."}</p>
      </div>
      <div class="buttons">
        <button type="button" class="primary" onClick=${onHold} disabled=${!ready}>${held ? "Hold this plan instead" : "Hold this plan"}</button>
        ${held && html`<button type="button" onClick=${onSwap}>Swap the two</button>
        <button type="button" onClick=${onLetGo}>Drop held plan</button>`}
      </div>
    </div>
    ${held && failed && html`<p class="soft">This plan has no design, so it cannot be compared with the held plan.</p>`}
    ${held && !failed && !stale && problem && html`<p class="error-text" role="alert">${problem}</p>`}
    ${held && !failed && answer && html`<div class="compare-body ${stale ? "stale" : ""}" aria-busy=${String(stale)}>
      <${Figures} answer=${answer} held=${found.of[0]} plan=${found.of[1]} />
      ${answer.chart ? html`<${Chart} name="compare" spec=${answer.chart} stale=${stale} />` : html`<p class="soft">The two plans have different strata, so no chart can show both.</p>`}
      <${Sizes} rows=${answer.strata} />
    </div>`}
  </section>`;
}

function Figures({ answer, held, plan }) {
  const show = (name, value) => (WHOLE.has(name) ? count(value) : name === "office_epsilon" ? budget(value) : significant(value));
  const sign = (name, value) => (value === null ? "" : value === 0 ? "same" : `${value > 0 ? "+" : "−"}${show(name, Math.abs(value))}`);
  const alike = sameObjective(held, plan);
  const title = (row) => (row.name !== "variance" ? row.title : alike && plan.options.objective === "mean" ? "Variance" : "Objective");
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Figures of both plans"><table class="figures">
    <thead><tr><th scope="col">Figure</th><th scope="col" class="number">Held plan</th><th scope="col" class="number">This plan</th><th scope="col" class="number">Difference</th></tr></thead>
    <tbody>
      <tr><th scope="row">ε</th><td class="number">${held.options.epsilon}</td><td class="number">${plan.options.epsilon}</td><td></td></tr>
      <tr><th scope="row">Noise</th><td class="number">${answer.mechanisms[0]}</td><td class="number">${answer.mechanisms[1]}</td><td></td></tr>
      ${!alike && html`<tr data-figure="objective"><th scope="row">Objective</th><td class="number">${objectiveOf(held)}</td><td class="number">${objectiveOf(plan)}</td><td></td></tr>`}
      ${answer.figures.map((row) => html`<tr data-figure=${row.name}><th scope="row">${title(row)}</th><td class="number">${show(row.name, row.held)}</td><td class="number">${show(row.name, row.current)}</td><td class="number">${row.name === "variance" && !alike ? "" : sign(row.name, row.difference)}</td></tr>`)}
    </tbody>
  </table></div>`;
}

const objectiveOf = ({ options }) => CHOICES.objective.find(([key]) => key === options.objective)[1];

// Objectives of different kinds, or with different coefficients, are numbers of different things.
function sameObjective(held, plan) {
  const coefficients = ({ columns, rows }) => JSON.stringify(rows.map((row) => row[columns.indexOf("coefficient")]));
  if (held.options.objective !== plan.options.objective) return false;
  return plan.options.objective !== "custom" || coefficients(held) === coefficients(plan);
}

function Sizes({ rows }) {
  return html`<details><summary>People invited, stratum by stratum</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="Allocations of both plans"><table>
      <thead><tr><th scope="col">Stratum</th><th scope="col" class="number">Held plan</th><th scope="col" class="number">This plan</th><th scope="col" class="number">Difference</th></tr></thead>
      <tbody>${rows.slice(0, SHOWN).map((row) => html`<tr><th scope="row">${row.stratum}</th><td class="number">${count(row.held)}</td><td class="number">${count(row.current)}</td>
        <td class="number">${row.held === null || row.current === null ? "" : row.current === row.held ? "same" : `${row.current > row.held ? "+" : "−"}${count(Math.abs(row.current - row.held))}`}</td></tr>`)}</tbody>
    </table>${rows.length > SHOWN && html`<p class="soft">${count(rows.length - SHOWN)} more strata are not shown.</p>`}</div>
  </details>`;
}
