// Texts with spans as files. Offsets of the arguments are UTF-16 code units; those in files count characters.
//
//   jsonLines([{ name, text, spans }])   what `roster` reads as jsonl: id, text and spans
//   conll([{ text, spans }])             words and BIO tags, a blank line after each sentence
//   words(text, spans), sentences(text, spans)
//   patch([{ text, state }])             changes for `roster label --patch`, from the corrections (states of spans.js)

import { codePoints, edits, plain } from "./spans.js";

/** One JSON object a line for each document. */
export function jsonLines(documents) {
  return documents.map(({ name, text, spans }) => {
    const at = codePoints(text);
    const listed = spans.map(({ start, end, label, score }) => ({
      text: text.slice(start, end), label, start: at(start), end: at(end), ...(score === null || score === undefined ? {} : { score }),
    }));
    return `${JSON.stringify({ ...(name ? { id: name } : {}), text, spans: listed })}\n`;
  }).join("");
}

// Runs of letters and digits (with apostrophes, full stops or hyphens between them), or one other sign.
const WORDS = /[\p{L}\p{M}\p{N}]+(?:['’.\-][\p{L}\p{M}\p{N}]+)*|\S/gu;

/** The words of a text, cut where a span begins or ends: [start, end] each. */
export function words(text, spans) {
  const cuts = spans.flatMap(({ start, end }) => [start, end]), found = [];
  let next = 0;
  for (const match of text.matchAll(WORDS)) {
    let start = match.index;
    const end = start + match[0].length;
    while (next < cuts.length && cuts[next] <= start) next++;
    for (; next < cuts.length && cuts[next] < end; next++) {
      if (cuts[next] > start) found.push([start, cuts[next]]);
      start = cuts[next];
    }
    found.push([start, end]);
  }
  return found;
}

/** The words of a text by sentence. A sentence ends at a line's end or after . ! ? before white space, outside spans. */
export function sentences(text, spans) {
  const found = [[]];
  let s = 0;
  for (const [start, end] of words(text, spans)) {
    const last = found.at(-1).at(-1);
    if (last) {
      while (s < spans.length && spans[s].end <= last[1]) s++;
      const inside = s < spans.length && spans[s].start < last[1] && start < spans[s].end;
      const between = text.slice(last[1], start);
      const ends = /[\r\n]/.test(between) || (between && /^[.!?。！？…]$/u.test(text.slice(...last)));
      if (ends && !inside) found.push([]);
    }
    found.at(-1).push([start, end]);
  }
  return found.filter((sentence) => sentence.length);
}

/** Columns of words and BIO tags. */
export function conll(documents) {
  const lines = [];
  for (const { text, spans } of documents) {
    lines.push("-DOCSTART- O", "");
    let s = 0;
    for (const sentence of sentences(text, spans)) {
      for (const [start, end] of sentence) {
        while (s < spans.length && spans[s].end <= start) s++;
        const span = s < spans.length && spans[s].start < end ? spans[s] : null;
        const tag = span ? `${start === span.start ? "B" : "I"}-${span.label}` : "O";
        lines.push(`${text.slice(start, end)} ${tag}`);
      }
      lines.push("");
    }
  }
  return `${lines.join("\n")}\n`;
}

/**
 * A patch of dictionaries from corrections.
 *
 * A name that a person gave a type is added. A name and type that a person removed or replaced is removed, unless
 * it still stands elsewhere with this type, or is a part of the name that took its place (the longest match wins).
 */
export function patch(documents) {
  const add = new Map(), remove = new Map(), left = new Set();
  const key = (name, label) => `${name}\t${label}`;
  const note = (map, name, label, why) => {
    if (!name) return;
    const one = map.get(key(name, label)) ?? { count: 0, why };
    map.set(key(name, label), { ...one, count: one.count + 1 });
  };
  for (const { text, state } of documents) {
    const of = ({ start, end }) => plain(text.slice(start, end));
    for (const span of state.spans) left.add(key(of(span), span.label));
    const { added, changed, removed } = edits(state);
    for (const span of added) note(add, of(span), span.label, "added");
    for (const span of changed) {
      const { was } = span, longer = span.start <= was.start && was.end <= span.end && span.label === was.label;
      note(add, of(span), span.label, `was ${of(was)} ${was.label}`);
      if (!longer) note(remove, of(was), was.label, `is ${of(span)} ${span.label}`);
    }
    for (const span of removed) note(remove, of(span), span.label, "removed");
  }
  const lines = [];
  for (const [change, { count, why }] of add) lines.push(`add\t${change}\t${times(count)}, ${why}`);
  for (const [change, { count, why }] of remove) if (!left.has(change)) lines.push(`remove\t${change}\t${times(count)}, ${why}`);
  return ["# Changes of dictionaries, for `roster label --patch`", "# Made from corrections of predictions", ...lines, ""].join("\n");
}

const times = (count) => count === 1 ? "once" : `${count} times`;
