// The planner: one plan, what follows from it, and where it is kept.

import { html } from "htm/preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { toAddress } from "./address.js";
import { send, SILENT, whenBack } from "./api.js";
import { Asking } from "./asking.js";
import { Chart } from "./charts.js";
import { Compare } from "./compare.js";
import { Controls } from "./controls.js";
import { useDesign, useMisfits } from "./designing.js";
import { Downloads } from "./downloads.js";
import { First, usePastedTables } from "./first.js";
import { count } from "./format.js";
import { Groups } from "./groups.js";
import { arrive, endGesture, pauseGesture, readAddress, startAddress, writeAddress } from "./history.js";
import { Headline, Ticker } from "./headline.js";
import { AT_TOP, Notice } from "./notice.js";
import { Keeping } from "./keeping.js";
import { pasteWhole } from "./paste.js";
import { Questionnaire, withQuestions } from "./questionnaire.js";
import { StrataTable } from "./table.js";
import { useFiles } from "./taking.js";
import * as plans from "./plan.js";

const DAMAGED = {
  link: "This link is damaged or was cut off, so its plan cannot be opened. Another plan is shown instead.",
  held: "The held plan of this link is damaged and was left out.",
  large: "This address belongs to a plan that is too large for an address. Open its plan file.",
};
const NAME = "dpstrata planner";

