// A plan: the table of strata and the question, as typed. Everything else follows from it.

import { CHOICES } from "./choices.js";
import { domainsOf, domainsText, readDomains, sentDomains } from "./domains.js";
import { count, isAmbiguous, typed, ungrouped } from "./format.js";
import { fromQuestionnaire } from "./questions.js";
import { plainNumbers } from "./reading.js";
import { capital, labelOf } from "./wording.js";
import OPTIONS from "./options.json";

export const SPREADS = { __proto__: null, sd: "sd", variance: "variance", proportion: "proportion", sd_low: "sd low", sd_high: "sd high" };
export const OPTIONAL = {
  __proto__: null, // a column may be called "constructor"
  sd_source: "where the sd comes from",
  sd_epsilon: "ε spent on a private sd",
  cost: "cost of one invitation",
  min: "minimum to invite",
  max: "maximum to invite",
  response_rate: "share who would answer",
  coefficient: "coefficient (custom objective)",
};
export const NUMBERS = new Set(["size", ...Object.keys(SPREADS), ...Object.keys(OPTIONAL)]);
NUMBERS.delete("sd_source");
const OF_ONE_QUESTION = new Set([...Object.keys(SPREADS), "sd_source", "sd_epsilon", "coefficient"]);
export const MOST_IN_ADDRESS = 200;

const plain = (name) => String(OPTIONS[name].default);
export const DEFAULTS = {
  epsilon: "1",
  question: "total",
  total: "200",
  at_most: "1000",
  target_se: "0.02",
  target_margin: "0.05",
  budget: "5000",
  mechanism: plain("mechanism"),
  objective: plain("objective"),
  questions: "0:1",
  local_epsilon_cap: "",
  release: plain("release"),
  device_epsilon: "",
  confidence: plain("confidence"),
  delta: "1e-6",
  min_per_stratum: "",
  domains: "",
};
export const QUESTIONS = ["total", "at_most", "target_se", "target_margin", "budget"];
export const NAMES = Object.keys(DEFAULTS);
// Whether devices may have a budget of their own: where every noised answer is published, it follows from the plan.
export const hasDevices = ({ release }) => release !== "microdata";
export const isWhole = (name) => OPTIONS[name].type === "integer";

export function emptyPlan() {
  return { columns: ["stratum", "size", "sd"], rows: [["", "", ""]], options: { ...DEFAULTS } };
}

export function isEmpty(plan) {
  return plan.rows.every((row) => row.every((cell) => cell.trim() === ""));
}

// Whether row by row two plans are about the same strata.
export function sameStrata(one, other) {
  const names = ({ columns, rows }) => rows.map((row) => row[columns.indexOf("stratum")]);
  if (one === other) return true;
  if (one.rows.length !== other.rows.length) return false;
  const known = names(one);
  return names(other).every((name, i) => name === known[i]);
}

// Whether a plan may follow from another by editing: tables of other surveys have no stratum in common.
export function sharesStrata(one, other) {
  const names = ({ columns, rows }) => rows.map((row) => row[columns.indexOf("stratum")]);
  const known = new Set(names(one));
  return names(other).some((name) => known.has(name));
}

// Columns as pairs of a name and its cells: an object would put "2024" first.
export function fromColumns(pairs, options = {}) {
  const length = Math.max(0, ...pairs.map(([, cells]) => cells.length));
  const rows = Array.from({ length }, (_, row) => pairs.map(([, cells]) => asText(cells[row])));
  return { columns: pairs.map(([name]) => name), rows, options: fromOptions(options) };
}

// --- a goal that fits the strata --------------------------------------------------------------

const FEW = 5; // people a stratum; with fewer, a total that nobody chose says little
const SHARE = 0.05; // of the population, as a first suggestion

