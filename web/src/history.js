// The address holds the plan. A gesture (a slide, typing in one field) is one step back.

import { fromAddress, toAddress } from "./address.js";

const PAUSE = 1000; // milliseconds; a slide by keyboard goes on until it rests so long
const kept = new Map();
let gesture = null;
let number = 0;
let rest;
const steps = { place: 0, last: 0 }; // where in this page's own history we are, and how far it goes

// What the address, or this page's own memory of a plan too large for one, holds.
export function readAddress() {
  const remembered = kept.get(history.state?.key);
  if (remembered) return remembered;
  const text = location.hash.slice(1);
  if (text === "large") return { plan: null, held: null, damaged: "large" };
  const found = fromAddress(text);
  return found.plan ? { ...found, plan: { ...found.plan, from: history.state?.from ?? null } } : found;
}

export function writeAddress(plan, held, step) {
  const text = toAddress(plan, held) ?? "large";
  const same = step !== null && step === gesture;
  clearTimeout(rest);
  gesture = step;
  if (!same && `#${text}` === location.hash && text !== "large") return;
  if (!same) steps.last = steps.place += 1;
  history[same ? "replaceState" : "pushState"](remember(plan, held), "", `#${text}`);
}

export function startAddress(plan, held) {
  steps.last = steps.place = history.state?.place ?? 0;
  history.replaceState(remember(plan, held), "", `#${toAddress(plan, held) ?? "large"}`);
}

// We came to another place: one of ours, or an address that someone typed.
export function arrive() {
  endGesture();
  if (typeof history.state?.place === "number") steps.place = history.state.place;
  else {
    steps.last = steps.place += 1;
    history.replaceState({ place: steps.place }, "");
  }
}

export const canUndo = () => steps.place > 0;
export const canRedo = () => steps.place < steps.last;
export const undo = () => canUndo() && history.back();
export const redo = () => canRedo() && history.forward();

function remember(plan, held) {
  const key = `${performance.timeOrigin}-${(number += 1)}`;
  kept.set(key, { plan, held, damaged: null });
  if (kept.size > 100) kept.delete(kept.keys().next().value);
  return { key, place: steps.place, from: plan.from ?? null };
}

export function endGesture() {
  clearTimeout(rest);
  gesture = null;
}

export function pauseGesture() {
  clearTimeout(rest);
  rest = setTimeout(endGesture, PAUSE);
}