export function App() {
  const [plan, setPlan] = useState(null);
  const [held, setHeld] = useState(null);
  const [examples, setExamples] = useState([]);
  const [notice, setNotice] = useState(null);
  const [opened, setOpened] = useState(0);
  const [arrived, setArrived] = useState(0); // at the result, once it is there
  const [sought, setSought] = useState(null); // a cell to go to
  const [asked, setAsked] = useState(null); // a table whose columns must be asked about
  const now = useRef({ plan: null, held: null });
  now.current = { plan, held };

  const problemText = (text, place = AT_TOP) => setNotice({ kind: "error", text, place });
  const problemAt = (place) => (text) => problemText(text, place);
  const noticeAt = (place) => html`<${Notice} notice=${notice} place=${place} onClose=${() => setNotice(null)} />`;
  const tell = ({ damaged }) => damaged && problemText(DAMAGED[damaged]);
  const show = useCallback((next, nextHeld) => (setPlan(next), setHeld(nextHeld ?? null)), []);
  // The next plan, or how it follows from the one that is there by then.
  const change = useCallback((following, gesture) => {
    const next = marked(now.current.plan, typeof following === "function" ? following(now.current.plan) : following);
    setPlan(next);
    setNotice(null);
    writeAddress(next, now.current.held, gesture);
  }, []);
  const hold = (next) => (setHeld(next), writeAddress(plan, next, null));
  const openExample = useCallback(async (name, first = false) => {
    setAsked(null);
    if (name === "empty") return change(plans.emptyPlan(), null);
    try {
      const example = await (await send(`/api/examples/${encodeURIComponent(name)}`)).json();
      const made = plans.fromColumns(Object.entries(example.strata), example.options);
      const next = { ...made, from: { title: example.title, example: true, options: made.options } };
      if (first) startAddress(next, null), show(next, null);
      else change(next, null);
      if (!first) setNotice({ kind: "info", text: example.about, place: "strata" });
    } catch (error) {
      problemText(error.message);
      if (first) show(plans.emptyPlan(), null);
    }
  }, []);
  const useTable = (table, about) => {
    const { plan: next, said } = plans.withTable(now.current.plan, table, about);
    change(next, null);
    if (asked) setAsked(null), setArrived((number) => number + 1);
    setOpened((number) => number + 1);
    if (said.length) setNotice({ kind: "info", text: `${about.title ?? "The table"} has ${count(next.rows.length)} ${next.rows.length === 1 ? "stratum" : "strata"} and ${count(plans.populationOf(next))} people, so ${said.join(", and ")}.` });
  };
  const useQuestions = (questions, name, said) => {
    const place = plans.isEmpty(now.current.plan) ? AT_TOP : "questionnaire";
    change((current) => withQuestions(current, questions), null);
    setNotice({ kind: "info", text: `${name} is an XLSForm: its questions are in the questionnaire, and the strata stay. ${said}`, place });
  };
  const takeFound = ({ plan: next, known, table, questions, said, name }) => {
    if (questions) useQuestions(questions, name, said);
    else if (next) change(next, null), setAsked(null), setOpened((number) => number + 1);
    else if (known) useTable(known, { title: name });
    else setAsked(table), setNotice(null);
  };
  const pasted = (paste, place = AT_TOP) => {
    try {
      const { plan: next, known, table } = paste(now.current.plan);
      if (table) setAsked(table), setNotice(null);
      else if (known) useTable(known, {});
      else change(next, null);
    } catch (error) {
      problemText(error.message, place);
    }
  };

  useEffect(() => arrived && jumpTo("result")(), [arrived]);
  useEffect(() => {
    const found = readAddress();
    if (found.plan) startAddress(found.plan, found.held), show(found.plan, found.held);
    else openExample("four-strata", true);
    tell(found);
    send("/api/examples").then((answer) => answer.json()).then((answer) => setExamples(answer.examples), () => {});
    const back = () => {
      arrive();
      const past = readAddress();
      setAsked(null);
      if (past.plan) setNotice(null), show(past.plan, past.held);
      tell(past);
    };
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);

  useEffect(() => { // what was asked for is not repeated by itself, so its note says that it can be
    if (notice?.text !== SILENT) return undefined;
    const control = new AbortController();
    whenBack(control.signal).then((back) => back && setNotice({ ...notice, kind: "info", text: "The server answers again. Please repeat what you did last." }));
    return () => control.abort();
  }, [notice]);

  const { take, reading, over } = useFiles(takeFound, problemText);
  const pasteText = (text) => pasted(() => pasteWhole(text));
  usePastedTables(pasteText);
  const found = useDesign(plan);
  const misfits = useMisfits(plan);
  useTitle(plan, found);
  if (!plan) return html`<${Frame}><main id="result" class="loading" tabindex="-1" aria-busy="true"><p>Opening the planner …</p>${notice && html`<p class="error-text">${notice.text}</p>`}</main><//>`;
  const { of, curves, failure, stale } = found;
  const result = failure && of && !plans.sharesStrata(of, plan) ? null : found.result; // that of another table says nothing here
  const failed = Boolean(found.error || found.problem);
  const empty = plans.isEmpty(plan);
  const drawn = !empty && Boolean(result || !failure);
  const population = plans.populationOf(plan);
  const ready = Boolean(result) && !stale && !failed;
  const refused = failure && { field: failure.field ?? (failure.cells?.length ? null : plans.fieldOf(failure, plan.options)), message: failure.message, nearest: failure.nearest };
  const wrongIn = (table) => failure?.cells?.filter((cell) => cell.table === table) ?? [];
  const choose = (options) => change({ ...plan, options: { ...plan.options, ...options } }, null);
  const chart = (name, spec, note, height, isOld = false) =>
    html`<${Chart} key=${name} name=${name} spec=${spec} note=${note} height=${height} stale=${!ready || isOld} />`;
  const curve = (name, height) => chart(name, curves[name]?.chart, curves[name]?.problem, height, curves[name]?.of !== plan);
  const linked = toAddress(plan, held) !== null;
  return html`<${Frame} tools=${html`<${Keeping} linked=${linked} />`}>
    <div class="layout">
      ${asked
        ? html`<${Asking} key=${asked} table=${asked} onUse=${(table, answers) => useTable(table, { title: asked.name === "the pasted table" ? null : asked.name, answers })} onCancel=${() => setAsked(null)} />`
        : html`<${First} from=${plan.from} empty=${empty} onFile=${take} onText=${pasteText} onEmpty=${() => openExample("empty")} />`}
      <aside aria-label="The goal">
        <${Controls} plan=${plan} population=${population} range=${answerRange(plan.options.questions)} problem=${refused} misfits=${misfits} lost=${Boolean(found.error?.passes)}
          onChange=${change} onRest=${endGesture} onPause=${pauseGesture} />
      </aside>
      <main id="result" tabindex="-1">
        ${noticeAt(AT_TOP)}
        ${reading && html`<p class="notice" role="status">Reading ${reading} …</p>`}
        ${!empty && html`<${Headline} result=${result} failure=${failure} stale=${stale} offers=${found.offers?.of === plan ? found.offers.list : []} question=${plan.options.question} unfit=${plan.options.mechanism in misfits}
          onRetry=${found.retry} onChoose=${choose} onCell=${({ row, column }, text) => change((current) => plans.setQuestion(current, row, column, text), null)} onSeek=${(cell) => setSought({ ...cell })} />`}
        ${drawn && html`<div class="charts two">
          ${chart("allocation", result?.charts.allocation)}
          ${curve("precision")}
        </div>`}
        <${StrataTable} plan=${plan} result=${!empty && of && plans.sameStrata(of, plan) ? result : null} stale=${stale || failed} opened=${opened}
          cells=${wrongIn("strata")} sought=${sought?.table === "strata" ? sought : null} examples=${examples} over=${over}
          onChange=${change} notice=${noticeAt("strata")} onExample=${openExample} onFile=${take} onPaste=${(paste) => pasted(paste, "strata")} />
        ${!empty && result?.domains.length > 0 && html`<${Groups} domains=${result.domains} stale=${stale || failed} />`}
        ${!empty && html`<${Questionnaire} plan=${plan} result=${ready ? result : null} cells=${wrongIn("questionnaire")} sought=${sought?.table === "questionnaire" ? sought : null} onChange=${change} notice=${noticeAt("questionnaire")} onSaid=${(text) => setNotice(text ? { kind: "info", text, place: "questionnaire" } : null)} onProblem=${problemAt("questionnaire")} />`}
        ${drawn && html`<div class="charts three">
          ${curve("epsilon", 250)}
          ${chart("parts", result?.charts.parts, undefined, 250)}
          ${result && !result.charts.budgets ? null : chart("budgets", result?.charts.budgets, undefined, 250)}
        </div>`}
        ${!empty && html`<${Compare} plan=${plan} held=${held} ready=${ready} failed=${failed} onHold=${() => hold(plan)}
          onSwap=${() => (show(held, plan), writeAddress(held, plan, null))} onLetGo=${() => hold(null)} />`}
        <${Downloads} plan=${plan} result=${failed || empty ? null : result} ready=${ready} notice=${noticeAt("downloads")} onFile=${take} onProblem=${problemAt("downloads")} />
        ${!linked && html`<p class="soft">${plan.rows.length > plans.MOST_IN_ADDRESS ? `This plan has more than ${plans.MOST_IN_ADDRESS} strata, too many` : "This plan is too long"} for a link: share its plan file.</p>`}
      </main>
    </div>
    <${Ticker} result=${empty ? null : result} stale=${stale || failed} />
  <//>`;
}

// An example whose table was changed is no longer one, but what was left is still its own.
function marked(old, next) {
  const changed = old && (next.rows !== old.rows || next.columns !== old.columns);
  return changed && next.from?.example && next.from === old.from ? { ...next, from: { ...next.from, edited: true } } : next;
}

// The title names the plan, so that windows, bookmarks and the history can be told apart.
function useTitle(plan, { result, stale, error, problem }) {
  const named = plan?.from?.title ? `${plan.from.title}: ` : "";
  const settled = plan && result && !stale && !error && !problem;
  const figures = settled ? `${count(result.total)} people in ${result.strata_count === 1 ? "1 stratum" : `${count(result.strata_count)} strata`}, ε ${plan.options.epsilon.trim()}` : null;
  useEffect(() => {
    if (figures) document.title = `${named}${figures} – ${NAME}`;
    else if (plan && (plans.isEmpty(plan) || error || problem)) document.title = `${named}${plans.isEmpty(plan) ? "empty plan" : "no design"} – ${NAME}`;
  }, [named, figures, plan, error, problem]);
}

function Frame({ tools, children }) {
  return html`
    <div class="skip"><a href="#result" onClick=${jumpTo("result")}>Skip to the result</a><a href="#strata-heading" onClick=${jumpTo("strata-heading")}>Skip to the strata</a></div>
    <header class="top"><div class="brand"><img src="/static/icon.svg" alt="" width="28" height="28" /><h1>dpstrata planner</h1></div>
      <p class="soft">Exact sample sizes for a stratified survey whose answers are noised for privacy. Everything is computed on this machine.</p>${tools}</header>
    ${children}`;
}

// A jump inside the page must not touch the address, which holds the plan.
const jumpTo = (id) => (event) => {
  event?.preventDefault();
  const place = document.getElementById(id);
  place?.focus();
  place?.scrollIntoView();
};

function answerRange(text) {
  const [low, high] = text === "yes_no" ? [0, 1] : text.split(":").map(Number);
  return high > low ? high - low : 1;
}
