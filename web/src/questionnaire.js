// Several questions in one survey: a table of them, and the forms and precision that follow.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { ask } from "./api.js";
import { count, percent, significant } from "./format.js";
import { toRequest } from "./plan.js";
import { EMPTY, inWords, KINDS, readQuestions, shownColumns, titleOf, withUsualColumns } from "./questions.js";
import { FileButton, Problems } from "./table.js";

const NEEDS = { categories: ["category"], lower: ["scale", "number"], upper: ["scale", "number"], step: ["scale"], blank: ["yes_no", "category"] };
const suits = (column, kind) => NEEDS[column]?.includes(kind) ?? true;
const CHOICES = { kind: KINDS, blank: { "": "yes", no: "no" }, everyone: { "": "no", yes: "yes" } }; // an empty cell means the first
const isWide = (name) => ["name", "categories"].includes(name) || /^(text|labels)/.test(name);

export function Questionnaire({ plan, result, cells, sought, notice, onChange, onSaid, onProblem }) {
  const { questions } = plan;
  useEffect(() => sought && goTo(sought.row, sought.column), [sought]);
  const put = (next, gesture = null) => onChange((current) => withQuestions(current, next), gesture);
  const add = () => put(addQuestion(questions ?? EMPTY));
  const open = async (file) => {
    try {
      const { questions: read, said } = await readQuestions(file);
      put(read);
      onSaid(said);
    } catch (error) {
      onProblem(error.message);
    }
  };
  const drop = (event) => {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    event.stopPropagation(); // else it would be taken for strata
    dispatchEvent(new DragEvent("dragleave", { relatedTarget: null }));
    open(file);
  };
  const preview = () => openPreview(plan).catch((error) => onProblem(error.message));
  return html`<section class="questionnaire card" aria-labelledby="questionnaire-heading" onDrop=${drop}>
    <div class="section-head">
      <div><h2 id="questionnaire-heading">Questionnaire</h2>
        <p class="soft">${questions ? (questions.rows.length > 1 ? "Every person gets one form, or everyone all questions. The first chart shows every question." : "Everyone in the sample is asked this question.") : "This plan is for a single question. Add questions, or open or drop an XLSForm or a table of questions here."}</p></div>
      <div class="buttons">
        <button type="button" onClick=${add}>Add a question</button>
        <${FileButton} label="Open a questionnaire" accept=".xlsx,.xls,.ods,.csv,.tsv,.parquet" onFile=${open} />
        ${questions && html`<button type="button" disabled=${!result?.forms.some((form) => form.rows)} onClick=${preview}>Preview the respondents' page</button>
        <button type="button" onClick=${() => put(undefined)}>Back to a single question</button>`}
      </div>
    </div>
    ${notice}
    ${questions && html`<${Table} questions=${questions} wrong=${cells.map((cell) => ({ ...cell, message: inWords(cell.message) }))} onPut=${put} />`}
    ${questions && result && html`<${Results} result=${result} />`}
  </section>`;
}

// Opens a window of its own. It is opened at once, because browsers block windows that come later than a click.
async function openPreview(plan) {
  const opened = window.open("", "_blank");
  if (!opened) throw new Error("The browser blocked the window of the preview; allow windows for this page and try again.");
  try {
    const { address } = await ask("/api/preview", toRequest(plan), { kind: "preview" });
    opened.location.replace(address);
  } catch (error) {
    opened.close();
    throw error;
  }
}

export function withQuestions(plan, questions) {
  if (!questions) return { ...plan, questions: undefined };
  const { options } = plan;
  return { ...plan, questions, options: options.question.startsWith("target_") ? { ...options, question: "total" } : options };
}

const goTo = (row, name) => document.querySelector(`[data-question="${row}"][data-field="${CSS.escape(name)}"]`)?.focus();

function addQuestion({ columns, rows }) {
  const names = new Set(rows.map((row) => row[columns.indexOf("name")]));
  let number = rows.length + 1;
  while (names.has(`question ${number}`)) number += 1;
  const fresh = { name: `question ${number}`, kind: "yes_no", importance: "1" };
  return { columns, rows: [...rows, columns.map((name) => fresh[name] ?? "")] };
}