// The plan of a table that was opened: what was wished stays where it can be, and what was changed is said.
export function withTable(plan, table, { title = null, answers = null } = {}) {
  const said = [];
  const next = { ...plan, ...table, from: title === null ? null : { title, options: plan.options } };
  const domains = domainsText(domainsOf(plan.options.domains).filter(({ name }) => table.columns.includes(name)));
  const options = { ...plan.options, domains };
  const people = populationOf(next);
  const chosen = plan.from?.options ? plan.from.options.total !== options.total : !plan.from?.example;
  const total = Number(ungrouped(options.total));
  const fits = total >= table.rows.length * (chosen ? 1 : FEW) && total <= people;
  if (options.question === "total" && people >= 2 * table.rows.length && !fits) {
    options.total = String(suggestedTotal(people, table.rows.length));
    said.push(`the goal is now ${Number(options.total).toLocaleString("en")} people`);
  }
  if (options.question === "budget" && !table.columns.includes("cost")) options.question = "total";
  const wanted = answers ?? answersFor(table, options.questions);
  if (wanted !== options.questions) {
    options.questions = wanted;
    said.push(`answers are now ${wanted === "yes_no" ? "yes or no" : `from ${wanted.replace(":", " to ")}`}`);
  }
  next.options = options;
  if (next.from) next.from = { ...next.from, options };
  return { plan: next, said };
}

function suggestedTotal(people, strata) {
  const least = 2 * FEW * strata;
  const rough = Math.min(Math.max(SHARE * people, least, 100), people / 2);
  return Math.max(Math.floor(Number(rough.toPrecision(2))), strata);
}

const BETWEEN = "|"; // names of categories
const isCategories = (answers) => answers.includes(BETWEEN);

// A share of yes is about yes or no, and a spread needs a range that can have it.
function answersFor({ columns, rows }, now) {
  if (isCategories(now)) return now;
  if (columns.includes("proportion")) return now === "0:1" ? "yes_no" : now;
  const at = columns.indexOf("sd");
  const most = at < 0 ? 0 : Math.max(0, ...plainNumbers(rows.map((row) => row[at]), "sd").map(Number).filter(Number.isFinite));
  const [low, high] = now === "yes_no" ? [0, 1] : now.split(":").map(Number);
  return most <= 0.5001 * (high - low) ? now : guessRange(most);
}

export function guessRange(spread) {
  return `0:${[1, 5, 10, 100, 1000].find((end) => spread <= end / 2) ?? 10 ** Math.ceil(Math.log10(2 * spread))}`;
}

export function populationOf({ columns, rows }) {
  const at = columns.indexOf("size");
  return at < 0 ? 0 : plainNumbers(rows.map((row) => row[at]), "size").reduce((total, cell) => total + (Number(cell) || 0), 0);
}

// --- requests ---------------------------------------------------------------------------------

// The options of the API, as the page's own.
export function fromOptions(options) {
  const found = { ...DEFAULTS };
  for (const name of NAMES) if (name !== "domains" && (options[name] ?? null) !== null) found[name] = asText(options[name]);
  const asked = QUESTIONS.filter((name) => options[name] !== undefined && options[name] !== null);
  if (asked.length) found.question = asked[asked.length - 1];
  if (Array.isArray(options.questions)) found.questions = options.questions.join(":");
  if (options.domains) found.domains = readDomains(options.domains);
  return found;
}

function asText(value) {
  return value === null || value === undefined ? "" : String(value);
}

// What the API is asked. Throws { field, message } for a control that holds nothing of use.
export function toRequest(plan) {
  const strata = new Map(); // an object would lose "__proto__", and put "2024" first
  plan.columns.forEach((name, i) => {
    const cells = plan.rows.map((row) => row[i]);
    if (plan.questions && OF_ONE_QUESTION.has(name)) return; // its spread may not fit the answers of the questions
    if (name in OPTIONAL && cells.every((cell) => cell.trim() === "")) return; // ticked, but nothing is in it yet
    strata.set(name, NUMBERS.has(name) ? plainNumbers(cells, name) : cells);
  });
  for (const [name, value, column, what] of plan.questions ? NEEDS.filter(([name]) => name === "question") : NEEDS)
    if (plan.options[name] === value && !strata.has(column))
      throw { field: value === "budget" ? value : name, message: `${what} the column ${column}: ${plan.columns.includes(column) ? "fill it in" : "add it under “Columns” at the strata"}.` };
  if (!plan.questions) return { strata, options: toOptions(plan.options) };
  return { strata, options: toOptions(plan.options, plan.questions), questionnaire: columnsOf(plan.questions) };
}

const columnsOf = ({ columns, rows }) => Object.fromEntries(columns.map((name, i) => [name, rows.map((row) => row[i])]));
// Whether questions have a precision to reach, which then decides how many people are invited.
export const hasTargets = ({ columns, rows }) => columns.some((name, i) => name.startsWith("target") && rows.some((row) => row[i].trim() !== ""));

const NEEDS = [
  ["question", "budget", "cost", "A budget needs"],
  ["objective", "custom", "coefficient", "Custom coefficients need"],
];

