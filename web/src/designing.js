// What follows from a plan: the design, its curves, what would do better. Answers to earlier plans never overwrite
// those to later ones.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask, wasGivenUp, whenBack } from "./api.js";
import * as plans from "./plan.js";

const LARGE = 2000; // strata; designs of more wait until a slider rests
const PAUSE = 700; // milliseconds without typing before a mistake is called one

export function useDesign(plan) {
  const [state, setState] = useState({ result: null, of: null, curves: {}, offers: null, error: null, problem: null, stale: false });
  const [again, setAgain] = useState(0);
  const newest = useRef(0);
  useLayoutEffect(() => { // not after the next paint: a slider should feel immediate
    if (!plan) return undefined;
    const turn = (newest.current += 1);
    const isNewest = () => turn === newest.current;
    let request;
    if (plans.isEmpty(plan)) {
      setState((old) => ({ ...old, problem: null, error: null, stale: true }));
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
  const retry = () => setAgain((count) => count + 1);
  useReconnection(state.error, retry);
  return { ...state, failure: useRested(state.problem ?? state.error, plan), retry };
}

async function work(plan, request, isNewest, setState) {
  const update = (more) => isNewest() && setState((old) => ({ ...old, ...more, curves: { ...old.curves, ...more.curves } }));
  try {
    const result = await ask("/api/design", request);
    performance.mark("designed");
    update({ result, of: plan, error: null, stale: false });
  } catch (error) {
    if (!wasGivenUp(error)) update({ error, stale: false });
    return;
  }
  later = later
    .then(() => drawCurves(plan, request, isNewest, update))
    .then(() => findOffers(plan, request, isNewest, update));
}

// One thing at a time, so that designs never wait behind what nobody needs any more.
let later = Promise.resolve();

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

async function findOffers(plan, request, isNewest, update) {
  if (!isNewest()) return;
  const { offers } = await ask("/api/offers", request).catch(() => ({ offers: [] }));
  update({ offers: { of: plan, list: offers } });
}

// A server that went away is asked for until it is back.
function useReconnection(error, retry) {
  const latest = useRef(retry);
  latest.current = retry;
  useEffect(() => {
    if (!error?.passes) return undefined;
    const control = new AbortController();
    whenBack(control.signal).then((back) => back && latest.current());
    return () => control.abort();
  }, [error]);
}

// A failure counts once typing has paused; one that is shown is replaced, or goes, at once.
function useRested(failure, plan) {
  const [shown, setShown] = useState(null);
  const waiting = failure && !shown;
  useEffect(() => {
    if (!waiting) {
      if (shown !== failure) setShown(failure);
      return undefined;
    }
    const timer = setTimeout(() => setShown(failure), PAUSE);
    return () => clearTimeout(timer);
  }, [failure, plan]);
  return failure && shown ? failure : null;
}

// Which mechanisms do not go with the other choices, each with its reason.
export function useMisfits(plan) {
  const [misfits, setMisfits] = useState({});
  const { questions, release, device_epsilon } = plan?.options ?? {};
  const asksMany = Boolean(plan?.questions); // rows of answers are randomised in one way alone
  useEffect(() => {
    if (asksMany) setMisfits({});
    if (!plan || asksMany) return undefined;
    const timer = setTimeout(async () => {
      try {
        const { options } = plans.toRequest({ ...plan, options: { ...plan.options, mechanism: plans.DEFAULTS.mechanism, question: "total", total: "1000" } });
        setMisfits((await ask("/api/misfits", { options })).misfits);
      } catch (error) {
        if (error.name !== "AbortError") setMisfits({});
      }
    }, 200);
    return () => clearTimeout(timer);
  }, [questions, release, device_epsilon, asksMany]);
  return misfits;
}
