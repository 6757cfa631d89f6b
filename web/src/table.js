// The strata: a table that is edited in place, pasted into, or replaced by a file.

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { budget, count, even } from "./format.js";
import { pasteBlock } from "./paste.js";
import * as plans from "./plan.js";

const PAGE = 15;
const SPREAD_CHOICES = {
  sd: [["sd"], "standard deviation"],
  variance: [["variance"], "variance"],
  proportion: [["proportion"], "proportion of yes"],
  range: [["sd_low", "sd_high"], "range of standard deviations"],
  none: [[], "unknown: the worst case"],
};
const TITLES = { __proto__: null, stratum: "stratum", size: "size", ...plans.SPREADS, response_rate: "response rate", sd_source: "sd source" };
const UNITS = { __proto__: null, size: "people", cost: "each", min: "people", max: "people", response_rate: "0 to 1", proportion: "0 to 1" };
const unitOf = (name, { questions }) => (questions && name in plans.SPREADS ? "not used with a questionnaire" : UNITS[name]);
const SD_SOURCES = ["", "public", "prior", "bound", "private_pilot", "confidential"];

export function StrataTable({ plan, result, stale, opened, cells, sought, examples, over, notice, onChange, onExample, onFile, onPaste }) {
  const [page, setPage] = useState(0);
  useEffect(() => setPage(0), [opened]);
  const pages = Math.max(1, Math.ceil(plan.rows.length / PAGE));
  const shown = Math.min(page, pages - 1);
  const errors = new Map(cells.map((cell) => [`${cell.row}:${cell.column.trim().toLowerCase()}`, cell.message]));
  const jump = (row, column) => {
    setPage(Math.floor(row / PAGE));
    focusWhenThere(row, column);
  };
  useEffect(() => sought && jump(sought.row, sought.column), [sought]);
  const add = () => {
    onChange(plans.addRow(plan), null);
    jump(plan.rows.length, "stratum");
  };
  const paste = (row, column, text) => onPaste((current) => pasteBlock(current, row, column, text));
  const results = result ? result.strata : null;
  return html`
    <section class="strata card ${stale ? "stale" : ""}" aria-labelledby="strata-heading">
      <div class="section-head">
        <div>
          <h2 id="strata-heading" tabindex="-1">Strata</h2>
          <p class="soft">${count(plan.rows.length)} ${plan.rows.length === 1 ? "stratum" : "strata"}. Edit the cells, paste from a spreadsheet, or drop a CSV, Parquet or Excel file here.</p>
        </div>
        <div class="buttons">
          <${Examples} examples=${examples} onExample=${(name) => (setPage(0), onExample(name))} />
          <${FileButton} label="Open a file" onFile=${onFile} />
          <${Columns} plan=${plan} onChange=${onChange} />
        </div>
      </div>
      ${notice}
      ${over && html`<p class="drop-here">Drop the file to replace the table.</p>`}
      ${cells.length > 0 && html`<${Problems} cells=${cells} titleOf=${(cell) => `${plan.rows[cell.row]?.[plan.columns.indexOf("stratum")] || `row ${cell.row + 1}`}, ${cell.column}`} onJump=${jump} />`}
      <div class="scroll" tabindex="0" role="region" aria-label="Table of strata">
        <table class="edit">
          <thead><tr>
            ${plan.columns.map((name) => html`<th scope="col" class=${plans.NUMBERS.has(name) ? "number" : ""}>${TITLES[name] ?? name}${unitOf(name, plan) && html` <span class="unit">${unitOf(name, plan)}</span>`}</th>`)}
            <th scope="col" class="number out invite">invite <span class="unit">people</span></th>
            <th scope="col" class="number out">${(result?.budget_of ?? "local epsilon").replace("epsilon", "ε")}</th>
            <th scope="col" class="number out">noise sd</th>
            <th scope="col"><span class="hidden">Remove</span></th>
          </tr></thead>
          <tbody>
            ${plan.rows.slice(shown * PAGE, (shown + 1) * PAGE).map((row, i) => html`<${Row} key=${shown * PAGE + i} plan=${plan} at=${shown * PAGE + i} row=${row}
              errors=${errors} results=${results} onChange=${onChange} onPaste=${paste} onJump=${jump} />`)}
          </tbody>
          ${results && html`<tfoot><tr>
            <th scope="row">all</th>
            ${plan.columns.slice(1).map((name) => html`<td class="number">${name === "size" ? count(result.population) : ""}</td>`)}
            <td class="number out invite">${count(result.total)}</td><td></td><td></td><td></td>
          </tr></tfoot>`}
        </table>
      </div>
      <div class="table-foot">
        <button type="button" onClick=${add}>Add a stratum</button>
        ${pages > 1 && html`<nav class="pager" aria-label="Pages of the table">
          <button type="button" disabled=${shown === 0} onClick=${() => setPage(shown - 1)}>Previous</button>
          <span>Rows ${count(shown * PAGE + 1)} to ${count(Math.min((shown + 1) * PAGE, plan.rows.length))} of ${count(plan.rows.length)}</span>
          <button type="button" disabled=${shown === pages - 1} onClick=${() => setPage(shown + 1)}>Next</button>
        </nav>`}
      </div>
    </section>`;
}