// A questionnaire says itself what can be answered, and its targets how many people are needed.
function toOptions(given, questions = null) {
  const options = {};
  const number = (name) => {
    options[name] = readNumber(name, given[name]);
  };
  number("epsilon");
  if (!questions || !hasTargets(questions)) number(given.question);
  if (questions) return { ...options, ...sharedOptions(given, number, options) };
  if (given.mechanism !== DEFAULTS.mechanism) options.mechanism = given.mechanism;
  if (given.mechanism === "gaussian") number("delta");
  if (given.objective !== DEFAULTS.objective) options.objective = given.objective;
  options.questions = isCategories(given.questions) ? given.questions.trim() : given.questions.replaceAll(" ", "");
  if (options.questions === "") throw { field: "questions", message: "The answers must have a lower and an upper end, such as 0:1." };
  if (given.local_epsilon_cap.trim() !== "") number("local_epsilon_cap");
  return sharedOptions(given, number, options);
}

function sharedOptions(given, number, options) {
  if (given.release !== DEFAULTS.release) options.release = given.release;
  if (hasDevices(given) && given.device_epsilon.trim() !== "") number("device_epsilon");
  if (given.confidence !== DEFAULTS.confidence) number("confidence");
  if (given.min_per_stratum.trim() !== "") number("min_per_stratum");
  const domains = sentDomains(given);
  if (domains.size) options.domains = domains;
  return options;
}

function readNumber(name, given) {
  const text = isWhole(name) ? ungrouped(given) : given;
  const value = typed(text);
  const refuse = (what) => {
    throw { field: name, message: `${capital(labelOf(name))} must be ${what}, got ${JSON.stringify(given)}.` };
  };
  if (isAmbiguous(text) || (isWhole(name) && /\d[.,\s]/.test(text.trim())))
    refuse(isWhole(name) ? "a whole number, such as 1500 or 1,500" : "a number with a decimal point and without thousands separators");
  if (Number.isNaN(value)) refuse("a number");
  if (isWhole(name) && !Number.isInteger(value)) refuse("a whole number");
  if (isWhole(name) && value > Number.MAX_SAFE_INTEGER) refuse(`at most ${count(Number.MAX_SAFE_INTEGER)}`);
  return value;
}

// The control that a refusal of the server is about, if it is on the page now.
export function fieldOf({ argument }, options) {
  if (!NAMES.includes(argument)) return null;
  return QUESTIONS.includes(argument) && argument !== options.question ? null : argument;
}

// --- the table --------------------------------------------------------------------------------

export function setCell(plan, row, column, text) {
  const rows = plan.rows.slice();
  rows[row] = rows[row].slice();
  rows[row][column] = text;
  return { ...plan, rows };
}

