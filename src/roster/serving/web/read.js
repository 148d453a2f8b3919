// A whole text through the service: in pieces, a few requests at a time, with offsets into the whole text.

import { api } from "./api.js";
import { groups, longestPiece, pieces } from "./split.js";

const AT_ONCE = 3;
const REQUEST = 12_000; // characters of a request: a second or two of a small model on a CPU

/** The most characters of a request. */
const most = (limits) => Math.max(longestPiece(limits), Math.min(REQUEST, limits.characters, Math.floor((limits.body - 1000) / 6)));

/** What of a text is still to be read. `done` has the numbers of the groups that were. */
export function plan(text, limits) {
  const all = groups(pieces(text, longestPiece(limits)), most(limits), limits.texts);
  return { text, groups: all, done: new Set() };
}

/** The share of the text that was read. */
export function share({ text, groups: all, done }) {
  let read = 0;
  for (const number of done) read += all[number].at(-1).end - all[number][0].start;
  return text.length ? read / text.length : Number(done.size === all.length);
}

/**
 * Reads what is left of a plan.
 *
 * @param {object} plan its `done` grows
 * @param {string} model
 * @param {object} options `signal`; `onPart(spans)` after each request, with what it found; `onWait(seconds)` while the service is busy
 * @throws {Failure} of the first request that failed; the others are stopped. AbortError if the signal aborts.
 */
export async function read(plan, model, { signal, onPart = () => {}, onWait = () => {} } = {}) {
  const left = plan.groups.map((_, number) => number).filter((number) => !plan.done.has(number));
  const stop = new AbortController();
  const all = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  async function work() {
    while (left.length) {
      all.throwIfAborted();
      const number = left.shift(), group = plan.groups[number];
      const texts = group.map(({ start, end }) => plan.text.slice(start, end));
      const answer = await api("/predict", { body: { texts, model, offsets: "utf16" }, signal: all, onWait });
      plan.done.add(number);
      onPart(answer.results.flatMap(({ spans }, i) =>
        spans.map((span) => ({ ...span, start: span.start + group[i].start, end: span.end + group[i].start }))));
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } catch (error) {
    stop.abort();
    throw error;
  }
}
