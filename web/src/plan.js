// A plan: the table of strata and the question, as typed. Everything else follows from it.

import { typed } from "./format.js";

export const SPREADS = { sd: "sd", variance: "variance", proportion: "proportion", sd_low: "sd low", sd_high: "sd high" };
export const OPTIONAL = {
  sd_source: "where the sd comes from",
  cost: "cost of one invitation",
  min: "fewest to invite",
  max: "most to invite",
  response_rate: "share who would answer",
  coefficient: "coefficient (custom objective)",
};
export const NUMBERS = new Set(["size", "sd_epsilon", ...Object.keys(SPREADS), ...Object.keys(OPTIONAL)]);
NUMBERS.delete("sd_source");
export const MOST_IN_ADDRESS = 200;

export const DEFAULTS = {
  epsilon: "1",
  question: "total",
  total: "200",
  at_most: "1000",
  target_se: "0.02",
  target_margin: "0.05",
  budget: "5000",
  mechanism: "laplace",
  objective: "mean",
  answers: "0:1",
  local_epsilon_cap: "",
  trust: "local",
  questions: "1",
  confidence: "0.95",
  delta: "1e-6",
  min_per_stratum: "1",
};
const QUESTIONS = ["total", "at_most", "target_se", "target_margin", "budget"];
const NAMES = Object.keys(DEFAULTS);

export function emptyPlan() {
  return { columns: ["stratum", "size", "sd"], rows: [["", "", ""]], options: { ...DEFAULTS } };
}

export function isEmpty(plan) {
  return plan.rows.every((row) => row.every((cell) => cell.trim() === ""));
}

export function fromColumns(strata, options = {}) {
  const columns = Object.keys(strata);
  const length = Math.max(0, ...columns.map((name) => strata[name].length));
  const rows = Array.from({ length }, (_, row) => columns.map((name) => asText(strata[name][row])));
  return { columns, rows, options: fromOptions(options) };
}

// The options of the API, as the page's own.
export function fromOptions(options) {
  const found = { ...DEFAULTS };
  for (const name of NAMES) if (options[name] !== undefined && options[name] !== null) found[name] = asText(options[name]);
  const asked = QUESTIONS.filter((name) => options[name] !== undefined && options[name] !== null);
  if (asked.length) found.question = asked[asked.length - 1];
  if (Array.isArray(options.answers)) found.answers = options.answers.join(":");
  return found;
}

function asText(value) {
  return value === null || value === undefined ? "" : String(value);
}

// What the API is asked. Throws { field, message } for a control that holds no number.
export function toRequest(plan) {
  const strata = {};
  plan.columns.forEach((name, i) => (strata[name] = plan.rows.map((row) => row[i])));
  return { strata, options: toOptions(plan.options) };
}

function toOptions(given) {
  const options = {};
  const number = (name, label) => {
    const value = typed(given[name]);
    if (Number.isNaN(value)) throw { field: name, message: `${label} must be a number, got ${JSON.stringify(given[name])}.` };
    options[name] = value;
  };
  number("epsilon", "Epsilon");
  number(given.question, QUESTION_LABELS[given.question]);
  if (["total", "at_most"].includes(given.question) && !Number.isSafeInteger(options[given.question]))
    throw { field: given.question, message: `${QUESTION_LABELS[given.question]} must be a whole number.` };
  if (given.mechanism !== DEFAULTS.mechanism) options.mechanism = given.mechanism;
  if (given.mechanism === "gaussian") number("delta", "Delta");
  if (given.objective !== DEFAULTS.objective) options.objective = given.objective;
  options.answers = given.answers.trim().replaceAll(" ", "");
  if (given.local_epsilon_cap.trim() !== "") number("local_epsilon_cap", "The cap");
  if (given.trust !== DEFAULTS.trust) options.trust = given.trust;
  for (const [name, label] of [["questions", "Questions"], ["confidence", "The confidence"], ["min_per_stratum", "The fewest"]]) {
    if (given[name] !== DEFAULTS[name]) number(name, label);
  }
  for (const name of ["questions", "min_per_stratum"])
    if (options[name] !== undefined && !Number.isSafeInteger(options[name]))
      throw { field: name, message: "This must be a whole number." };
  return options;
}

export const QUESTION_LABELS = {
  total: "The number of interviews",
  at_most: "The largest number of interviews",
  target_se: "The standard error",
  target_margin: "The margin of error",
  budget: "The budget",
};

// --- the table --------------------------------------------------------------------------------

export function setCell(plan, row, column, text) {
  const rows = plan.rows.slice();
  rows[row] = rows[row].slice();
  rows[row][column] = text;
  return { ...plan, rows };
}

export function addRow(plan) {
  const fresh = plan.columns.map((name) => (name === "stratum" ? freeName(plan) : ""));
  return { ...plan, rows: [...plan.rows, fresh] };
}

function freeName(plan) {
  const taken = new Set(plan.rows.map((row) => row[plan.columns.indexOf("stratum")]));
  let number = plan.rows.length + 1;
  while (taken.has(`stratum ${number}`)) number += 1;
  return `stratum ${number}`;
}

export function removeRow(plan, row) {
  return { ...plan, rows: plan.rows.filter((_, i) => i !== row) };
}

export function addColumn(plan, name) {
  if (plan.columns.includes(name)) return plan;
  return { ...plan, columns: [...plan.columns, name], rows: plan.rows.map((row) => [...row, ""]) };
}

export function removeColumn(plan, name) {
  const at = plan.columns.indexOf(name);
  if (at < 0) return plan;
  const without = (cells) => cells.filter((_, i) => i !== at);
  return { ...plan, columns: without(plan.columns), rows: plan.rows.map(without) };
}

