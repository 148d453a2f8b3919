// Why a name was labelled in training: the entries of dictionaries that gave its labels, and the audit of them.

import { Failure, api } from "./api.js";
import { el, fill, number } from "./dom.js";

/** Asks the service where labels of a name come from, and shows the answer in an element. */
export async function showOrigin(into, { model, name, hue }) {
  fill(into, el("p", { class: "dim small" }, "Looking up…"));
  try {
    const answer = await api(`/explain?${new URLSearchParams({ model, name })}`);
    fill(into, content(answer, hue));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    fill(into, el("p", { class: "notice bad" }, error.message));
  }
}

function content({ name, known, note, entries, more, missing }, hue) {
  const title = el("h3", {}, el("bdi", {}, name));
  if (!known || !(entries.length || missing)) return [title, el("p", {}, note)];
  return [
    title,
    note && el("p", { class: "small dim" }, note),
    entries.map((entry) => card(entry, hue)),
    more > 0 && el("p", { class: "small dim" }, `${number(more)} more entries are not shown.`),
    missing && el("p", { class: "notice" }, `The audit would add this name as ${missing.label}: it stands ${times(missing.count)} ` +
      `in the training text without a label (confidence ${missing.confidence.toFixed(2)}).`),
  ];
}

function card({ entry, label, source, line, labels, audit }, hue) {
  return el("div", { class: "entry" },
    el("div", { class: "spread" }, el("strong", {}, el("bdi", {}, entry)), el("span", { class: `tag ${hue(label)}` }, label)),
    el("dl", { class: "facts small" },
      fact("Source", source ? el("span", {}, el("bdi", {}, source), line ? `, line ${number(line)}` : "") : "not known"),
      fact("Training labels", number(labels)),
      fact("Audit", audit ? verdict(audit) : "no audit of this entry")));
}

const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
const times = (count) => count === 1 ? "once" : `${number(count)} times`;

function verdict({ verdict: word, believed, longer, confidence }) {
  const bad = word !== "right" && word !== "ambiguous";
  const what = longer ? [" (", el("bdi", {}, longer), believed ? `, ${believed})` : ")"] : believed ? [` (it is ${believed})`] : [];
  return el("span", { class: bad ? "bad" : word === "right" ? "good" : "" }, word, what,
    confidence === null ? "" : `, confidence ${confidence.toFixed(2)}`);
}
