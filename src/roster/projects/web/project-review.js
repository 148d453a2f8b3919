// The review: a sentence, a question, one key or one click for each answer; the estimate after each sentence.
//
// Modes: "ask" (the question of the service), "type" (another type), "words" (which words are the name).

import { Failure, api } from "./api.js";
import { announce, byId, el, fill } from "./dom.js";
import { courseOf, intervalOf } from "./project-charts.js";
import { hueOf } from "./spans.js";

let name = null, seen = null, mode = "ask", range = null, sending = false, turn = 0, onError = () => {};

const width = () => Number(byId("width").value);
const url = (path = "") => `/api/projects/${name}/review${path}`;

/** Shows the review of a project, at the question where it ended. */
export async function showReview(wanted, fail) {
  [name, seen, mode, range, sending, onError] = [wanted, null, "ask", null, false, fail];
  document.title = `RoSTER: review of ${name}`;
  byId("review-title").textContent = `Review of ${name}`;
  take(await api(`${url()}?width=${width()}`));
  addEventListener("keydown", onKey);
  byId("sentence").focus({ preventScroll: true });
}

export function leaveReview() { removeEventListener("keydown", onKey); }

function take(answer) {
  [seen, mode, range] = [answer, "ask", null];
  draw();
}

async function send(path, body) {
  if (sending) return;
  sending = true;
  const before = seen;
  try {
    byId("failure-review").hidden = true;
    take(await api(url(path), { body: { ...body, width: width() } }));
    if (!before.narrow && seen.narrow) announce(`F1 is known to plus or minus ${seen.width}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    byId("failure-review").hidden = false;
    fill(byId("failure-review"), error.message);
    if (error.status === 409) take(await api(`${url()}?width=${width()}`));
  } finally {
    sending = false;
    byId("question-card").dataset.turn = turn += 1;
  }
}

const answer = (verdict, span = {}) => send("", { number: seen.question.number, mention: seen.question.mention, verdict, ...span });
const asked = () => seen.question.names.find((one) => one.asked) ?? null;

function enter(next) {
  mode = next;
  const current = asked();
  if (next === "words") range = current ? { start: current.start, end: current.end, fresh: true } : { start: 0, end: 1, fresh: true };
  draw();
  if (next === "words") byId("sentence").querySelector(`[data-word="${range.start}"]`)?.focus();
}

function choose(label) {
  const current = asked();
  if (mode === "type") return answer("type", { start: current.start, end: current.end, label });
  return answer(current ? "border" : "missing", { start: range.start, end: range.end, label });
}

// Every action of a mode: key, label, what it does; shown as buttons.
function actions() {
  if (!seen.question) return [["u", "Undo", () => send("/undo", {}), "quiet"]];
  const later = [["u", "Undo", () => send("/undo", {}), "quiet"], ["s", "Skip", () => answer("skip"), "quiet"]];
  const cancel = ["Escape", "Cancel", () => enter("ask"), "quiet"];
  const current = asked();
  if (mode === "type" || mode === "words") {
    const labels = seen.types.map((label, i) => [String(i + 1), label, () => choose(label), hue(label)]);
    return [...(mode === "type" ? labels.filter(([, label]) => label !== current.label) : labels), cancel];
  }
  if (!current) return [["Enter", "Nothing is missing", () => answer("done"), "primary"], ["m", "A name is missing", () => enter("words")], ...later];
  return [["r", "Right", () => answer("right"), "primary"], ["t", "Wrong type", () => enter("type")], ["b", "Wrong words", () => enter("words")],
    ["n", "Not a name", () => answer("no name")], ["a", "All right in this sentence", () => answer("all right")], ...later];
}

let hue = hueOf([]);

function draw() {
  hue = hueOf(seen.types);
  drawQuestion();
  drawEstimate();
}

function drawQuestion() {
  const { question } = seen, current = question && asked();
  byId("question-count").textContent = question ? `Sentence ${seen.sentences + 1}${seen.skipped ? `, ${seen.skipped} skipped` : ""}` : "";
  if (!question) {
    fill(byId("sentence"), "Every sentence of the text has been reviewed.");
    fill(byId("question"));
  } else {
    fill(byId("sentence"), words(question));
    fill(byId("question"), ask(current));
  }
  fill(byId("answers"), actions().map(([key, label, run, look = ""]) => el("button", { type: "button", class: `button answer ${look}`, onclick: run, "aria-keyshortcuts": key },
    el("kbd", { "aria-hidden": "true" }, key === "Enter" ? "↵" : key === "Escape" ? "Esc" : key), label)));
  byId("review-hint").textContent = mode === "words" ? "Click the first and the last word, or move with the arrow keys and hold Shift for more words; then choose the type."
    : "Every answer is saved at once. You can leave and go on at any time.";
}

function ask(current) {
  if (mode === "type") return ["Which type is ", name_(current), "?"];
  if (mode === "words") return [current ? "Which words are the name, and of which type?" : "Which words are the missing name, and of which type?"];
  if (!current) return ["Is a name missing?"];
  return ["Is ", name_(current), " of the type ", el("span", { class: `tag ${hue(current.label)}` }, current.label), "?"];
}

const name_ = ({ start, end }) => el("b", {}, el("bdi", {}, textOf(start, end)));
const textOf = (start, end) => seen.question.words.slice(start, end).map((word, i) => (i ? seen.question.before[start + i] : "") + word).join("");

function words({ words: all, before, names }) {
  if (mode === "words") {
    return all.map((word, i) => [before[i], el("button", { type: "button", class: `word ${i >= range.start && i < range.end ? "chosen" : ""}`, dataset: { word: i },
      tabIndex: i === range.start ? 0 : -1, "aria-pressed": String(i >= range.start && i < range.end), onclick: (event) => pick(i, event.shiftKey) }, word)]);
  }
  const parts = [];
  for (let i = 0; i < all.length;) {
    const found = names.find(({ start }) => start === i);
    parts.push(before[i]);
    if (!found) { parts.push(all[i]); i += 1; continue; }
    parts.push(el("mark", { class: `entity ${hue(found.label)} ${found.asked ? "asked" : ""}`, "data-label": found.label }, textOf(found.start, found.end)));
    i = found.end;
  }
  return parts;
}

// The first click takes one word, the second extends the name to that word.
function pick(i, extend) {
  if (extend || !range.fresh) range = { start: Math.min(range.start, i), end: Math.max(range.end, i + 1), fresh: !extend };
  else range = { start: i, end: i + 1, fresh: false };
  drawQuestion();
  byId("sentence").querySelector(`[data-word="${i}"]`).focus();
}

function move(step, extend) {
  const last = seen.question.words.length;
  if (extend) {
    const end = Math.min(last, Math.max(range.start + 1, range.end + step));
    range = { ...range, end };
  } else {
    const start = Math.min(last - 1, Math.max(0, range.start + step));
    range = { start, end: start + 1, fresh: true };
  }
  drawQuestion();
  byId("sentence").querySelector(`[data-word="${extend ? range.end - 1 : range.start}"]`).focus();
  announce(textOf(range.start, range.end));
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, dialog")) return;
  const button = event.target.closest?.("button, a, summary");
  if (mode === "words" && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    event.preventDefault();
    return move((event.key === "ArrowRight" ? 1 : -1) * (getComputedStyle(byId("sentence")).direction === "rtl" ? -1 : 1), event.shiftKey);
  }
  if (event.key === "q") { event.preventDefault(); return leave(); }
  // Enter on a button is a click on that button.
  if ((event.key === "Enter" || event.key === " ") && button) return;
  const wanted = event.key === "Enter" && mode === "ask" && seen.question && asked() ? "r" : event.key;
  const found = actions().find(([key]) => key === wanted || key === wanted.toLowerCase());
  if (found) { event.preventDefault(); found[2](); byId("sentence").focus({ preventScroll: true }); }
}

function leave() { location.hash = name; }

function drawEstimate() {
  const { scores, answers, left, narrow, width: wanted, course, needed, sentences, fewest } = seen;
  const f1 = scores?.f1;
  if (!f1) {
    fill(byId("estimate-now"), el("p", { class: "dim" }, needed ? `${answers} answer${answers === 1 ? "" : "s"}. An estimate follows after ${needed} more sentence${needed === 1 ? "" : "s"}.` : `${answers} answers. No name to judge by yet.`),
      el("progress", { class: "progress", max: sentences + needed, value: sentences, "aria-label": "Sentences before the first estimate" }));
    return;
  }
  const words_ = ({ value, low, high }) => `${value.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
  fill(byId("estimate-now"),
    el("p", { class: "figure" }, f1.value.toFixed(2), el("span", { class: "dim" }, ` ± ${((f1.high - f1.low) / 2).toFixed(3)}`)),
    intervalOf(f1, `F1 ${words_(f1)}, 95 % interval`, wanted),
    course.length > 1 ? courseOf(course, `F1 and its interval from ${course[0][0]} to ${course.at(-1)[0]} answers`) : null,
    el("p", { class: "small" }, narrow ? `F1 is known to ± ${wanted}. You can stop here.` : left ? `About ${left} more answers for ± ${wanted}.`
      : sentences < fewest ? `At least ${fewest - sentences} more sentences: an interval of few may be narrow by chance.` : ""),
    el("p", { class: "small dim" }, `${answers} answers, ${sentences} sentences. `,
      scores.precision ? `Precision ${words_(scores.precision)}. ` : "", scores.recall ? `Recall ${words_(scores.recall)}.` : ""));
}

byId("review-leave").addEventListener("click", leave);
byId("width").addEventListener("change", async () => {
  try { take(await api(`${url()}?width=${width()}`)); } catch (error) { onError(error); }
});
