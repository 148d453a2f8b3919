// A long text in pieces that fit into requests. Pure functions.
//
//   pieces(text, most)      [{ start, end }], without gaps, each of at most so many UTF-16 units
//   groups(pieces, most, texts)   lists of consecutive pieces with at most so many units and texts together
//   longestPiece(limits)    units of a piece that fits any request, by the limits of /models
//
// A piece ends, in this order of preference, after a blank line, a line, a sentence, white space. At a blank line the
// service ends a sentence too, so the entities are those of the whole text.

export const PIECE = 4000;
const LEAST = 0.4; // of the longest piece; a better border is not taken before that

const BORDERS = [
  /\n[ \t\r]*\n\s*/g,
  /[\r\n]+(?!\s*\p{Ll})\s*/gu,
  /[\p{L}\p{N}]{3}[.!?…]["'”’)\]]*\s+(?=["'“‘([]*[\p{Lu}\p{N}])|[。！？]["”’)」』]*/gu,
  /\s+/g,
];

/** The longest piece that neither a request nor a sentence is too long with, whatever its characters are. */
export function longestPiece(limits) {
  const bytes = Math.floor((limits.body - 1000) / 6); // JSON writes a character in six bytes at most
  return Math.max(1, Math.min(PIECE, limits.characters, limits.sentence_words, bytes));
}

/** The pieces of a text. */
export function pieces(text, most) {
  const found = [];
  let start = 0;
  while (text.length - start > most) {
    const end = start + border(text.slice(start, start + most + 1), most);
    found.push({ start, end });
    start = end;
  }
  if (start < text.length || !found.length) found.push({ start, end: text.length });
  return found;
}

function border(window, most) {
  const least = Math.floor(most * LEAST);
  for (const pattern of BORDERS) {
    let last = 0;
    for (const match of window.matchAll(pattern)) {
      const end = match.index + match[0].length;
      if (end > least && end <= most) last = end;
    }
    if (last) return last;
  }
  const code = window.charCodeAt(most); // not between the halves of a pair
  return code >= 0xdc00 && code <= 0xdfff && most > 1 ? most - 1 : most;
}

/** Consecutive pieces together, for one request each. */
export function groups(list, most, texts) {
  const found = [];
  let size = Infinity;
  for (const piece of list) {
    const length = piece.end - piece.start;
    if (size + length > most || found.at(-1).length >= texts) {
      found.push([]);
      size = 0;
    }
    found.at(-1).push(piece);
    size += length;
  }
  return found;
}
