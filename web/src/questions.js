// A table of questions: its columns as in a questionnaire file, and what they are called here.

import { send } from "./api.js";

export const KINDS = { yes_no: "yes or no", category: "category", scale: "scale", number: "number" };
const ALWAYS = {
  name: "Question",
  kind: "Kind",
  categories: "Categories, between |",
  lower: "Lowest",
  upper: "Highest",
  step: "Step",
  importance: "Importance",
  target_margin: "Margin to reach",
  blank: "May be left blank",
};
const SOMETIMES = {
  levels: "Levels (all: every point counted)",
  target_se: "Standard error to reach",
  together: "Kept together as",
  everyone: "On every form",
  no_first: "No before yes",
  text: "As respondents read it",
  labels: "Answers as they read them, between |",
};

// The questions of an XLSForm or of a table of questions, and what is said about them. Rows of a form that cannot be
// protected are left out only if that is wished.
export async function readQuestions(file) {
  const path = `/api/questions?name=${encodeURIComponent(file.name.toWellFormed())}`;
  const answer = await send(path, { bytes: file }).catch((error) => {
    const helps = error.parts?.some((part) => part.option === "leave_out");
    if (!helps || !confirm(`${error.message}\n\nOpen it without these rows?`)) throw error;
    return send(`${path}&leave_out=yes`, { bytes: file });
  });
  const { columns, questionnaire, warnings } = await answer.json();
  const rows = questionnaire.name.map((_, row) => columns.map((name) => questionnaire[name][row]));
  return { questions: { columns, rows }, said: warnings.join(" ") };
}

// A text may have a language: text::de
export function titleOf(column) {
  const [name, language] = column.split("::");
  const title = ALWAYS[name] ?? SOMETIMES[name] ?? name;
  return language === undefined ? title : `${title} (${language.trim()})`;
}

// A sentence of the server about a cell, with columns as they are called here; what is quoted stays.
export function inWords(message) {
  const called = (name) => `“${titleOf(name).split(",")[0]}”`;
  const named = (text) => text.replace(/\b(lower|upper|target_se|target_margin)\b(=?)/g, (_, name, is) => called(name) + (is && " "));
  const first = message.replace(/^\w+(?= must)/, (name) => (name in ALWAYS || name in SOMETIMES ? called(name) : name));
  return first.split(/('(?:[^'\\]|\\.)*')/).map((part, i) => (i % 2 ? part : named(part))).join("");
}

export const EMPTY = { columns: [...Object.keys(ALWAYS), "text"], rows: [] };

// Files leave out columns that are empty; the table shows those that matter to everyone, and all that hold something.
export function withUsualColumns({ columns, rows }) {
  const spoken = columns.some((name) => name.startsWith("text"));
  const missing = EMPTY.columns.filter((name) => !columns.includes(name) && !(spoken && name === "text"));
  return { columns: [...columns, ...missing], rows: rows.map((row) => [...row, ...missing.map(() => "")]) };
}

export function shownColumns({ columns, rows }) {
  const others = columns.filter((name, i) => !(name in ALWAYS) && (name.startsWith("text") || rows.some((row) => row[i].trim() !== "")));
  return [...Object.keys(ALWAYS), ...others];
}

// The questionnaire of a design document as such a table. There a question may be left blank only if it says so, here
// unless it says no.
export function fromQuestionnaire({ language = "", questions }) {
  const cells = questions.map(({ name, blank = false, text, labels, translations = [], ...fields }) => {
    const own = language ? `::${language}` : "";
    const must = !blank && ["yes_no", "category"].includes(fields.kind);
    const found = { name, ...fields, blank: must ? "no" : "", [`text${own}`]: text, [`labels${own}`]: labels };
    for (const each of translations) Object.assign(found, { [`text::${each.language}`]: each.text, [`labels::${each.language}`]: each.labels });
    return new Map(Object.entries(found).map(([column, value]) => [column, asCell(value)]));
  });
  const names = [...new Set(cells.flatMap((row) => [...row.keys()]))];
  const columns = names.filter((name) => cells.some((row) => row.get(name)));
  return withUsualColumns({ columns, rows: cells.map((row) => columns.map((name) => row.get(name) ?? "")) });
}

function asCell(value) {
  if (Array.isArray(value)) return value.join("|");
  if (typeof value === "boolean") return value ? "yes" : "";
  return value === null || value === undefined ? "" : String(value);
}
