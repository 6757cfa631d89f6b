// The planner: one plan, what follows from it, and where it is kept.

import { html } from "htm/preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask, send, wasGivenUp } from "./api.js";
import { Chart } from "./charts.js";
import { Compare } from "./compare.js";
import { Controls } from "./controls.js";
import { Downloads } from "./downloads.js";
import { toAddress } from "./address.js";
import { endGesture, pauseGesture, readAddress, startAddress, writeAddress } from "./history.js";
import { Headline, Ticker } from "./headline.js";
import { StrataTable } from "./table.js";
import { useFiles } from "./taking.js";
import * as plans from "./plan.js";

const LARGE = 2000;
const DAMAGED = {
  link: "This link is damaged or was cut off, so its plan cannot be opened. Another plan is shown instead.",
  held: "The held plan of this link is damaged and was left out.",
  several: plans.SEVERAL,
  large: "This address belongs to a plan that is too large for an address. Open its plan file.",
};

export function App() {
  const [plan, setPlan] = useState(null);
  const [held, setHeld] = useState(null);
  const [examples, setExamples] = useState([]);
  const [notice, setNotice] = useState(null);
  const [opened, setOpened] = useState(0);
  const now = useRef({ plan: null, held: null });
  now.current = { plan, held };

  const tell = ({ damaged }) => damaged && setNotice({ kind: "error", text: DAMAGED[damaged] });
  const show = useCallback((next, nextHeld) => (setPlan(next), setHeld(nextHeld ?? null)), []);
  // The next plan, or how it follows from the one that is there by then.
  const change = useCallback((following, gesture) => {
    const next = typeof following === "function" ? following(now.current.plan) : following;
    setPlan(next);
    setNotice(null);
    writeAddress(next, now.current.held, gesture);
  }, []);
  const hold = (next) => (setHeld(next), writeAddress(plan, next, null));
  const openExample = useCallback(async (name, first = false) => {
    if (name === "empty") return change(plans.emptyPlan(), null);
    try {
      const example = await (await send(`/api/examples/${encodeURIComponent(name)}`)).json();
      const next = plans.fromColumns(example.strata, example.options);
      if (first) startAddress(next, null), show(next, null);
      else change(next, null);
      if (!first) setNotice({ kind: "info", text: example.about });
    } catch (error) {
      setNotice({ kind: "error", text: error.message });
      if (first) show(plans.emptyPlan(), null);
    }
  }, []);

  useEffect(() => {
    const found = readAddress();
    if (found.plan) startAddress(found.plan, found.held), show(found.plan, found.held);
    else openExample("four-strata", true);
    tell(found);
    send("/api/examples").then((answer) => answer.json()).then((answer) => setExamples(answer.examples), () => {});
    const back = () => {
      endGesture();
      const past = readAddress();
      if (past.plan) setNotice(null), show(past.plan, past.held);
      tell(past);
    };
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);

  const problemText = (text) => setNotice({ kind: "error", text });
  const { take, reading, over } = useFiles((following) => (change(following, null), setOpened((count) => count + 1)), problemText);
  const found = useDesign(plan);
  if (!plan) return html`<${Frame}><main id="result" class="loading" tabindex="-1" aria-busy="true"><p>Opening the planner …</p>${notice && html`<p class="error-text">${notice.text}</p>`}</main><//>`;
  const { result, of, curves, error, problem, stale } = found;
  const failed = Boolean(error || problem);
  const population = result?.population ?? sum(plan);
  const range = answerRange(plan.options.answers);
  const ready = Boolean(result) && !stale && !failed;
  const refused = error && { field: plans.fieldOf(error, plan.options), message: error.message };
  const chart = (name, spec, note, height, isOld = false) =>
    html`<${Chart} key=${name} name=${name} spec=${spec} note=${note} height=${height} stale=${!ready || isOld} />`;
  const curve = (name, height) => chart(name, curves[name]?.chart, curves[name]?.problem, height, curves[name]?.of !== plan);
  return html`<${Frame}>
    <div class="layout">
      <aside aria-label="The goal">
        <${Controls} plan=${plan} population=${population} range=${range} problem=${problem ?? refused} onChange=${change} onRest=${endGesture} onPause=${pauseGesture} />
      </aside>
      <main id="result" tabindex="-1">
        ${notice && html`<p class="notice ${notice.kind}" role=${notice.kind === "error" ? "alert" : "status"}>${notice.text}
          <button type="button" class="small quiet" aria-label="Close this note" onClick=${() => setNotice(null)}>×</button></p>`}
        ${reading && html`<p class="notice" role="status">Reading ${reading} …</p>`}
        <${Headline} result=${result} error=${error} problem=${problem} stale=${stale} onRetry=${found.retry} />
        <div class="charts two">
          ${chart("allocation", result?.charts.allocation)}
          ${curve("precision")}
        </div>
        <${StrataTable} plan=${plan} result=${!failed && of && plans.sameStrata(of, plan) ? result : null} stale=${stale && !failed} opened=${opened}
          cells=${error?.cells ?? []} examples=${examples} over=${over}
          onChange=${change} onExample=${openExample} onFile=${take} onProblem=${problemText} />
        <div class="charts three">
          ${curve("epsilon", 250)}
          ${chart("parts", result?.charts.parts, undefined, 250)}
          ${result && !result.charts.budgets ? null : chart("budgets", result?.charts.budgets, undefined, 250)}
        </div>
        <${Compare} plan=${plan} held=${held} ready=${ready} failed=${failed} onHold=${() => hold(plan)}
          onSwap=${() => (show(held, plan), writeAddress(held, plan, null))} onLetGo=${() => hold(null)} />
        <${Downloads} plan=${plan} result=${failed ? null : result} ready=${ready} onFile=${take} onProblem=${problemText} />
        ${toAddress(plan, held) === null && html`<p class="soft">${plan.rows.length > plans.MOST_IN_ADDRESS ? `This plan has more than ${plans.MOST_IN_ADDRESS} strata, too many` : "This plan is too long"} for a link: share its plan file.</p>`}
      </main>
    </div>
    <${Ticker} result=${result} stale=${stale || Boolean(error) || Boolean(problem)} />
  <//>`;
}

function Frame({ children }) {
  return html`
    <div class="skip"><a href="#result" onClick=${jumpTo("result")}>Skip to the result</a><a href="#strata-heading" onClick=${jumpTo("strata-heading")}>Skip to the strata</a></div>
    <header class="top"><div class="brand"><img src="/static/icon.svg" alt="" width="28" height="28" /><h1>dpstrata planner</h1></div>
      <p class="soft">Exact sample sizes for a stratified survey whose answers are noised for privacy. Everything is computed on this machine.</p></header>
    ${children}`;
}

// A jump inside the page must not touch the address, which holds the plan.
const jumpTo = (id) => (event) => {
  event.preventDefault();
  const place = document.getElementById(id);
  place?.focus();
  place?.scrollIntoView();
};

// Everything that follows from a plan; answers to earlier plans never overwrite those to later ones.
function useDesign(plan) {
  const [state, setState] = useState({ result: null, of: null, curves: {}, error: null, problem: null, stale: false });
  const [again, setAgain] = useState(0);
  const newest = useRef(0);
  useLayoutEffect(() => { // not after the next paint: a slider should feel immediate
    if (!plan) return undefined;
    const turn = (newest.current += 1);
    const isNewest = () => turn === newest.current;
    let request;
    if (plans.isEmpty(plan)) {
      const problem = { empty: true, message: "Fill in the table below, paste it from a spreadsheet, or open a file or an example." };
      setState((old) => ({ ...old, problem, error: null, stale: true }));
      return undefined;
    }
    try {
      request = plans.toRequest(plan);
    } catch (problem) {
      setState((old) => ({ ...old, problem, error: null, stale: true }));
      return undefined;
    }
    setState((old) => ({ ...old, problem: null, stale: true }));
    if (plan.rows.length <= LARGE) {
      work(plan, request, isNewest, setState);
      return undefined;
    }
    const timer = setTimeout(() => work(plan, request, isNewest, setState), 150);
    return () => clearTimeout(timer);
  }, [plan, again]);
  return { ...state, retry: () => setAgain((count) => count + 1) };
}

async function work(plan, request, isNewest, setState) {
  const update = (more) => isNewest() && setState((old) => ({ ...old, ...more, curves: { ...old.curves, ...more.curves } }));
  let result;
  try {
    result = await ask("/api/design", request);
    performance.mark("designed");
    update({ result, of: plan, error: null, stale: false });
  } catch (error) {
    if (!wasGivenUp(error)) update({ error, stale: false });
    return;
  }
  later = later.then(() => sayMore(result, request, isNewest, update)).then(() => drawCurves(plan, request, isNewest, update));
}

// One thing at a time, so that designs never wait behind what nobody needs any more.
let later = Promise.resolve();

// The headline says what Neyman's allocation would need once that is known; without it, it is true as well.
async function sayMore(result, request, isNewest, update) {
  if (!isNewest()) return;
  const more = await ask("/api/headline", request).catch(() => ({}));
  update({ result: { ...result, ...more, told: true } });
}

async function drawCurves(plan, request, isNewest, update) {
  for (const name of ["precision", "epsilon"]) {
    if (!isNewest()) return;
    try {
      const { chart } = await ask(`/api/${name}`, request);
      update({ curves: { [name]: { of: plan, chart } } });
    } catch (error) {
      update({ curves: { [name]: { of: plan, problem: error.message } } });
    }
  }
}

function sum(plan) {
  const at = plan.columns.indexOf("size");
  return plan.rows.reduce((total, row) => total + (Number(row[at]) || 0), 0);
}

function answerRange(text) {
  const [low, high] = text === "binary" ? [0, 1] : text.split(":").map(Number);
  return high > low ? high - low : 1;
}
