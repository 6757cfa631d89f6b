// The respondent's page: who learns what, the questions, the row that will be sent, sending it.
//
// Answers are in the controls, in `given` and in `answers` until the row is sent or the page is left, and nowhere else. The row is
// drawn once, before it is shown, and kept in history.state, so that loading the page again shows the same one.
import { noiseRow, placesOf, readingOf } from "./dpstrata-respond.js";
import { button, filled, h } from "./dom.js";
import { formatted, offered, preferred } from "./languages.js";
import { complain, complaint, controls, labelOf, read, textOf } from "./questions.js";
import { ask, fetchKit } from "./server.js";

const TOKEN = /^[\w-]{22}$/;
const token = location.hash.slice(1);
const main = document.getElementById("main");
let kit = { languages: [{ name: "", tag: "" }], title: "", consent: {} };
let digest = "";
let languages = offered(kit);
let language = preferred(languages);
let form, odds; // positions in the kit
let given = []; // what was typed or chosen, question by question
let answers = []; // what it was read as
let place = 0; // the question that is shown
let together = false; // whether all are
let view = waiting;

// --- showing ---------------------------------------------------------------------------------

// Shows a view; its heading gets the focus, so that everyone is where the news is.
function show(next, { focus = true } = {}) {
  view = next;
  document.documentElement.lang = language.spoken;
  document.documentElement.dir = language.direction;
  document.title = kit.title || language.words.survey;
  document.getElementById("top").replaceChildren(...heading());
  main.replaceChildren(...view(language.words).filter(Boolean));
  if (focus) {
    scrollTo(0, 0);
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
}

const title = (text, kind) => h("h1", { tabindex: "-1", class: kind }, text);

function heading() {
  const options = languages.map((each, index) =>
    h("option", { value: index, selected: each === language, lang: each.tag || null }, each.name),
  );
  const choose = (event) => {
    language = languages[event.target.value];
    show(view, { focus: false });
    document.getElementById("language").focus();
  };
  return [
    h("p", { class: "survey", dir: "auto" }, kit.title || language.words.survey),
    languages.length > 1 &&
      h("p", {}, h("label", { for: "language" }, language.words.language), h("select", { id: "language", autocomplete: "off", onchange: choose }, options)),
  ].filter(Boolean);
}

// --- views -----------------------------------------------------------------------------------

function waiting(words) {
  return [h("p", { role: "status" }, words.loading)];
}

function offline(words) {
  return [title(words.offline), h("p", {}, words.offlineText), button(words.retry, start, "main")];
}

// A link that cannot be used, or not any more.
const ended = (state) => (words) => [
  title(words[state]),
  h("p", {}, words[`${state}Text`]),
  !history.state?.tried && h("p", {}, words.nothing),
];

function welcome(words) {
  const spoken = language.spoken.toLowerCase().split("-")[0];
  const told = spoken in kit.consent ? spoken : "en";
  const own = kit.forms[form].consent?.[told] ?? {}; // parts that are different on this form
  const [first, ...others] = kit.consent[told].split("\n\n").map((part, index) => own[index] ?? part);
  return [
    title(first),
    ...others.flatMap((part) => {
      const [heading, text] = part.split("\n");
      return [h("h2", {}, heading), h("p", {}, text)];
    }),
    h("p", {}, words.voluntary),
    button(words.start, () => show(asking), "main"),
    how(words),
    digest && h("details", {}, h("summary", {}, words.digest), h("p", {}, words.digestText), h("p", {}, h("code", { class: "digest", dir: "ltr" }, digest))),
  ];
}

// Whether this form is one question of which a number is sent, drawn at random.
const isNumber = () => Boolean(kit.forms[form].draws);
const how = (words) => h("details", {}, h("summary", {}, words.how), h("p", {}, isNumber() ? words.number : words.howText));

function asking(words) {
  const { questions } = kit.forms[form];
  const shown = together ? questions.map((_, index) => index) : [place];
  const next = (event) => {
    event.preventDefault();
    for (const index of shown) answers[index] = read(questions[index], given[index], language);
    const missing = shown.find((index) => answers[index] === null);
    if (missing !== undefined) complain(`q${missing}`, complaint(questions[missing], language));
    else if (together || place === questions.length - 1) show(checking);
    else {
      place += 1;
      show(asking);
    }
  };
  const back = () => {
    place -= 1;
    show(asking);
  };
  const turn = () => {
    together = !together;
    place = 0;
    show(asking);
  };
  return [
    title(together ? words.questions : filled(words.question, { n: place + 1, m: questions.length }), "step"),
    !together && h("progress", { max: questions.length, value: place + 1, "aria-hidden": "true" }),
    h(
      "form",
      { autocomplete: "off", novalidate: true, onsubmit: next },
      shown.map((index) =>
        controls(questions[index], `q${index}`, given[index], language, (value) => { given[index] = value; }),
      ),
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "submit", class: "main" }, words.next),
        !together && place > 0 && button(words.back, back),
        questions.length > 1 && button(together ? words.single : words.all, turn, "quiet"),
      ),
    ),
  ];
}

