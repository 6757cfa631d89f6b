// The JSON API. The newest request wins: an earlier one of the same kind is given up.

import { worded } from "./wording.js";

export class ApiError extends Error {
  constructor(message, { argument = null, cells = [] } = {}) {
    super(message);
    Object.assign(this, { argument, cells });
  }
}

const IN_BODY = "refusals=in-body"; // else the browser writes every refusal into its console as a failure
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
    options.body = json === undefined ? bytes : JSON.stringify(json);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is dpstrata serve still running?");
  }
  if (answer.ok && answer.headers.get("preference-applied") !== IN_BODY) return answer;
  const told = await answer.json().catch(() => null);
  throw told?.error ? new ApiError(worded(told.error.parts), told.error) : new ApiError("The server failed to answer.");
}

export const wasGivenUp = (error) => error?.name === "AbortError";
