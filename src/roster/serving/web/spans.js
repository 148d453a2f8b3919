// Spans of a text, as pure functions. Offsets are UTF-16 code units, as those of JavaScript strings.
//
// A span is { id, start, end, label, score, by, was }: `score` is null where a person made it, `by` is "model" or
// "person", `was` is the span of the model in whose place a person put it, or null.
// The id of a span of a model is its start, that of a person's span is below 0.
// A state is { spans, removed, next }: spans in order, without overlaps; the model's spans that a person removed or
// replaced; the next id of a person's span. States are never changed, so that undo keeps the old ones.
//
//   begin(found), extend(state, found)   the state of what a model found, and with more that it found
//   put(state, { start, end, label }, was)   a span of a person, in place of what it overlaps (and of `was`)
//   putAll(state, list)                several at once
//   drop(state, id)                    without a span
//   visible(spans, threshold, hidden)  those of at least a score, and of types that are not hidden; a person's always
//   counts(text, spans)                by name and type: { name, label, count, score, spans }
//   edits(state)                       { added, changed, removed }
//   occurrences(text, name)            all places of the name as whole words
//   trimmed(text, start, end), whole(text, start, end), moved(text, span, edge, step)   borders
//   history(state), next(h, state), undo(h), redo(h)    undo and redo
//   codePoints(text)                   a function from UTF-16 offsets to offsets in characters, as Python counts
//   hueOf(types)                       a function from a type to the class of its colour (base.css)

export const HUES = 12;
const STEPS = 500;
const WORD = /[\p{L}\p{M}\p{N}]/u;

export const overlap = (a, b) => a.start < b.end && b.start < a.end;
const inOrder = (a, b) => a.start - b.start || a.end - b.end;

/** The place of the first span whose end is behind an offset. */
export function firstAfter(spans, offset) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].end <= offset) low = middle + 1; else high = middle;
  }
  return low;
}

/** The state of what a model found. Of spans that overlap, the first is taken. */
export const begin = (found) => extend({ spans: [], removed: [], next: -1 }, found);

/** The state with more of what a model found; what overlaps a span that is there is left out. */
export function extend(state, found) {
  const fresh = found.map(({ start, end, label, score = null }) =>
    ({ id: start, start, end, label, score, by: "model", was: null }));
  const spans = [];
  const all = [...state.spans, ...fresh].sort((a, b) => inOrder(a, b) || (a.by > b.by ? -1 : a.by < b.by ? 1 : 0));
  const kept = new Set(state.spans);
  for (const one of all) {
    const last = spans.at(-1);
    if (!last || !overlap(last, one)) spans.push(one);
    else if (kept.has(one) && !kept.has(last)) spans[spans.length - 1] = one;
  }
  return { ...state, spans };
}

/** The state with spans of a person; what they overlap is replaced, and remembered if a model had found it. */
export function putAll(state, list) {
  let spans = state.spans, next = state.next;
  const removed = [...state.removed];
  for (const { start, end, label, was = null } of [...list].sort(inOrder)) {
    const from = firstAfter(spans, start);
    let to = from;
    while (to < spans.length && spans[to].start < end) to++;
    const gone = spans.slice(from, to);
    const before = was ?? (gone.length === 1 ? gone[0] : null);
    const model = before && (before.by === "model" ? before : before.was);
    for (const one of gone) if (one !== before) keep(removed, one);
    const span = { id: next--, start, end, label, score: null, by: "person", was: model ?? null };
    // The place of `was` may not overlap the new span.
    const rest = was && !gone.includes(was) ? spans.filter((one) => one.id !== was.id) : spans;
    const at = rest === spans ? from : firstAfter(rest, start);
    const back = model && model.start === start && model.end === end && model.label === label;
    spans = [...rest.slice(0, at), back ? { ...model, id: span.id } : span, ...rest.slice(at + gone.length)];
  }
  return { spans, removed, next };
}

/** The state with a span of a person. `was`: the span that it is the correction of. */
export const put = (state, span, was = null) => putAll(state, [{ ...span, was }]);

/** The state without a span. */
export function drop(state, id) {
  return dropAll(state, new Set([id]));
}

/** The state without some spans. */
export function dropAll(state, ids) {
  const removed = [...state.removed];
  for (const span of state.spans) if (ids.has(span.id)) keep(removed, span);
  return { ...state, spans: state.spans.filter((span) => !ids.has(span.id)), removed };
}

function keep(removed, span) {
  const model = span.by === "model" ? span : span.was;
  if (model) removed.push(model);
}

/** What a person sees: spans of at least a score, of types that are not hidden. A person's own have no score. */
export function visible(spans, threshold = 0, hidden = new Set()) {
  return spans.filter((span) => !hidden.has(span.label) && (span.score === null || span.score >= threshold));
}

const names = new WeakMap(); // of spans: a slider asks for the same again and again