function Table({ questions, wrong, onPut }) {
  const { columns, rows } = withUsualColumns(questions);
  const shown = shownColumns({ columns, rows });
  // Another kind has other answers: what it does not have would be refused, and is emptied.
  const kept = (cell, column, kind) => (suits(column, kind) && !column.startsWith("labels") ? cell : "");
  const set = (row, name, text, gesture) => {
    const changed = (cell, j) => (columns[j] === name ? text : name === "kind" ? kept(cell, columns[j], text) : cell);
    onPut({ columns, rows: rows.map((cells, i) => (i === row ? cells.map(changed) : cells)) }, gesture);
  };
  const remove = (row) => onPut(rows.length > 1 ? { columns, rows: rows.filter((_, i) => i !== row) } : undefined);
  const named = ({ row, column }) => `${rows[row]?.[columns.indexOf("name")] || `question ${row + 1}`}, ${titleOf(column).split(",")[0]}`;
  return html`${wrong.length > 0 && html`<${Problems} cells=${wrong} titleOf=${named} onJump=${goTo} />`}
  <div class="scroll" tabindex="0" role="region" aria-label="The questions"><table class="edit">
    <thead><tr>${shown.map((name) => html`<th scope="col">${titleOf(name)}</th>`)}<th scope="col"><span class="hidden">Remove</span></th></tr></thead>
    <tbody>${rows.map((cells, row) => {
      const of = (name) => cells[columns.indexOf(name)];
      return html`<tr key=${row}>${shown.map((name) => html`<${Cell} key=${name} row=${row} name=${name} text=${of(name)} kind=${of("kind")} error=${wrong.find((cell) => cell.row === row && cell.column === name)?.message}
        onText=${(text) => set(row, name, text, name in CHOICES ? null : `type-question-${row}-${name}`)} />`)}
        <td><button type="button" class="small quiet" aria-label=${`Remove question ${row + 1}`} onClick=${() => remove(row)}>×</button></td></tr>`;
    })}</tbody>
  </table></div>`;
}

// What does not go with the kind can only be emptied.
function Cell({ row, name, text, kind, error, onText }) {
  const described = error ? `question-${row}-${name}-error` : undefined;
  const shown = error && html`<p class="error-text" id=${described}>${error}</p>`;
  const shared = { "aria-invalid": error ? "true" : undefined, "aria-describedby": described, "data-question": row, "data-field": name, "aria-label": `${titleOf(name)}, question ${row + 1}`, disabled: !suits(name, kind) && text.trim() === "" };
  if (!(name in CHOICES))
    return html`<td><input type="text" class=${isWide(name) ? "wide" : ""} ...${shared} value=${text} autocomplete="off" spellcheck=${false} onInput=${(event) => onText(event.currentTarget.value)} />${shown}</td>`;
  const choices = shared.disabled ? { "": "" } : text in CHOICES[name] ? CHOICES[name] : { ...CHOICES[name], [text]: text };
  return html`<td><select ...${shared} onChange=${(event) => onText(event.currentTarget.value)}>
    ${Object.entries(choices).map(([value, title]) => html`<option value=${value} selected=${value === text}>${title}</option>`)}</select>${shown}</td>`;
}

function Results({ result }) {
  return html`<div class="results">
    ${result.forms.some((form) => form.rows) && html`<div><h3>Forms</h3><div class="scroll" tabindex="0" role="region" aria-label="Forms"><table>
      <thead><tr><th scope="col">Form</th><th scope="col">Questions</th><th scope="col" class="number">People</th><th scope="col" class="number">Rows replaced</th></tr></thead>
      <tbody>${result.forms.map((form, i) => html`<tr><th scope="row">${i + 1}</th><td>${form.questions.join(", ")}</td><td class="number">${count(form.total)}</td><td class="number">${percent(form.replaced)}</td></tr>`)}</tbody>
    </table></div></div>`}
    <div><h3>Precision of every question</h3><div class="scroll" tabindex="0" role="region" aria-label="Precision of every question"><table>
      <thead><tr><th scope="col">Question</th><th scope="col" class="number">Standard error</th><th scope="col" class="number">Margin</th><th scope="col" class="number">Without privacy</th></tr></thead>
      <tbody>${result.questions.map((each) => html`<tr><th scope="row">${each.question}</th><td class="number">${significant(each.standard_error, 3)}</td><td class="number">±${significant(each.margin, 3)}</td><td class="number">${significant(each.standard_error_without_privacy, 3)}</td></tr>`)}</tbody>
    </table></div></div>
  </div>`;
}