// Say the spread by other columns: those of the same place are renamed, their cells stay.
export function setSpread(plan, names) {
  const old = plan.columns.filter((name) => name in SPREADS);
  let next = plan;
  names.forEach((name, i) => {
    if (old[i] !== undefined && old[i] !== name)
      next = { ...next, columns: next.columns.map((each) => (each === old[i] ? name : each)) };
    else if (old[i] === undefined) next = addColumn(next, name);
  });
  for (const name of old.slice(names.length)) next = removeColumn(next, name);
  return next;
}

// A block from a spreadsheet: cells below and to the right of where it is pasted, or a whole table if it has a header.
export function pasteBlock(plan, row, column, text) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n").map((line) => line.split("\t"));
  const header = lines[0].map((cell) => cell.trim());
  const known = header.map((cell) => cell.toLowerCase());
  if (known.includes("stratum") && known.includes("size") && new Set(known).size === known.length && !known.includes("")) {
    const columns = header.map((cell, i) => (NUMBERS.has(known[i]) || known[i] === "stratum" ? known[i] : cell));
    return { ...plan, columns, rows: lines.slice(1).map((line) => columns.map((_, i) => line[i] ?? "")) };
  }
  const rows = plan.rows.map((cells) => cells);
  lines.forEach((line, i) => {
    const at = row + i;
    const cells = rows[at] ? rows[at].slice() : plan.columns.map(() => "");
    line.forEach((cell, j) => {
      if (column + j < plan.columns.length) cells[column + j] = cell.trim();
    });
    rows[at] = cells;
  });
  return { ...plan, rows };
}

// --- files and addresses ----------------------------------------------------------------------

const FORMAT = "dpstrata.plan";

export function toFile(plan) {
  return `${JSON.stringify({ format: FORMAT, version: 1, columns: plan.columns, rows: plan.rows, options: plan.options }, null, 1)}\n`;
}

// A plan file, or a design document, whose question is taken up again.
export function fromFile(text) {
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error("This is not a JSON file.");
  }
  if (data?.format === "dpstrata.design" && Array.isArray(data.strata)) return fromDocument(data);
  if (data?.format !== FORMAT || data.version !== 1) throw new Error("This is neither a plan file nor a design document.");
  return checked(data, data.options);
}

// Options of the library that the page does not show, with the only value it can stand for.
const WITHOUT_CONTROL = {
  zcdp: null, gdp: null, domains: null, target_cv: null, min_fraction: 0, max_fraction: 1, finite_population: true,
};

function fromDocument(data) {
  const { answers, ...inputs } = data.inputs;
  const other = Object.entries(WITHOUT_CONTROL).find(([name, plain]) => (inputs[name] ?? plain) !== plain);
  if (other) throw new Error(`This design uses ${other[0]}, for which the page has no control; use the command line.`);
  const made = new Set(["sample_size", "relaxed_size", "local_epsilon", "noise_sd", "answer_epsilon", "capped", "central_epsilon", "extra"]);
  const names = Object.keys(data.strata[0] ?? {}).filter((name) => !made.has(name));
  const strata = Object.fromEntries(names.map((name) => [name, data.strata.map((row) => row[name])]));
  for (const name of Object.keys(data.strata[0]?.extra ?? {})) strata[name] = data.strata.map((row) => row.extra[name]);
  const options = Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== null));
  options.answers = [answers.lower, answers.upper, ...(answers.step === null ? [] : [answers.step])];
  return fromColumns(strata, options);
}

function checked(plan, options) {
  const { columns, rows } = plan;
  const texts = (cells) => Array.isArray(cells) && cells.every((cell) => typeof cell === "string");
  if (!texts(columns) || !columns.length || columns.includes("") || !rows?.length || !Array.isArray(rows) || !rows.every((row) => texts(row) && row.length === columns.length))
    throw new Error("The table of this plan is damaged.");
  const found = { ...DEFAULTS };
  for (const name of NAMES) if (typeof options?.[name] === "string") found[name] = options[name];
  if (!QUESTIONS.includes(found.question)) found.question = DEFAULTS.question;
  return { columns, rows, options: found };
}

const plainly = (text) => encodeURIComponent(text).replaceAll("%20", "+").replaceAll("%3A", ":");
const backward = (text) => decodeURIComponent(text.replaceAll("+", "%20"));

// A plan as readable text for an address: epsilon=1&total=200&strata=stratum,size,sd;A,7000,0.283;...
export function toAddress(plan, prefix = "") {
  if (plan.rows.length > MOST_IN_ADDRESS) return null;
  const { options } = plan;
  const pairs = [[options.question, options[options.question]]];
  for (const name of NAMES)
    if (!QUESTIONS.includes(name) && name !== "question" && (name === "epsilon" || options[name] !== DEFAULTS[name]))
      pairs.push([name, options[name]]);
  const table = [plan.columns, ...plan.rows].map((cells) => cells.map(plainly).join(",")).join(";");
  return [...pairs.map(([name, value]) => `${prefix}${name}=${plainly(value)}`), `${prefix}strata=${table}`].join("&");
}

// The plan of an address, or null where it holds none that can be read.
export function fromAddress(text, prefix = "") {
  try {
    const pairs = new Map(text.split("&").map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
    if (!pairs.has(`${prefix}strata`)) return null;
    const [columns, ...rows] = pairs.get(`${prefix}strata`).split(";").map((line) => line.split(",").map(backward));
    const options = { ...DEFAULTS };
    for (const name of NAMES) if (pairs.has(prefix + name)) options[name] = backward(pairs.get(prefix + name));
    options.question = QUESTIONS.find((name) => pairs.has(prefix + name)) ?? DEFAULTS.question;
    return checked({ columns, rows }, options);
  } catch {
    return null;
  }
}