/** The name of a span on one line. */
export function nameOf(text, span) {
  let name = names.get(span);
  if (name === undefined) names.set(span, name = plain(text.slice(span.start, span.end)));
  return name;
}

/** Spans by name and type, in the order of the text. */
export function counts(text, spans) {
  const found = new Map();
  for (const span of spans) {
    const name = nameOf(text, span), key = `${span.label}\t${name}`;
    let one = found.get(key);
    if (!one) found.set(key, one = { key, name, label: span.label, count: 0, score: null, edited: false, spans: [] });
    one.count++;
    one.spans.push(span);
    one.edited ||= span.by === "person";
    if (span.score !== null) one.score = Math.max(one.score ?? 0, span.score);
  }
  return [...found.values()];
}

/** What a person changed: spans that are new, spans in another's place, spans of the model that are gone. */
export function edits(state) {
  const own = state.spans.filter((span) => span.by === "person");
  return { added: own.filter((span) => !span.was), changed: own.filter((span) => span.was), removed: state.removed };
}

/** A name on one line: one space between words, composed accents, no control characters. */
export const plain = (name) => name.normalize("NFC").replace(/[\p{Cc}\s]+/gu, " ").trim();

const isWord = (text, at) => at >= 0 && at < text.length && WORD.test(characterAt(text, at));

function characterAt(text, at) { // also from the second half of a pair
  const code = text.charCodeAt(at);
  return String.fromCodePoint(text.codePointAt(code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at));
}

/** All places of a name in a text, as whole words, in the case of the name. */
export function occurrences(text, name) {
  const found = [];
  if (!name) return found;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    const end = at + name.length;
    const cutsStart = isWord(text, at - 1) && isWord(text, at);
    const cutsEnd = isWord(text, end - 1) && isWord(text, end);
    if (!cutsStart && !cutsEnd) found.push({ start: at, end });
  }
  return found;
}

/** Borders without white space at the edges, and never inside a surrogate pair; null if nothing is left. */
export function trimmed(text, start, end) {
  if (isLow(text, start)) start--;
  if (isLow(text, end)) end++;
  while (start < end && /\s/.test(text[start])) start++;
  while (end > start && /\s/.test(text[end - 1])) end--;
  return start < end ? { start, end } : null;
}

const isLow = (text, at) => {
  const code = text.charCodeAt(at), before = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff;
};

/** Borders moved outwards to those of words; null if there is no word and no sign in them. */
export function whole(text, start, end) {
  const found = trimmed(text, start, end);
  if (!found) return null;
  while (isWord(text, found.start) && isWord(text, found.start - 1)) found.start--;
  while (isWord(text, found.end - 1) && isWord(text, found.end)) found.end++;
  return found;
}

/**
 * The borders of a span with one edge moved by a word.
 *
 * @param {string} edge "start" or "end"
 * @param {number} step -1: to the left, 1: to the right
 * @returns the new borders, or null if the edge cannot move
 */
export function moved(text, { start, end }, edge, step) {
  const marks = borders(text, Math.max(0, start - 200), Math.min(text.length, end + 200), edge);
  const at = edge === "start" ? start : end;
  const to = step < 0 ? marks.findLast((mark) => mark < at) : marks.find((mark) => mark > at);
  if (to === undefined) return null;
  const found = edge === "start" ? { start: to, end } : { start, end: to };
  return found.start < found.end ? found : null;
}

function borders(text, from, to, edge) {
  const found = [];
  for (const match of text.slice(from, to).matchAll(/[\p{L}\p{M}\p{N}]+|[^\s]/gu)) {
    found.push(from + match.index + (edge === "start" ? 0 : match[0].length));
  }
  return found;
}

/** A state with what was before and what was undone. */
export const history = (state) => ({ past: [], state, future: [] });
export const next = (h, state) => ({ past: [...h.past, h.state].slice(-STEPS), state, future: [] });
export const undo = (h) => h.past.length ? { past: h.past.slice(0, -1), state: h.past.at(-1), future: [h.state, ...h.future] } : h;
export const redo = (h) => h.future.length ? { past: [...h.past, h.state], state: h.future[0], future: h.future.slice(1) } : h;

/** A function from UTF-16 offsets in a text to offsets in characters (code points). */
export function codePoints(text) {
  const pairs = [];
  for (let i = 0; i < text.length; i++) if (isLow(text, i)) pairs.push(i);
  return (offset) => {
    let low = 0, high = pairs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[middle] < offset) low = middle + 1; else high = middle;
    }
    return offset - low;
  };
}

/** A function from a type to the class of its colour; types of a model have the colours in their order. */
export function hueOf(types) {
  const places = new Map(types.map((type, place) => [type, place % HUES]));
  return (type) => `hue-${places.get(type) ?? [...type].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) % 997, 7) % HUES}`;
}
