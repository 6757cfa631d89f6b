// A table with headers of its own: which of its columns is what.

import { html } from "htm/preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { count } from "./format.js";
import { guess, guessAnswers, headless, looksLikeData, mapped, NONE, PEOPLE_ARE_ROWS, SPREAD_KINDS, TOGETHER } from "./mapping.js";
import { plainNumbers } from "./reading.js";

const PREVIEWED = 3;

export function Asking({ table: read, onUse, onCancel }) {
  const bare = looksLikeData(read);
  const [asData, setAsData] = useState(bare);
  const table = useMemo(() => (asData ? headless(read) : read), [read, asData]);
  const [said, setSaid] = useState(() => guess(table));
  const heading = useRef(null);
  useEffect(() => heading.current.focus(), [read]);
  const takeFirst = (event) => {
    const next = event.currentTarget.checked;
    setAsData(next);
    setSaid(guess(next ? headless(read) : read));
  };
  const set = (name) => (event) => setSaid((old) => withAnswers({ ...old, [name]: event.currentTarget.value }, name, table));
  const named = table.columns.map((name, i) => [String(i), name]);
  const found = said.size === NONE ? null : mapped(table, said);
  const ask = (name, label, choices) => html`<${Question} name=${name} label=${label} choices=${choices} value=${said[name]} onPick=${set(name)} />`;
  return html`<section class="asking card" aria-labelledby="asking-heading">
    <h2 id="asking-heading" tabindex="-1" ref=${heading}>What is in ${table.name}?</h2>
    <p class="soft">It has ${count(table.rows.length)} ${table.rows.length === 1 ? "row" : "rows"} and ${asData ? "no headers" : "headers of its own"}. Nothing is used before you say so.</p>
    ${bare && html`<label class="check"><input type="checkbox" data-ask="first" checked=${asData} onChange=${takeFirst} /> The first row (${read.columns.join(", ")}) is data</label>`}
    <div class="questions">
      ${ask("stratum", "Which column names the strata?", [...named, [TOGETHER, "all columns of text together"], [NONE, "none: number the rows"]])}
      ${ask("size", "Which column holds the number of people?", [...(said.size === NONE ? [[NONE, "please choose"]] : []), ...named, [PEOPLE_ARE_ROWS, "none: every row is one person"]])}
      ${said.size !== PEOPLE_ARE_ROWS && html`
        ${ask("spread", "Which column says how answers differ?", [...named, [NONE, "none: plan for the worst case"]])}
        ${said.spread !== NONE && ask("kind", `What is ${table.columns[said.spread]}?`, Object.entries(SPREAD_KINDS))}
        ${ask("cost", "Which column holds the cost of one invitation?", [...named, [NONE, "none"]])}
        ${ask("response_rate", "Which column holds the share who would answer?", [...named, [NONE, "none"]])}`}
      <${Answers} value=${said.answers} onPick=${(answers) => setSaid((old) => ({ ...old, answers }))} />
    </div>
    <${Ends} rows=${table.rows} leftOut=${said.leftOut} onPick=${(leftOut) => setSaid((old) => ({ ...old, leftOut }))} />
    ${said.size === PEOPLE_ARE_ROWS && html`<p class="people">Each row is read as one person: ${count(table.rows.length - said.leftOut)} people in ${count(found.rows.length)} ${found.rows.length === 1 ? "stratum" : "strata"}. Nothing else about them is used.</p>`}
    ${found && html`<${Preview} table=${found} />`}
    <div class="buttons">
      <button type="button" class="primary" disabled=${!found} onClick=${() => onUse(found, said.answers)}>Use this table</button>
      <button type="button" onClick=${onCancel}>Cancel</button>
    </div>
  </section>`;
}

// Another spread means other answers, until someone says what they are.
function withAnswers(said, name, { rows }) {
  if (!["spread", "kind"].includes(name)) return said;
  const cells = said.spread === NONE ? [] : plainNumbers(rows.map((row) => row[said.spread]), said.kind);
  return { ...said, answers: guessAnswers(said.kind, cells) };
}

// Rows at the end that are no strata: for every one that is left out, the row above it can be left out too.
function Ends({ rows, leftOut, onPick }) {
  const offered = Math.min(leftOut + 1, rows.length - 2);
  if (offered < 1) return null;
  const nameOf = (row) => row.find((cell) => cell.trim() !== "");
  return html`<div class="ends">${Array.from({ length: offered }, (_, i) => html`<label class="check"><input type="checkbox" checked=${i < leftOut}
    onChange=${(event) => onPick(event.currentTarget.checked ? i + 1 : i)} /> Leave out the ${i ? "row above it too" : "last row"} (${nameOf(rows.at(-1 - i))}): it is no stratum</label>`)}</div>`;
}

function Question({ name, label, choices, value, onPick }) {
  const id = useId();
  return html`<div class="control"><label for=${id}>${label}</label>
    <select id=${id} data-ask=${name} onChange=${onPick}>${choices.map(([key, title]) => html`<option value=${key} selected=${key === value}>${title}</option>`)}</select></div>`;
}

function Answers({ value, onPick }) {
  const [low, high] = value === "yes_no" ? ["0", "1"] : value.split(":");
  return html`<fieldset class="control"><legend>What can people answer?</legend>
    <div class="answer-ends">
      <label><input type="radio" name="ask-answers" checked=${value === "yes_no"} onChange=${() => onPick("yes_no")} /> yes or no</label>
      <label><input type="radio" name="ask-answers" checked=${value !== "yes_no"} onChange=${() => onPick(`${low}:${high}`)} /> a number</label>
      ${value !== "yes_no" && html`<span>from <input type="text" inputmode="decimal" aria-label="Smallest answer" value=${low} onInput=${(event) => onPick(`${event.currentTarget.value}:${high}`)} />
        to <input type="text" inputmode="decimal" aria-label="Largest answer" value=${high} onInput=${(event) => onPick(`${low}:${event.currentTarget.value}`)} /></span>`}
    </div></fieldset>`;
}

function Preview({ table }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="The first rows as they will be used"><table>
    <thead><tr>${table.columns.map((name) => html`<th scope="col">${name.replaceAll("_", " ")}</th>`)}</tr></thead>
    <tbody>${table.rows.slice(0, PREVIEWED).map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table>${table.rows.length > PREVIEWED && html`<p class="soft">and ${count(table.rows.length - PREVIEWED)} more</p>`}</div>`;
}