function Row({ plan, at, row, errors, results, onChange, onPaste, onJump }) {
  const name = row[plan.columns.indexOf("stratum")] || `row ${at + 1}`;
  const out = (column, show) => (results?.[column]?.[at] === undefined || results[column][at] === null ? "" : show(results[column][at]));
  return html`<tr>
    ${plan.columns.map((column, j) => html`<${Cell} key=${column} at=${at} column=${column} name=${name} text=${row[j]} error=${errors.get(`${at}:${column}`)}
      onText=${(text) => onChange(plans.setCell(plan, at, j, text), `cell-${at}-${column}`)}
      onPaste=${(text) => onPaste(at, j, text)}
      onMove=${(step) => at + step >= 0 && at + step < plan.rows.length && onJump(at + step, column)} />`)}
    <td class="number out invite">${out("sample_size", count)}</td>
    <td class="number out">${out("local_epsilon", (value) => budget(value))}</td>
    <td class="number out">${out("noise_sd", (value) => even(value))}</td>
    <td><button type="button" class="small quiet" disabled=${plan.rows.length === 1} aria-label=${`Remove ${name}`} onClick=${() => onChange(plans.removeRow(plan, at), null)}>×</button></td>
  </tr>`;
}

function Cell({ at, column, name, text, error, onText, onPaste, onMove }) {
  const label = `${TITLES[column] ?? column} of ${name}`;
  const id = `cell-${at}-${column}`;
  const described = error ? `${id}-error` : undefined;
  if (column === "sd_source")
    return html`<td><select data-row=${at} data-column=${column} aria-label=${label} aria-invalid=${error ? "true" : undefined} aria-describedby=${described}
      onChange=${(event) => onText(event.currentTarget.value)}>
      ${[...new Set([...SD_SOURCES, text])].map((each) => html`<option value=${each} selected=${each === text}>${each || "prior (default)"}</option>`)}
    </select>${error && html`<p class="error-text" id=${described}>${error}</p>`}</td>`;
  const paste = (event) => {
    const block = event.clipboardData.getData("text/plain");
    if (!/[\t\n]/.test(block.trim())) return;
    event.preventDefault();
    onPaste(block);
  };
  const move = (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1, Enter: event.shiftKey ? -1 : 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    onMove(step);
  };
  return html`<td>
    <input type="text" class=${plans.NUMBERS.has(column) ? "number" : "name"} inputmode=${plans.NUMBERS.has(column) ? "decimal" : "text"} autocomplete="off" spellcheck=${false}
      data-row=${at} data-column=${column} aria-label=${label} value=${text} aria-invalid=${error ? "true" : undefined} aria-describedby=${described}
      onInput=${(event) => onText(event.currentTarget.value)} onPaste=${paste} onKeyDown=${move} />
    ${error && html`<p class="error-text" id=${described}>${error}</p>`}
  </td>`;
}

export function Problems({ cells, titleOf, onJump }) {
  const few = cells.slice(0, 5);
  return html`<div class="problems">
    <p><strong>${cells.length === 1 ? "One cell needs" : `${count(cells.length)} cells need`} your attention.</strong></p>
    <ul>${few.map((cell) => html`<li><button type="button" class="link" onClick=${() => onJump(cell.row, cell.column)}>${titleOf(cell)}</button>: ${cell.message}</li>`)}</ul>
    ${cells.length > few.length && html`<p class="soft">The others are marked in the table.</p>`}
  </div>`;
}

function Examples({ examples, onExample }) {
  return html`<label class="inline"><span class="hidden">Open an example</span>
    <select class="example" onChange=${(event) => { const name = event.currentTarget.value; event.currentTarget.value = ""; if (name) onExample(name); }}>
      <option value="">Open an example …</option>
      ${examples.map((each) => html`<option value=${each.name}>${each.title}</option>`)}
      <option value="empty">An empty table</option>
    </select></label>`;
}

export function FileButton({ label, accept = ".csv,.tsv,.txt,.parquet,.xlsx,.xls,.xlsb,.ods,.json", onFile }) {
  const input = useRef(null);
  return html`<span class="file-button">
    <button type="button" onClick=${() => input.current.click()}>${label}</button>
    <input type="file" class="hidden" tabindex="-1" aria-hidden="true" ref=${input} accept=${accept}
      onChange=${(event) => { const [file] = event.currentTarget.files; event.currentTarget.value = ""; if (file) onFile(file); }} />
  </span>`;
}

function Columns({ plan, onChange }) {
  const box = useRef(null);
  useEffect(() => {
    const close = (event) => !box.current?.contains(event.target) && (box.current.open = false);
    const escape = (event) => event.key === "Escape" && box.current?.open && ((box.current.open = false), box.current.querySelector("summary").focus());
    document.addEventListener("click", close);
    document.addEventListener("keydown", escape);
    return () => (document.removeEventListener("click", close), document.removeEventListener("keydown", escape));
  }, []);
  const now = plan.columns.filter((name) => name in plans.SPREADS).join();
  return html`<details class="menu" ref=${box}>
    <summary>Columns</summary>
    <div class="menu-body">
      <fieldset><legend>Spread given as</legend>
        ${Object.entries(SPREAD_CHOICES).map(([key, [names, title]]) => html`<label><input type="radio" name="spread" value=${key}
          checked=${names.join() === now} onChange=${() => onChange(plans.setSpread(plan, names), null)} /> ${title}</label>`)}
      </fieldset>
      <fieldset><legend>More columns</legend>
        ${Object.entries(plans.OPTIONAL).map(([name, title]) => html`<label><input type="checkbox" value=${name} checked=${plan.columns.includes(name)}
          onChange=${(event) => onChange(event.currentTarget.checked ? plans.addColumn(plan, name) : plans.removeColumn(plan, name), null)} /> ${title}</label>`)}
        <p class="soft">A column counts once something is in it.</p>
      </fieldset>
    </div>
  </details>`;
}

function focusWhenThere(row, column, tries = 20) {
  const cell = document.querySelector(`[data-row="${row}"][data-column="${CSS.escape(column)}"]`);
  if (cell) {
    cell.focus();
    cell.select?.();
  } else if (tries > 0) requestAnimationFrame(() => focusWhenThere(row, column, tries - 1));
}
