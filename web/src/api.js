// The JSON API. The newest request wins: an earlier one of the same kind is given up.

import { worded } from "./wording.js";

export class ApiError extends Error {
  // passes: whether it goes away by itself, because the server is silent or busy, so that the same request is repeated
  constructor(message, { argument = null, parts = [], cells = [], nearest = null, passes = false } = {}) {
    super(message);
    Object.assign(this, { argument, parts, cells, nearest, passes });
  }
}

export const SILENT = "The server does not answer. Is dpstrata serve still running?";
const IN_BODY = "refusals=in-body"; // else the browser writes every refusal into its console as a failure
const BUSY = [502, 503, 504]; // of the server, or of one in front of it
const running = new Map();

export async function ask(path, body, { kind = path } = {}) {
  running.get(kind)?.abort();
  const control = new AbortController();
  running.set(kind, control);
  const answer = await send(path, { json: body, signal: control.signal });
  return answer.json();
}

export async function send(path, { json, bytes, signal } = {}) {
  const options = { signal, headers: { prefer: IN_BODY }, cache: "no-store" };
  if (json !== undefined || bytes !== undefined) {
    options.method = "POST";
    options.headers["content-type"] = json === undefined ? "application/octet-stream" : "application/json";
    options.body = json === undefined ? bytes : jsonOf(json);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(SILENT, { passes: true });
  }
  if (answer.ok && answer.headers.get("preference-applied") !== IN_BODY) return answer;
  const told = await answer.json().catch(() => null);
  const passes = BUSY.includes(answer.status);
  throw told?.error ? new ApiError(worded(told.error.parts), { ...told.error, passes }) : new ApiError("The server failed to answer.", { passes });
}

// A map is an object whose names keep their order, whatever they are.
function jsonOf(value) {
  if (value instanceof Map) return `{${Array.from(value, ([name, each]) => `${JSON.stringify(name)}:${jsonOf(each)}`).join(",")}}`;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return JSON.stringify(value);
  return jsonOf(new Map(Object.entries(value)));
}

// Waits until the server answers; gives up when the signal says so.
export async function whenBack(signal) {
  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 1.5, 10_000)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (signal.aborted) return false;
    if (await fetch("/api/health", { signal, cache: "no-store" }).then((answer) => answer.ok, () => false)) return true;
  }
  return false;
}

export const wasGivenUp = (error) => error?.name === "AbortError";
