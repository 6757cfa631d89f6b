// What the columns of someone else's table may be: a guess, which the page shows and asks to confirm.

import { columnName, guessRange } from "./plan.js";
import { looksNumeric, plainNumbers } from "./reading.js";

export const PEOPLE_ARE_ROWS = "rows";
export const NONE = "";
export const TOGETHER = "together";

// Spreadsheets are read in the languages of their owners; what no hint knows is asked about all the same.
const HINTS = {
  stratum: /^(strat|regi|area|área|distri|county|state|provin|depart|dipart|unit|group|segment|name|label|site|branch|team|school|schicht|grup|abteilung|kreis|bezirk|land|estrato|concelho|comune|zona|sede|escola|scuola|école)/i,
  size: /size|popula|poblaci|people|pessoas|person|employ|staff|head ?count|member|student|pupil|alun|alumn|élève|household|resident|inhabitant|count|number|número|n\.º|nombre|numero|anzahl|antal|mitarbeit|beschäftigte|einwohner|bevölkerung|effectif|efetivo|habitant|empleado|trabalhador|trabajador|dipendent|salari|^n$/i,
  response_rate: /respon[sd]|return rate|rücklauf|antwort|réponse|respuesta|resposta|rispost/i,
  cost: /cost|cust|price|fee|kosten|preis|prix|preci|preço|prezzo|coût/i,
  sd: /\bsd\b|\bdp\b|std|standard|deviation|spread|streuung|écart|desv|scarto|padrão/i,
  variance: /^var|varian/i,
  proportion: /share|propor|percent|porcent|prevalen|prévalence|prävalenz|fraction|anteil|quote|%|pct/i,
};
export const SPREAD_KINDS = { proportion: "the share of yes, from 0 to 1", percent: "the share of yes, in percent", sd: "a standard deviation", variance: "a variance" };
// Numbers about one person, who is a row of the table.
const OF_ONE_PERSON = /\b(age|aged|id|birth|born|salary|wage|income|phone|zip|postcode)\b|^(personnel|employee|payroll|staff)[ _-]?(id|no|nr|num)|^(alter|edad|idade|età|âge|wiek|leeftijd|geburt|jahrgang|gehalt|lohn|plz|personalnummer)/i;
// Everyone has an address of their own, so a column of addresses lists people.
const ADDRESS = /^[^@\s]+@[^@\s]+\.[^@\s]+$/;
const ERROR_VALUE = /^#[\p{L}/]+0?[!?]$|^#N\/A$|^#NV$|^Err:\d{3}$/iu;
const NOTE = /^(source|quelle|fuente|fonte|źródło|bron|note|nota|anmerkung|hinweis|remarque|stand|as of|\*|\(|http|©)|^.{60}/i;
const SUMS = /^(grand )?(total|sum|all|overall|gesamt|summe|insgesamt|ensemble|suma|soma)/i;

// Whether a table says itself what its columns are.
export const isKnown = (columns) => {
  const names = columns.map(columnName);
  return names.includes("stratum") && names.includes("size");
};

// Whether the first line names columns: it has no number, and numbers stand below it.
export function hasHeader([first, ...others]) {
  if (first.length < 2 || !others.length || first.some((cell) => looksNumeric(cell)) || first.filter((cell) => cell !== "").length < 2) return false;
  return first.some((_, i) => others.some((line) => looksNumeric(line[i] ?? "")));
}

// The lines from the header on: titles above it fill one cell, or less than half as many as the fullest line.
export function withoutTitles(lines) {
  const filled = lines.map((line) => line.filter((cell) => cell !== "").length);
  const most = Math.max(...filled);
  const inTitles = most > 1 ? Math.max(1, Math.floor((most - 1) / 2)) : 0;
  const below = lines.slice(Math.max(0, filled.findIndex((number) => number > inTitles)));
  return isKnown(below[0]) || hasHeader(below) ? below : lines;
}

// Columns without a name get one; what is blank is left out.
export function tidied(columns, rows) {
  const used = columns.map((name, i) => name !== "" || rows.some((row) => (row[i] ?? "") !== ""));
  const keep = (cells) => columns.flatMap((_, i) => (used[i] ? [cells[i] ?? ""] : []));
  const names = keep(columns).map((name, i) => name.trim() || `column ${i + 1}`);
  return { columns: names, rows: rows.map(keep).filter((row) => row.some((cell) => cell.trim() !== "")) };
}

// Whether what stands for a header is a row of data: it has numbers wherever numbers stand below it. One column alone may be called 2024.
export function looksLikeData({ columns, rows }) {
  const numeric = columns.map((_, i) => rows.some((row) => looksNumeric(row[i])) && rows.every((row) => row[i].trim() === "" || looksNumeric(row[i])));
  return numeric.includes(true) && columns.every((name, i) => !numeric[i] || looksNumeric(name));
}

// The same table with its header as the first row, and numbered columns; a name that was made up is a blank cell.
export function headless({ columns, rows, ...table }) {
  const names = columns.map((_, i) => `column ${i + 1}`);
  return { ...table, columns: names, rows: [columns.map((name, i) => (name === names[i] ? "" : name)), ...rows] };
}

// What the columns are, and how many rows at the end are no strata: totals, and notes below them.
export function guess({ columns, rows }) {
  const notes = countNotes(rows);
  const above = rows.slice(0, rows.length - notes);
  const strata = above.slice(0, -1);
  const roles = strata.length > 1 ? guessRoles(columns, strata) : null;
  if (roles && lastIsTotal(above, roles)) return { ...roles, leftOut: notes + 1 };
  const sure = notes > 0 && rows.slice(-notes).every((row) => NOTE.test(textOf(row)));
  return { ...guessRoles(columns, sure ? above : rows), leftOut: sure ? notes : 0 };
}

const textOf = (row) => (row.find((cell) => cell.trim() !== "") ?? "").trim();

// Rows at the end in which a single cell holds text.
function countNotes(rows) {
  const isNote = (row) => row.length > 1 && row.filter((cell) => cell.trim() !== "").length === 1 && !looksNumeric(textOf(row));
  const last = rows.findLastIndex((row) => !isNote(row));
  return last < 1 ? 0 : rows.length - 1 - last;
}

function guessRoles(columns, rows) {
  const cellsOf = columns.map((_, i) => rows.map((row) => row[i].trim()));
  const filledOf = cellsOf.map((cells) => cells.filter((cell) => cell !== "" && !ERROR_VALUE.test(cell)));
  const numeric = filledOf.map((cells) => cells.length > 0 && cells.every(looksNumeric));
  const taken = new Set();
  const find = (fits) => {
    const at = columns.findIndex((name, i) => !taken.has(i) && fits(name, i));
    if (at >= 0) taken.add(at);
    return at < 0 ? NONE : String(at);
  };
  const hinted = (key) => (name) => HINTS[key].test(name);
  const stratum = guessStratum(columns, cellsOf, numeric, find);
  const number = (key) => find((name, i) => numeric[i] && hinted(key)(name));
  const [rate, cost] = [number("response_rate"), number("cost")];
  const counts = (name, i) => numeric[i] && countsPeople(name, filledOf[i]);
  const hintedSize = find((name, i) => counts(name, i) && hinted("size")(name));
  const listed = filledOf.some((cells) => 2 * cells.filter((cell) => ADDRESS.test(cell)).length > cells.length);
  const ofPeople = listed || (hintedSize === NONE && describesPeople(columns, filledOf, numeric));
  const group = ofPeople ? groupOfPeople(columns, cellsOf, numeric) : NONE;
  if (listed && group === NONE) return { stratum: NONE, size: NONE, spread: NONE, kind: "proportion", cost: NONE, response_rate: NONE, answers: "yes_no" };
  const repeated = stratum !== TOGETHER && stratum !== NONE && !isUnique(cellsOf[stratum]);
  const isList = repeated || group !== NONE;
  const size = isList ? PEOPLE_ARE_ROWS : hintedSize || find(counts);
  const shares = () => find((_, i) => numeric[i] && filledOf[i].every((cell) => cell.endsWith("%")));
  const [hint, spread] = ["proportion", "sd", "variance"].map((key) => [key, number(key)]).find(([, at]) => at) ?? ["proportion", shares()];
  const kind = hint === "proportion" && spread !== NONE && plainNumbers(cellsOf[spread], "proportion").some((cell) => Number(cell) > 1) ? "percent" : hint;
  const answers = guessAnswers(kind, spread === NONE ? [] : plainNumbers(cellsOf[spread], kind));
  return { stratum: group === NONE ? stratum : group, size, spread, kind, cost, response_rate: rate, answers };
}

const isUnique = (cells) => cells.every((cell) => cell !== "") && new Set(cells).size === cells.length;

function guessStratum(columns, cellsOf, numeric, find) {
  const named = (name) => HINTS.stratum.test(name);
  const texts = columns.map((_, i) => i).filter((i) => !numeric[i]);
  const alone = find((name, i) => !numeric[i] && named(name) && isUnique(cellsOf[i])) || find((_, i) => !numeric[i] && isUnique(cellsOf[i]));
  if (alone) return alone;
  if (texts.length > 1 && isUnique(cellsOf[0].map((_, row) => texts.map((i) => cellsOf[i][row]).join("\n")))) return TOGETHER;
  return find((name, i) => !numeric[i] && named(name)) || find((_, i) => !numeric[i]) || find(named);
}

// Whether a column may say how many people there are: whole numbers that neither number the rows nor describe a person.
function countsPeople(name, filled) {
  const numbers = plainNumbers(filled, "size");
  const first = numbers.length > 9 ? Number(numbers[0]) : 1; // few sizes may follow each other by chance
  const isNumbering = numbers.length > 2 && numbers.every((cell, i) => Number(cell) === first + i);
  return !isNumbering && !OF_ONE_PERSON.test(name) && numbers.every((cell) => /^\d+$/.test(cell)) && numbers.some((cell) => Number(cell) > 1);
}

// Whether the numbers of a table are those of one person alone.
function describesPeople(columns, filledOf, numeric) {
  const numbers = columns.map((_, i) => i).filter((i) => numeric[i]);
  return numbers.some((i) => OF_ONE_PERSON.test(columns[i])) && !numbers.some((i) => countsPeople(columns[i], filledOf[i]));
}

// In a list of people, each with a name or number of their own, the column that groups them: a text which repeats.
function groupOfPeople(columns, cellsOf, numeric) {
  const repeats = (i) => !numeric[i] && new Set(cellsOf[i]).size <= cellsOf[i].length / 2;
  const groups = columns.map((_, i) => i).filter(repeats);
  const best = groups.find((i) => HINTS.stratum.test(columns[i])) ?? groups[0];
  return best === undefined ? NONE : String(best);
}

// The narrowest usual range in which answers can differ so much.
export function guessAnswers(kind, cells) {
  if (kind === "proportion" || kind === "percent") return "yes_no";
  const most = Math.max(0, ...cells.map(Number).filter(Number.isFinite));
  const spread = kind === "variance" ? Math.sqrt(most) : most;
  return guessRange(spread);
}

// Its people are those of all rows above, and something else says so in whatever language: its name, gaps, or that they are many.
function lastIsTotal(rows, { stratum, size }) {
  if (size === NONE || size === PEOPLE_ARE_ROWS) return false;
  const others = rows.slice(0, -1);
  const named = rows.at(-1).some((cell) => SUMS.test(cell.trim()));
  const gaps = rows.at(-1).some((cell, i) => cell.trim() === "" && others.every((row) => row[i].trim() !== ""));
  const numbers = plainNumbers(rows.map((row) => row[size]), "size").map(Number);
  const adds = numbers.slice(0, -1).reduce((sum, each) => sum + each, 0) === numbers.at(-1);
  return adds ? named || gaps || others.length > 3 : named && stratum === NONE;
}

// The table as the planner knows it; columns that nothing was said about keep their names.
export function mapped({ columns, rows }, said) {
  const used = rows.slice(0, rows.length - said.leftOut);
  const texts = columns.map((_, i) => i).filter((i) => !used.every((row) => row[i].trim() === "" || looksNumeric(row[i])));
  const nameOf = (row, number) =>
    said.stratum === TOGETHER ? texts.map((i) => row[i].trim()).join(", ") : said.stratum === NONE ? `stratum ${number + 1}` : row[said.stratum].trim();
  if (said.size === PEOPLE_ARE_ROWS) return counted(used.map(nameOf));
  const inPercent = said.kind === "percent";
  const roles = [["size", said.size], [inPercent ? "proportion" : said.kind, said.spread], ["cost", said.cost], ["response_rate", said.response_rate]].filter(([, at]) => at !== NONE);
  const chosen = new Set([said.stratum, ...roles.map(([, at]) => at)]);
  const others = columns.map((_, i) => i).filter((i) => !chosen.has(String(i)));
  const names = ["stratum", ...roles.map(([name]) => name)];
  const free = (name) => (columnName(name) === name && !names.includes(name) && !isRole(name) ? name : `${name} (not used)`);
  return {
    columns: [...names, ...others.map((i) => free(columns[i]))],
    rows: used.map((row, number) => [nameOf(row, number), ...roles.map(([name, at]) => (inPercent && name === "proportion" ? hundredth(row[at]) : row[at])), ...others.map((i) => row[i])]),
  };
}

// A share that was written without its percent sign.
const hundredth = (cell) => (looksNumeric(cell) && !cell.includes("%") ? `${cell.trim()}%` : cell);

const ROLES = new Set(["stratum", "size", "sd", "variance", "proportion", "sd_low", "sd_high", "sd_source", "sd_epsilon", "cost", "min", "max", "response_rate", "coefficient"]);
const isRole = (name) => ROLES.has(columnName(name));

// People by stratum, where every row is one of them.
function counted(names) {
  const counts = new Map();
  for (const name of names) if (name !== "") counts.set(name, (counts.get(name) ?? 0) + 1);
  return { columns: ["stratum", "size"], rows: [...counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, count]) => [name, String(count)]) };
}
