// Requests to the service: bearer token, errors in the words of the service, and Retry-After.
//
//   await api("/models")                                  GET, the JSON answer
//   await api("/predict", { body: { texts } , signal })   POST of JSON
//   await api("/x", { method: "PUT", body: blob, type: "text/plain" })   another method, a body as it is
//   onToken(ask)   `ask(wasWrong)` is called at a 401 and returns a promise of a token (null: give up);
//                  requests that come meanwhile wait for the same answer
//   class Failure: `status`, `message`, `where`, `seconds` (of Retry-After, or null)
//
// The token is kept in sessionStorage: until the tab is closed, and for this origin alone.

const TOKEN = "roster-token";
const TRIES = 8;
const LONGEST_WAIT = 30;

export class Failure extends Error {
  constructor(status, message, where = null, seconds = null) {
    super(message);
    Object.assign(this, { status, where, seconds });
  }
}

let ask = async () => null;
let asking = null;

/** Sets what is called when the service wants a token. */
export function onToken(callback) { ask = callback; }

/** Forgets the token. */
export function forgetToken() { sessionStorage.removeItem(TOKEN); }

/** The headers of a request of this tab, for callers of fetch. */
export function authorization() {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * The JSON answer to a request, or its text where it is no JSON.
 *
 * @param {string} path
 * @param {object} options `body` (an object: sent as JSON; a string or Blob: as it is, with `type`), `method`, `signal`,
 *   `tries` (how often a 503 is tried, with Retry-After between), `onWait(seconds)` before each wait.
 * @throws {Failure} for every answer that is no success; status 0: the service cannot be reached.
 */
export async function api(path, options = {}) {
  const { tries = TRIES, signal, onWait = () => {} } = options;
  for (let turn = 1; ; turn++) {
    try {
      return await once(path, options);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (error.status === 401 && await renewToken()) continue;
      if (error.status !== 503 || turn >= tries) throw error;
      const seconds = Math.min(LONGEST_WAIT, (error.seconds ?? 1) * (1 + Math.random() / 2) * Math.max(1, turn - 2));
      onWait(seconds, error);
      await sleep(seconds * 1000, signal);
    }
  }
}

async function once(path, { body, method, type, signal }) {
  const isData = body !== undefined && !(typeof body === "string" || body instanceof Blob);
  const headers = authorization();
  if (body !== undefined) headers["Content-Type"] = isData ? "application/json" : type ?? "text/plain;charset=utf-8";
  let answer;
  try {
    answer = await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers, signal, body: isData ? JSON.stringify(body) : body, cache: "no-store", credentials: "omit",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "The service cannot be reached. Is it still running?");
  }
  const isJson = (answer.headers.get("content-type") ?? "").startsWith("application/json");
  const content = isJson ? await answer.json() : await answer.text();
  if (answer.ok) return content;
  const seconds = Number.parseFloat(answer.headers.get("retry-after"));
  throw new Failure(answer.status, content?.error ?? `The service answered with status ${answer.status}.`,
    content?.where ?? null, Number.isFinite(seconds) ? seconds : null);
}

// Whether there is another token than the one that was refused.
async function renewToken() {
  const before = sessionStorage.getItem(TOKEN);
  asking ??= Promise.resolve(ask(before !== null)).finally(() => { asking = null; });
  const token = await asking;
  if (!token) return false;
  sessionStorage.setItem(TOKEN, token);
  return true;
}

/** A promise that is kept after some milliseconds, and broken when the signal aborts. */
export function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => { clearTimeout(timer); reject(new DOMException("stopped", "AbortError")); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
