// What the steps have found, for people.

import { el, number, percent } from "./dom.js";
import { lineOf } from "./project-charts.js";
import { duration, stageName } from "./project-jobs.js";
import { hueOf } from "./spans.js";

const rows = (head, lines) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": head.join(", ") },
  el("table", { class: "table" }, el("thead", {}, el("tr", {}, head.map((one, i) => el("th", { scope: "col", class: typeof lines[0]?.[i] === "number" ? "number" : null }, el("span", {}, one))))),
    el("tbody", {}, lines.map((cells) => el("tr", {}, cells.map((cell) => el("td", { class: typeof cell === "string" || cell instanceof Node ? null : "number" }, typeof cell === "number" ? number(cell) : cell)))))));
const more = (title, ...children) => el("details", {}, el("summary", {}, title), el("div", { class: "stack" }, children));

/** The labels: counts, examples, and what is odd about names. */
export function drawLabels(labels) {
  if (!labels) return [];
  const types = Object.entries(labels.types), hue = hueOf(types.map(([type]) => type)), all = types.reduce((n, [, one]) => n + one.labels, 0);
  const dead = Object.values(labels.dead_entries ?? {}).reduce((a, b) => a + b, 0);
  return [
    el("p", {}, el("b", {}, `${number(all)} labels`), ` in ${number(labels.labelled_sentences)} of ${number(labels.sentences)} sentences: `,
      types.map(([type, one]) => [el("span", { class: `tag ${hue(type)}` }, type), ` ${number(one.labels)} `])),
    labels.warnings.map((warning) => el("p", { class: "notice" }, warning)),
    labels.examples.length ? more("Examples", labels.examples.map((one) => marked(one, hue))) : null,
    labels.ambiguous.length ? more(`${labels.ambiguous.length === 20 ? "20 or more" : labels.ambiguous.length} names have several types and got no label`,
      rows(["Name", "Types", "In the text"], labels.ambiguous.map(({ name, types: t, count }) => [name, t.join(", "), count]))) : null,
    dead ? more(`${number(dead)} name${dead === 1 ? "" : "s"} can match nothing`,
      rows(["Name", "Type", "File", "Line", "Reason"], labels.dead.map((one) => [one.surface ?? "", one.type ?? "", one.file ?? "", one.line ?? "", one.reason ?? ""]))) : null,
    more("More", rows(["Source", "Labels"], Object.entries(labels.sources)), rows(["Name", "Type", "Labels"], labels.top_entries.map((one) => [one.entry, one.label, one.count])),
      rows(["Type", "Upper and lower case", "Why"], Object.entries(labels.decisions).map(([label, one]) => [label, one.case ?? "", one.reason ?? ""]))),
  ];
}

// A text with its labels; offsets count code points.
function marked({ text, spans }, hue) {
  const letters = [...text], parts = [];
  let at = 0;
  for (const { start, end, label } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start < at) continue;
    parts.push(letters.slice(at, start).join(""), el("mark", { class: `entity ${hue(label)}`, "data-label": label }, letters.slice(start, end).join("")));
    at = end;
  }
  return el("p", { class: "quote", dir: "auto" }, parts, letters.slice(at).join(""));
}

/** The stages that are finished, and what is known of the model. */
export function drawTraining(training) {
  if (!training) return [];
  const scores = Object.entries(training.scores ?? {});
  return [
    training.stages.length ? el("ul", { class: "plain-list stages" }, training.stages.filter(({ name, losses }) => losses.length || name === "model").map((stage) => el("li", {},
      el("span", {}, stage.name === "model" ? "The whole training" : stageName(stage.name)),
      stage.losses.length > 1 ? lineOf(flat(stage.losses), `Loss of ${stageName(stage.name)} by epoch, from ${flat(stage.losses)[0].toFixed(3)} to ${flat(stage.losses).at(-1).toFixed(3)}`) : null,
      el("span", { class: "dim small" }, stage.seconds ? duration(stage.seconds) : "")))) : null,
    scores.map(([split, { precision, recall, f1 }]) => el("p", {}, `On the gold labels of ${split}: precision ${percent(precision)}, recall ${percent(recall)}, F1 ${percent(f1)}.`)),
    training.estimates.map((line) => el("p", { class: "small" }, line)),
    training.warnings.map((line) => el("p", { class: "notice small" }, line)),
  ];
}
const flat = (losses) => losses.map((one) => Array.isArray(one) ? one[0] : one);

