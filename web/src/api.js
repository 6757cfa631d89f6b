// The JSON API. The newest request wins: an earlier one of the same kind is given up.

export class ApiError extends Error {
  constructor(message, cells = []) {
    super(message);
    this.cells = cells;
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
  throw new ApiError(told?.error?.message ?? "The server failed to answer.", told?.error?.cells);
}

export const wasGivenUp = (error) => error?.name === "AbortError";
