// The address holds the plan. A gesture (a slide, typing in one field) is one step back.

import { fromAddress, toAddress } from "./plan.js";

const kept = new Map();
let gesture = null;
let number = 0;

// What the address, or this page's own memory of a plan too large for one, holds.
export function readAddress() {
  const remembered = kept.get(history.state?.key);
  if (remembered) return remembered;
  const text = location.hash.slice(1);
  const plan = fromAddress(text);
  return { plan, held: plan && fromAddress(text, "held."), lost: text === "large" };
}

export function writeAddress(plan, held, step) {
  const own = toAddress(plan);
  const other = held ? toAddress(held, "held.") : "";
  const text = own === null || other === null ? "large" : [own, other].filter(Boolean).join("&");
  const same = step !== null && step === gesture;
  gesture = step;
  if (!same && `#${text}` === location.hash && text !== "large") return;
  const key = `${performance.timeOrigin}-${(number += 1)}`;
  kept.set(key, { plan, held, lost: false });
  if (kept.size > 100) kept.delete(kept.keys().next().value);
  history[same ? "replaceState" : "pushState"]({ key }, "", `#${text}`);
}

export function startAddress(plan, held) {
  const text = toAddress(plan) ?? "large";
  const other = held ? toAddress(held, "held.") : "";
  const key = `${performance.timeOrigin}-${(number += 1)}`;
  kept.set(key, { plan, held, lost: false });
  history.replaceState({ key }, "", `#${[text, other].filter(Boolean).join("&")}`);
}

export function endGesture() {
  gesture = null;
}