function checking(words) {
  const { questions } = kit.forms[form];
  return [
    title(words.check),
    rows(questions, (index) => [[words.yours, answered(index)]]),
    h("p", {}, words.checkText),
    h("div", { class: "buttons" }, button(words.draw, draw, "main"), button(words.change, () => show(asking))),
  ];
}

const answered = (index) => labelOf(kit.forms[form].questions[index], answers[index], language);

function rows(questions, parts) {
  const items = questions.map((question, index) =>
    h(
      "li",
      {},
      h("p", { lang: language.questions, dir: "auto" }, textOf(question, language)),
      h(
        "dl",
        { translate: "no" }, // services that translate pages would be told the answers
        parts(index).map(([name, value, note]) =>
          h("div", {}, h("dt", {}, name), h("dd", {}, h("bdi", { lang: language.questions }, value), note && h("span", { class: "note" }, note))),
        ),
      ),
    ),
  );
  return h("ul", { class: "rows" }, items);
}

function draw() {
  const named = kit.forms[form].questions.map(({ name }, index) => [name, answers[index]]);
  const cell = noiseRow(kit, form, odds, Object.fromEntries(named));
  history.replaceState({ cell, form, odds, digest }, "");
  show(reviewing);
}

function reviewing(words) {
  const drawn = kit.forms[form];
  const { cell } = history.state;
  const sent = isNumber() ? [] : placesOf(drawn, cell);
  const known = answers.length > 0; // unless the page was loaded again
  const parts = (index) => {
    const value = isNumber()
      ? formatted(readingOf(drawn, odds, cell).toPrecision(4), language)
      : labelOf(drawn.questions[index], drawn.questions[index].values[sent[index]], language);
    if (!known) return [[words.sent, value]];
    const own = answered(index);
    return [[words.yours, own], [words.sent, value, !isNumber() && own !== value && words.changed]];
  };
  const news = h("p", { class: "error", role: "alert" }, history.state.tried ? words.lost : "");
  const press = button(history.state.tried ? words.again : words.send, () => send(press), "main");
  return [
    title(words.review),
    h("p", {}, isNumber() ? words.number : changed(words)),
    !isNumber() && drawn.questions.some(({ kind }) => kind === "number") && h("p", {}, words.steps),
    rows(drawn.questions, parts),
    !known && h("p", {}, words.gone),
    news,
    h("div", { class: "buttons" }, press),
    how(words),
  ];
}

// How many of 100 rows of this form are changed; rounded down, so that nothing is overstated. The words for
// respondents say the same: a row that is replaced by itself is not changed.
function changed(words) {
  const cells = BigInt(kit.forms[form].cells);
  const one = BigInt(kit.denominator);
  const n = Number((100n * (cells - 1n) * one) / (cells * one + BigInt(kit.odds[odds])));
  return n ? filled(words.reviewText, { n }) : words.reviewFew;
}

function thanks(words) {
  return [title(words.thanks), h("p", {}, words.thanksText)];
}

// --- what happens ----------------------------------------------------------------------------

// Asks once more how it stands with the link, so that nothing leaves the device in vain.
async function send(press) {
  press.disabled = true;
  press.textContent = language.words.sending;
  try {
    const { state } = await ask("look", { token });
    if (state !== "open") return settle(state);
    history.replaceState({ ...history.state, tried: true }, "");
    settle((await ask("send", { token, cell: history.state.cell })).state);
  } catch {
    history.replaceState({ ...history.state, tried: true }, "");
    show(reviewing, { focus: false });
    main.querySelector("button.main").focus();
  }
}

// After the server has answered for good nothing is left of the answers and of the row.
function settle(state) {
  forget();
  history.replaceState({ done: state === "counted", tried: history.state.tried }, "");
  show(state === "counted" ? thanks : ended(["used", "closed"].includes(state) ? state : "unknown"));
}

function forget() {
  given = [];
  answers = [];
}

async function start() {
  show(waiting, { focus: false });
  try {
    [kit, digest] = await fetchKit();
    languages = offered(kit);
    language = preferred(languages);
    const found = TOKEN.test(token) ? await ask("look", { token }) : { state: "unknown" };
    if (found.state === "used" && history.state?.done) show(thanks);
    else if (found.state !== "open") show(ended(found.state));
    else {
      ({ form, odds } = found);
      show(isDrawn() ? reviewing : welcome);
    }
  } catch {
    show(offline);
  }
}

// Whether a row was drawn for this form of this kit before the page was loaded again.
function isDrawn() {
  const kept = history.state;
  return Number.isInteger(kept?.cell) && kept.form === form && kept.odds === odds && kept.digest === digest;
}

addEventListener("hashchange", () => location.reload());
addEventListener("pagehide", () => {
  forget();
  main.replaceChildren();
});
addEventListener("pageshow", (event) => event.persisted && location.reload());
start();
