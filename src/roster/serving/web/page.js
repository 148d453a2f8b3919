// The page: what the elements of index.html do. The parts are in modules of their own.

import { Failure, api } from "./api.js";
import { change, newDocument, readAll, shareOf, textOf } from "./documents.js";
import { announce, byId, download, el, fill, number, percent } from "./dom.js";
import { Editor } from "./editor.js";
import { conll, jsonLines, patch } from "./export.js";
import { Names } from "./names.js";
import { showOrigin } from "./origin.js";
import { counts, drop, edits, hueOf, nameOf, put, redo, undo, visible, whole } from "./spans.js";
import { useTabs } from "./tabs.js";
import { useTokenDialog } from "./token.js";
import { View } from "./view.js";

let models = [], limits = null, model = null, hue = hueOf([]);
let documents = [], at = 0, threshold = 0, stopping = null, shown = [];
const hidden = new Set();
const current = () => documents[at];
const state = () => current().history.state;

// Parts.

const view = new View(byId("view"), {
  describe: (span) => ({
    hue: hue(span.label),
    label: span.by === "person" ? `${span.label} ✎` : `${span.label} ${span.score.toFixed(2)}`,
    name: `${nameOf(current().text, span)}, ${span.label}, ${span.by === "person" ? "corrected" : `score ${span.score.toFixed(2)}`}`,
  }),
  onOpen: (span) => open(span, span),
  onSelect: (range, byKeyboard) => {
    const words = whole(current().text, range.start, range.end);
    if (!words) return;
    if (byKeyboard) open(words, null);
    else offer(words);
  },
  onRemove: (span) => apply(drop(state(), span.id), `Removed ${nameOf(current().text, span)}`),
});
const editor = new Editor({
  hue: (label) => hue(label),
  onState: (after, message) => apply(after, message),
  onWhy: (name) => why(name),
  onClose: () => {
    const span = shown.find(({ start, end }) => start < editor.range.end && editor.range.start < end);
    if (!span || !view.focus(span)) byId("view").focus({ preventScroll: true });
  },
});
const names = new Names({ table: byId("table"), filter: byId("filter"), more: byId("more"), count: byId("names-count") }, {
  hue: (label) => hue(label),
  onJump: (row) => {
    const from = view.cursor?.start ?? -1;
    view.show(row.spans.find(({ start }) => start > from) ?? row.spans[0]);
  },
  get onWhy() { return model?.explains ? (row) => why(row.name) : null; },
});
const openTab = useTabs(document.querySelector('[role="tablist"]'));
useTokenDialog();

// Start.

async function start() {
  try {
    const about = await api("/models");
    ({ models, limits } = about);
    fill(byId("nav"), about.pages.includes("/projects") ? el("a", { href: "/projects" }, "Projects") : null);
    byId("nav").hidden = !byId("nav").children.length;
    const asked = new URLSearchParams(location.search).get("model");
    model = models.find(({ name }) => name === asked) ?? models.find(({ name }) => name === about.default) ?? models[0];
    byId("run").disabled = !model;
    if (!model) {
      byId("form-note").textContent = "There is no model yet. Train one under Projects, and choose “Try the model” there.";
      return;
    }
    fill(byId("model"), models.map(({ name }) => el("option", { value: name, selected: name === model.name }, name)));
    byId("model-choice").hidden = models.length < 2;
    note();
  } catch (error) {
    fail(error, start);
  }
}

function note() {
  hue = hueOf(model.types);
  const one = models.length < 2 ? el("b", {}, model.name) : el("b", {}, "The model");
  fill(byId("form-note"), one, " finds ", model.types.map((type, i) => [i ? " " : "", el("span", { class: `tag ${hue(type)}` }, type)]));
}

// An error of the service or of a file; `again` is what can be tried again.
function fail(error, again = null) {
  if (error?.name === "AbortError") return;
  const box = byId("failure");
  box.hidden = !error;
  if (!error) return;
  fill(box, el("div", { class: "spread" }, el("span", {}, error.message),
    again && el("button", { type: "button", class: "button", onclick: () => { fail(null); again(); } }, "Try again")));
  if (!(error instanceof Failure) && again === null) console.warn(error.message);
}

// Reading.

function begin(texts) {
  if (!texts.length || !limits) return;
  stopping?.abort();
  documents = texts.map(({ name, text }) => newDocument(name, text, limits));
  at = 0;
  hidden.clear();
  fail(null);
  byId("start").hidden = true;
  byId("result").hidden = false;
  byId("document-choice").hidden = documents.length < 2;
  fill(byId("document"), documents.map(({ name }, i) => el("option", { value: i }, name)));
  chips();
  showDocument();
  byId("view").focus({ preventScroll: true });
  scrollTo(0, 0);
  resume();
}

