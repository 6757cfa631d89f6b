// One question: its controls, what is typed into them, and its answers in words.
import { filled, h } from "./dom.js";
import { formatted, typed } from "./languages.js";

const MOST_BUTTONS = 12; // more answers than these are a list to select from

export const textOf = (question, language) => question.text[language.place];

// Answers in the order in which they are offered: yes comes before no, which is the first level, unless the kit says
// otherwise.
const offered = ({ kind, values, points = values, noFirst }) => (kind === "yes_no" && !noFirst ? ["yes", "no", ...values.slice(2)] : points);

// What the answer of a level is called.
export function labelOf(question, value, language) {
  const labels = question.labels?.[language.place] ?? [];
  const place = question.values.indexOf(value);
  if (place >= 0 && labels[place]) return labels[place];
  if (value === "no answer" && question.kind !== "number") return language.words.blank;
  if (question.kind === "yes_no") return language.words[value];
  return question.kind === "category" ? value : formatted(value, language);
}

// The answer in what was typed or chosen, or null if there is none.
export function read(question, given, language) {
  if (question.kind !== "number") return given || null;
  const number = typed(given ?? "", language);
  const inside = number !== null && Number(number) >= Number(question.lower) && Number(number) <= Number(question.upper);
  return inside ? number : null;
}

export function complaint(question, { words, ...language }) {
  if (question.kind !== "number") return words.choose;
  return filled(words.write, ends(question, language));
}

const ends = (question, language) => ({
  a: formatted(question.lower, language),
  b: formatted(question.upper, language),
});

// The controls of a question; take(given) is told every change.
export function controls(question, id, given, language, take) {
  const text = { lang: language.questions, dir: "auto" };
  const error = h("p", { id: `${id}-error`, class: "error", role: "alert" });
  const told = (event) => {
    error.textContent = "";
    event.target.closest("[aria-invalid]")?.removeAttribute("aria-invalid");
    take(event.target.value);
  };
  if (question.kind !== "number" && offered(question).length <= MOST_BUTTONS) {
    const choices = offered(question).map((value) =>
      h(
        "label",
        { class: "choice" },
        h("input", {
          type: "radio", name: id, value, checked: value === given, autocomplete: "off", onchange: told,
        }),
        h("span", text, labelOf(question, value, language)),
      ),
    );
    const kind = question.kind === "scale" ? "choices scale" : "choices";
    return h(
      "fieldset",
      { id, class: "question", role: "radiogroup", "aria-labelledby": `${id}-text`, "aria-describedby": `${id}-error` },
      h("legend", { id: `${id}-text`, ...text }, textOf(question, language)),
      h("div", { class: kind }, choices),
      error,
    );
  }
  const label = h("label", { for: id, ...text }, textOf(question, language));
  if (question.kind !== "number") {
    const list = h(
      "select",
      { id, "aria-describedby": `${id}-error`, autocomplete: "off", onchange: told },
      h("option", { value: "" }, language.words.select),
      offered(question).map((value) => h("option", { value, selected: value === given }, labelOf(question, value, language))),
    );
    return h("div", { class: "question" }, label, list, error);
  }
  const hint = h("p", { id: `${id}-hint`, class: "hint" }, filled(language.words.range, ends(question, language)));
  const field = h("input", {
    id, type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", dir: "ltr", maxlength: 30,
    value: given ?? "", "aria-describedby": `${id}-hint ${id}-error`, oninput: told,
  });
  return h("div", { class: "question" }, label, hint, field, error);
}

// Shows what is missing at a question, and goes there.
export function complain(id, sentence) {
  const control = document.getElementById(id);
  control.setAttribute("aria-invalid", "true");
  document.getElementById(`${id}-error`).textContent = sentence;
  (control.querySelector("input") ?? control).focus();
}
