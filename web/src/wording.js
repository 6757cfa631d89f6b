// Options as the page calls them, in sentences of its own and of the server.

import { CHOICES } from "./choices.js";

const LABELS = {
  epsilon: "epsilon",
  delta: "delta",
  total: "the number of people",
  at_most: "the maximum number of people",
  target_se: "the standard error",
  target_margin: "the margin of error",
  budget: "the budget",
  mechanism: "the mechanism",
  objective: "the objective",
  questions: "the answers",
  local_epsilon_cap: "the local epsilon cap",
  release: "the release",
  device_epsilon: "the budget of respondents' devices",
  confidence: "the confidence",
  min_per_stratum: "the minimum per stratum",
  domains: "the groups to report",
};

export function labelOf(name) {
  return LABELS[name] ?? name.replaceAll("_", " ");
}

export function capital(text) {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

// A sentence of the server: text, and the options that it mentions with the value that is meant, if any.
export function worded(parts) {
  const named = new Set();
  return parts.reduce((text, part) => {
    if (typeof part === "string") return text + part;
    const words = mentioned(part, named.has(part.option));
    named.add(part.option);
    return text + (text === "" || text.endsWith(". ") ? capital(words) : words);
  }, "");
}

function mentioned({ option, value }, again) {
  if (value === null) return labelOf(option);
  if (option === "leave_out") return "these rows left out";
  if (option === "questions" && /^'?yes_no'?$/.test(value)) return "yes-or-no answers (yes_no)";
  const shown = valueOf(option, value);
  if (again) return shown;
  return option in CHOICES ? `${labelOf(option)} ${shown}` : `${labelOf(option)} (${shown})`;
}

// The value comes as Python writes it: 'laplace', True, (0, 100, 1), 1,500.
function valueOf(option, value) {
  const inside = /^['"([]/.test(value) ? value.slice(1, -1) : value;
  const choice = CHOICES[option]?.find(([key]) => key === inside);
  if (choice) return `“${choice[1]}”`;
  if (/^[([]/.test(value)) return inside.replaceAll(", ", ":");
  return { True: "on", False: "off", None: "none" }[value] ?? inside;
}