async function resume() {
  const mine = stopping = new AbortController(), read = documents, reader = model.name;
  reading(true);
  let told = 0;
  try {
    await readAll(read, reader, {
      signal: mine.signal,
      onWait: (seconds) => { if (stopping === mine) byId("reading-note").textContent = `The service is busy; next try in ${Math.ceil(seconds)} s`; },
      onPart: (one) => {
        if (stopping !== mine) return;
        progress();
        if (one === current()) draw();
        const now = Math.floor(shareOf(read) * 4);
        if (now > told && now < 4) announce(`${now * 25} % read`);
        told = now;
      },
    });
    if (stopping === mine) announce(`Finished. ${byId("summary").textContent}`);
  } catch (error) {
    if (stopping !== mine) return;
    fail(error);
    announce(`Stopped at ${percent(shareOf(read))}`);
  }
  if (stopping === mine) { stopping = null; reading(false); draw(); }
}

function reading(on) {
  const done = shareOf(documents) >= 1;
  byId("reading").hidden = !on && done;
  byId("stop").hidden = !on;
  byId("continue").hidden = on;
  progress();
}

function progress() {
  const now = shareOf(documents);
  byId("progress").value = now;
  byId("reading-note").textContent = `${percent(now)} read`;
}

// Drawing.

function showDocument() {
  view.setText(current().text);
  offer(null);
  draw();
}

function chips() {
  fill(byId("types"), model.types.map((type) => el("button", {
    type: "button", class: `chip ${hue(type)}`, "aria-pressed": "true", dataset: { type },
    onclick: ({ currentTarget }) => {
      if (hidden.has(type)) hidden.delete(type); else hidden.add(type);
      currentTarget.setAttribute("aria-pressed", String(!hidden.has(type)));
      draw();
    },
  }, el("span", {}, type), el("span", { class: "chip-count number" }, "0"))));
}

function draw() {
  const { text, history } = current(), { spans } = history.state;
  const above = visible(spans, threshold);
  shown = visible(above, 0, hidden);
  view.setSpans(shown);
  names.set(counts(text, shown));
  const ofType = new Map();
  for (const { label } of above) ofType.set(label, (ofType.get(label) ?? 0) + 1);
  for (const chip of byId("types").children) chip.lastChild.textContent = number(ofType.get(chip.dataset.type) ?? 0);
  const corrected = corrections(), some = shown.length === 1 ? "1 entity" : `${number(shown.length)} entities`;
  byId("summary").textContent = `${some} in ${number(text.length)} characters` +
    (spans.length > shown.length ? `, ${number(spans.length - shown.length)} not shown` : "") +
    (corrected ? ` · ${corrected === 1 ? "1 correction" : `${number(corrected)} corrections`}` : "");
  byId("undo").disabled = !history.past.length;
  byId("redo").disabled = !history.future.length;
  const all = documents.reduce((sum, one) => sum + corrections(one), 0);
  byId("export-note").textContent = documents.length > 1 ? `${documents.length} documents, with the entities that are shown.` : "The entities that are shown.";
  byId("export-patch").disabled = !all;
}

function corrections(one = current()) {
  const { added, changed, removed } = edits(one.history.state);
  return added.length + changed.length + removed.length;
}

// Corrections.

function apply(after, message) {
  change(current(), after);
  draw();
  announce(message);
}

function open(range, span) {
  offer(null);
  const mark = span && view.markOf(span);
  const selection = getSelection();
  const box = mark ? mark.getBoundingClientRect() : selection.rangeCount ? selection.getRangeAt(0).getBoundingClientRect() : null;
  editor.open({ text: current().text, state: state(), types: types(), range, span, box, why: model.explains });
}

const types = () => [...new Set([...model.types, ...state().spans.map(({ label }) => label)])];

// Buttons beside words that were selected with the mouse.
function offer(range) {
  document.querySelector(".offer")?.remove();
  if (!range) return;
  const box = getSelection().getRangeAt(0).getBoundingClientRect();
  const add = (label) => {
    offer(null);
    getSelection().removeAllRanges();
    const words = current().text.slice(range.start, range.end);
    apply(put(state(), { ...range, label }), `Added ${words}, ${label}`);
  };
  const bar = el("div", { class: "offer card", role: "toolbar", "aria-label": "Add an entity" },
    types().slice(0, 8).map((type) => el("button", { type: "button", class: `chip ${hue(type)}`, "aria-pressed": "true", onclick: () => add(type) }, type)),
    el("button", { type: "button", class: "button quiet", onclick: () => open(range, null) }, "More…"));
  bar.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the selection
  byId("result").append(bar);
  const { width, height } = bar.getBoundingClientRect();
  bar.style.left = `${Math.max(8, Math.min(box.left + scrollX, document.documentElement.clientWidth - width - 8))}px`;
  bar.style.top = `${scrollY + (box.top > height + 12 ? box.top - height - 8 : box.bottom + 8)}px`;
}

