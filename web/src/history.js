// The address holds the plan. A gesture (a slide, typing in one field) is one step back.

import { fromAddress, toAddress } from "./address.js";

const PAUSE = 1000; // milliseconds; a slide by keyboard goes on until it rests so long
const kept = new Map();
let gesture = null;
let number = 0;
let rest;

// What the address, or this page's own memory of a plan too large for one, holds.
export function readAddress() {
  const remembered = kept.get(history.state?.key);
  if (remembered) return remembered;
  const text = location.hash.slice(1);
  return text === "large" ? { plan: null, held: null, damaged: "large" } : fromAddress(text);
}

export function writeAddress(plan, held, step) {
  const text = toAddress(plan, held) ?? "large";
  const same = step !== null && step === gesture;
  clearTimeout(rest);
  gesture = step;
  if (!same && `#${text}` === location.hash && text !== "large") return;
  history[same ? "replaceState" : "pushState"](remember(plan, held), "", `#${text}`);
}

export function startAddress(plan, held) {
  history.replaceState(remember(plan, held), "", `#${toAddress(plan, held) ?? "large"}`);
}

function remember(plan, held) {
  const key = `${performance.timeOrigin}-${(number += 1)}`;
  kept.set(key, { plan, held, damaged: null });
  if (kept.size > 100) kept.delete(kept.keys().next().value);
  return { key };
}

export function endGesture() {
  clearTimeout(rest);
  gesture = null;
}

export function pauseGesture() {
  clearTimeout(rest);
  rest = setTimeout(endGesture, PAUSE);
}
