// A plan as readable text for an address: total=200&epsilon=1&strata=stratum,size,sd;A,7000,0.283;...&end

import { checkPlan, DEFAULTS, MOST_IN_ADDRESS, NAMES, QUESTIONS } from "./plan.js";

const LONGEST = 30_000; // characters; mail and chat programs cut longer links
const END = "end"; // without it, a link that was cut inside its last cell would open as another plan
const ALWAYS = ["epsilon", "mechanism"]; // written even where they are the defaults
const KEPT = NAMES.filter((name) => name !== "question");

const plainly = (text) => encodeURIComponent(text.toWellFormed()).replaceAll("%20", "+").replaceAll("%3A", ":");
const backward = (text) => decodeURIComponent(text.replaceAll("+", "%20"));

// The text of a plan and, if there is one, of the plan that is held; null if that is too much for an address.
export function toAddress(plan, held = null) {
  if ([plan, held].some((each) => each && each.rows.length > MOST_IN_ADDRESS)) return null;
  const text = [...pairsOf(plan, ""), ...(held ? pairsOf(held, "held.") : []), END].join("&");
  return text.length > LONGEST ? null : text;
}

function pairsOf({ columns, rows, questions, options }, prefix) {
  const others = KEPT.filter((name) => !QUESTIONS.includes(name) && (ALWAYS.includes(name) || options[name] !== DEFAULTS[name]));
  const table = ({ columns, rows }) => [columns, ...rows].map((cells) => cells.map(plainly).join(",")).join(";");
  const asked = questions ? [`${prefix}questionnaire=${table(questions)}`] : [];
  return [...[options.question, ...others].map((name) => `${prefix}${name}=${plainly(options[name])}`), ...asked, `${prefix}strata=${table({ columns, rows })}`];
}

// What an address holds. A part that cannot be read is null, and `damaged` says which: "link" or "held".
export function fromAddress(text) {
  if (text === "") return { plan: null, held: null, damaged: null };
  const parts = { "": new Map(), "held.": new Map() };
  const words = text.split("&");
  let whole = words.pop() === END;
  for (const word of words) {
    const [, prefix, name, value] = word.match(/^(held\.)?(\w+)=(.*)$/s) ?? [];
    const part = parts[prefix ?? ""];
    whole &&= [...KEPT, "strata", "questionnaire"].includes(name) && !part.has(name);
    part.set(name, value);
  }
  const plan = whole ? planOf(parts[""]) : null;
  if (!plan) return { plan: null, held: null, damaged: "link" };
  const held = parts["held."].size ? planOf(parts["held."]) : null;
  return { plan, held, damaged: parts["held."].size && !held ? "held" : null };
}

function planOf(pairs) {
  try {
    const asked = QUESTIONS.filter((name) => pairs.has(name));
    if (asked.length !== 1) return null;
    const table = (text) => {
      const [columns, ...rows] = text.split(";").map((line) => line.split(",").map(backward));
      return { columns, rows };
    };
    const questions = pairs.has("questionnaire") ? table(pairs.get("questionnaire")) : undefined;
    const options = { question: asked[0] };
    for (const name of KEPT) if (pairs.has(name)) options[name] = backward(pairs.get(name));
    return checkPlan({ ...table(pairs.get("strata")), questions }, options);
  } catch {
    return null; // whatever is wrong with it, it is no plan
  }
}