function step(way) {
  const before = current().history;
  current().history = way(before);
  if (current().history !== before) { draw(); announce(way === undo ? "Undone" : "Done again"); }
}

function why(name) {
  openTab("origin", true);
  byId("origin-name").value = name;
  showOrigin(byId("origin-answer"), { model: model.name, name, hue });
}

// Input.

async function openFiles(files) {
  const list = [...files];
  if (!list.length) return;
  try {
    begin(await Promise.all(list.map(async (file) => ({ name: file.name, text: await textOf(file) }))));
  } catch (error) {
    fail(error);
  }
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("text").value;
  if (text.trim()) begin([{ name: "", text }]);
  else { announce("There is no text yet"); byId("text").focus(); }
});
byId("open").addEventListener("click", () => byId("files").click());
byId("files").addEventListener("change", ({ target }) => { openFiles(target.files); });
byId("example").addEventListener("click", async () => {
  try {
    byId("text").value = await api("/web/example.txt");
    byId("form").requestSubmit();
  } catch (error) {
    fail(error);
  }
});
byId("model").addEventListener("change", ({ target }) => {
  model = models.find(({ name }) => name === target.value);
  note();
  if (!byId("result").hidden) begin(documents);
});
byId("document").addEventListener("change", ({ target }) => { at = Number(target.value); showDocument(); });
byId("again").addEventListener("click", () => {
  stopping?.abort();
  stopping = null;
  byId("result").hidden = true;
  byId("start").hidden = false;
  byId("files").value = "";
  offer(null);
  fail(null);
  byId("text").focus();
});
byId("stop").addEventListener("click", () => { stopping?.abort(); byId("continue").focus(); });
byId("continue").addEventListener("click", () => { fail(null); resume(); });

let frame = 0;
byId("threshold").addEventListener("input", ({ target }) => {
  threshold = target.valueAsNumber;
  byId("threshold-value").textContent = threshold.toFixed(2);
  frame ||= requestAnimationFrame(() => { frame = 0; draw(); });
});
byId("undo").addEventListener("click", () => step(undo));
byId("redo").addEventListener("click", () => step(redo));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") offer(null);
  const inField = event.target.closest("input:not([type=range], [type=radio], [type=checkbox]), textarea, dialog");
  if (inField || byId("result").hidden || !(event.ctrlKey || event.metaKey)) return;
  const key = event.key.toLowerCase();
  if (key === "z" || key === "y") {
    event.preventDefault();
    step(key === "y" || event.shiftKey ? redo : undo);
  }
});
document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".offer")) offer(null); });
let pause = 0;
document.addEventListener("selectionchange", () => { // fingers: there is no pointerup when handles are moved
  clearTimeout(pause);
  if (matchMedia("(pointer: coarse)").matches) pause = setTimeout(() => view.selected(), 400);
});
byId("origin-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = byId("origin-name").value.trim();
  if (name) why(name);
});

const exported = () => documents.map(({ name, text, history }) => ({ name, text, spans: visible(history.state.spans, threshold, hidden) }));
const file = (suffix) => `${(documents.length === 1 && documents[0].name.replace(/\.[^.]*$/, "")) || "entities"}.${suffix}`;
byId("export-jsonl").addEventListener("click", () => download(file("jsonl"), jsonLines(exported()), "application/jsonl"));
byId("export-conll").addEventListener("click", () => download(file("conll"), conll(exported())));
byId("export-patch").addEventListener("click", () =>
  download("patch.tsv", patch(documents.map(({ text, history }) => ({ text, state: history.state }))), "text/tab-separated-values"));

let depth = 0;
const dropped = byId("drop");
for (const [name, by] of [["dragenter", 1], ["dragleave", -1]]) {
  addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    depth = Math.max(0, depth + by);
    dropped.hidden = depth === 0;
  });
}
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  depth = 0;
  dropped.hidden = true;
  if (!event.dataTransfer?.files.length) return;
  event.preventDefault();
  openFiles(event.dataTransfer.files);
});
addEventListener("beforeunload", (event) => {
  if (documents.some((one) => corrections(one))) event.preventDefault();
});

start();