export function setQuestion(plan, row, column, text) {
  return { ...plan, questions: setCell(plan.questions, row, plan.questions.columns.indexOf(column), text) };
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
  const domains = domainsText(domainsOf(plan.options.domains).filter((each) => each.name !== name));
  return { ...plan, columns: without(plan.columns), rows: plan.rows.map(without), options: { ...plan.options, domains } };
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

// The name of a column as the library knows it; other columns keep theirs.
export function columnName(name) {
  const plain = name.trim().toLowerCase();
  return plain === "stratum" || plain === "sd_source" || NUMBERS.has(plain) ? plain : name.trim();
}

// --- files ------------------------------------------------------------------------------------

const FORMAT = "dpstrata.plan";
const PLAN_VERSION = 2;

export function toFile(plan) {
  return `${JSON.stringify({ format: FORMAT, version: PLAN_VERSION, columns: plan.columns, rows: plan.rows, questions: plan.questions, options: plan.options }, null, 1)}\n`;
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
  if (data?.format !== FORMAT) throw new Error("This is neither a plan file nor a design document.");
  if (data.version !== PLAN_VERSION) throw new Error(`This plan file is of version ${data.version}; the page opens version ${PLAN_VERSION}.`);
  return checkPlan(data, data.options);
}

// Options of the library that the page does not show, with the only value it can stand for.
const WITHOUT_CONTROL = Object.fromEntries(
  Object.entries(OPTIONS).filter(([name]) => !NAMES.includes(name)).map(([name, option]) => [name, option.default]),
);

const VERSION = 5; // of design documents

function fromDocument(data) {
  if (data.version !== VERSION) throw new Error(`This design document is of version ${data.version}; the page opens version ${VERSION}. Make the design again.`);
  try {
    return readDocument(data);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Error("This design document is damaged.");
  }
}

class Refusal extends Error {}

function refuseUncontrolled(data) {
  const other = Object.entries(WITHOUT_CONTROL).find(([name, plain]) => (data.inputs[name] ?? plain) !== plain);
  const asked = QUESTIONS.filter((name) => (data.inputs[name] ?? null) !== null);
  const grouped = Object.values(data.inputs.domains ?? {}).some((target) => target !== null && typeof target === "object");
  const alone = asked.length === 0 && Object.values(data.inputs.domains ?? {}).some((target) => target !== null);
  const what = alone ? "targets for groups alone" : grouped ? "targets for single groups" : other ? other[0] : data.inputs.spreads ? "known spreads of the answers to its questions" : isNamed(data.inputs) ? "one question with words of its own" : isOnForm(data.inputs) ? "one question on a form of its own" : data.waves ? "two waves" : asked.length > 1 ? `${asked.join(" and ")} together` : null;
  if (what) throw new Refusal(`This design uses ${what}, for which the page has no control; use the command line.`);
}

// Whether the only question says more than its field here can hold.
function isNamed({ forms, questions: { questions } }) {
  const [{ name, text, blank }] = questions;
  return forms === "auto" && (name !== "answer" || text !== "" || blank);
}

// Whether the only question is on a form although nothing about it requires one.
function isOnForm({ forms, questions: { questions }, release }) {
  const [{ kind, blank, levels }, ...others] = questions;
  const counted = levels !== null || (release !== "microdata" && (kind === "category" || blank));
  return forms !== "auto" && others.length === 0 && !counted;
}

function readDocument(data) {
  refuseUncontrolled(data);
  const { questions, ...inputs } = data.inputs;
  const many = inputs.forms !== "auto";
  const made = new Set(["sample_size", "relaxed_size", "local_epsilon", "noise_sd", "capped", "central_epsilon", "extra", ...(many ? ["sd", "sd_source"] : [])]); // of all questions on average
  const names = Object.keys(data.strata[0]).filter((name) => !made.has(name));
  const extra = Object.keys(data.strata[0].extra ?? {});
  const strata = [
    ...names.map((name) => [name, data.strata.map((row) => row[name])]),
    ...extra.map((name) => [name, data.strata.map((row) => row.extra[name])]),
  ];
  const options = Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== null));
  if (options.mechanism !== "gaussian") delete options.delta; // 0, which Gaussian noise could not start from
  if (!many) {
    options.questions = shorthand(questions.questions[0]);
    const plan = fromColumns(strata, options);
    return checkPlan(plan, plan.options);
  }
  delete options.mechanism; // filled in, and of no use to a single question
  const plan = { ...fromColumns(strata, options), questions: fromQuestionnaire(questions) };
  return checkPlan(plan, plan.options);
}

// How the only question of a design is written in one field.
function shorthand({ kind, lower, upper, step, categories }) {
  if (kind === "yes_no") return kind;
  return kind === "category" ? categories.join(BETWEEN) : [lower, upper, ...(kind === "scale" ? [step] : [])].join(":");
}

// The table and options of a file or an address, if they are whole.
export function checkPlan({ columns, rows, questions }, options) {
  checkTable({ columns, rows });
  if (questions) checkTable(questions);
  const found = { ...DEFAULTS };
  for (const name of NAMES) if (typeof options?.[name] === "string") found[name] = options[name];
  for (const [name, known] of [["question", QUESTIONS], ...Object.entries(CHOICES).map(([name, pairs]) => [name, pairs.map(([key]) => key)])])
    if (!known.includes(found[name])) throw new Error(`The ${name} of this plan is damaged.`);
  domainsOf(found.domains); // throws where it cannot be read
  return questions ? { columns, rows, questions: { columns: questions.columns, rows: questions.rows }, options: found } : { columns, rows, options: found };
}

function checkTable({ columns, rows }) {
  const texts = (cells) => Array.isArray(cells) && cells.every((cell) => typeof cell === "string");
  if (!texts(columns) || !columns.length || columns.includes("") || new Set(columns).size < columns.length)
    throw new Error("The table of this plan is damaged.");
  if (!Array.isArray(rows) || !rows.length || !rows.every((row) => texts(row) && row.length === columns.length))
    throw new Error("The table of this plan is damaged.");
}