export function drawReport(training, best, open) {
  if (!best) return el("p", { class: "small dim" }, "First train a model.");
  return el("div", { class: "row" }, el("button", { type: "button", class: "button", onclick: () => open("report.html") }, "Open the report ↗"),
    el("span", { class: "small dim" }, best.number > 1 ? `Of training ${best.number}` : ""));
}

const ACTIONS = { add: "add", remove: "remove", retype: "other type", deny: "never a name" };

function changes({ changes: count, first_changes: first }, { busy, accept, from }) {
  if (!count) return el("p", { class: "small dim" }, `The ${from} proposes no changes of the lists.`);
  const shown = first.map((one) => [ACTIONS[one.action], one.name, one.new_type ? `${one.type} → ${one.new_type}` : one.type]);
  return el("div", { class: "stack" },
    more(`${number(count)} proposed change${count === 1 ? "" : "s"} of the lists`, rows(["Change", "Name", "Type"], shown),
      count > first.length ? el("p", { class: "small dim" }, `and ${number(count - first.length)} more, in the file`) : null),
    el("div", { class: "row" }, el("button", { type: "button", class: "button", disabled: Boolean(busy), onclick: accept }, `Accept ${count === 1 ? "it" : `all ${number(count)}`} and label again`),
      el("span", { class: "small dim" }, "Look at them first. They can be removed again under Names.")));
}

/** The audit in short. */
export function drawAudit(audit, { open, busy, accept }) {
  if (!audit) return [];
  const share = (one) => one ? `${percent(one.value)} (${percent(one.low)} to ${percent(one.high)})` : "–";
  return [
    rows(["Type", "Labels", "Precision", "Recall"], audit.types.map((one) => [one.label, one.labels, share(one.precision), share(one.recall)])),
    el("div", { class: "row" }, el("button", { type: "button", class: "button", onclick: () => open("audit.html") }, "Open the audit ↗"),
      audit.changes ? el("button", { type: "button", class: "button quiet", onclick: () => open("patch.tsv") }, "Download the changes") : null),
    changes(audit, { busy, accept, from: "audit" }),
  ];
}

/** The review so far, and what follows for the lists. */
export function drawReview(best, corrections, { open, busy, accept }) {
  if (!best?.reviewed) return [];
  return [
    best.training.gold ? el("p", { class: "small dim" }, "This model has learned from reviewed sentences, so a review of the same text judges it a little too well.") : null,
    corrections ? changes(corrections, { busy, accept, from: "review" }) : null,
    el("div", { class: "row" }, el("button", { type: "button", class: "button quiet", onclick: () => open("gold.jsonl") }, "Download the reviewed sentences")),
  ];
}

/** Downloads, and the model on the page /. */
export function drawUse(name, best, served, { open, use }) {
  if (!best) return el("p", { class: "small dim" }, "First train a model.");
  return [
    el("div", { class: "row" },
      el("button", { type: "button", class: "button primary", onclick: use }, "Try the model"),
      el("button", { type: "button", class: "button", onclick: () => open("model.zip") }, "Download the model"),
      el("button", { type: "button", class: "button quiet", onclick: () => open("data.zip") }, "Download the labelled text")),
    served ? el("p", { class: "small dim" }, `The service answers with this model: /predict with "model": "${served}".`) : null,
    more("In a program", el("pre", { class: "log", tabindex: 0, role: "region", "aria-label": "Python" },
      `import roster\n\nner = roster.load("${name}-model")  # the unpacked folder\nprint(ner("A sentence with a name."))`)),
  ];
}
