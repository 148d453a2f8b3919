// The texts of the page: reading them through the service one after the other, and their corrections.

import { plan, read, share } from "./read.js";
import { begin, extend, history, next } from "./spans.js";

export const LARGEST = 16 * 2 ** 20;

/** A document of a text, of which nothing is read yet. */
export function newDocument(name, text, limits) {
  const clean = text.toWellFormed ? text.toWellFormed() : text;
  return { name, text: clean, plan: plan(clean, limits), history: history(begin([])) };
}

/** The text of a file. Throws an Error for people if it is too large or no UTF-8. */
export async function textOf(file) {
  if (file.size > LARGEST) throw new Error(`${file.name} is larger than ${LARGEST / 2 ** 20} MB; give a part of it, or use roster predict.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is no UTF-8 text. Save it as UTF-8 and open it again.`);
  }
}

/** The share of all documents that is read. */
export function shareOf(documents) {
  const length = documents.reduce((sum, one) => sum + one.text.length, 0);
  const sum = documents.reduce((read, one) => read + share(one.plan) * one.text.length, 0);
  return length ? sum / length : documents.every((one) => share(one.plan) === 1) ? 1 : 0;
}

/** Reads what is left of all documents. What was corrected meanwhile stays. `onPart(document)` after each request. */
export async function readAll(documents, model, { signal, onPart, onWait }) {
  for (const one of documents) {
    await read(one.plan, model, {
      signal, onWait,
      onPart: (found) => {
        const more = (state) => extend(state, found);
        const { past, state, future } = one.history;
        one.history = { past: past.map(more), state: more(state), future: future.map(more) };
        onPart(one);
      },
    });
  }
}

/** A correction of a document. */
export function change(one, state) { one.history = next(one.history, state); }
