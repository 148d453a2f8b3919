// One project: its state is read again every second while a step is under way, and the parts that changed are drawn.

import { Failure, api, sleep } from "./api.js";
import { announce, byId, el, fill, number } from "./dom.js";
import { drawFiles, useUploads } from "./project-files.js";
import { drawJob } from "./project-jobs.js";
import { drawAudit, drawLabels, drawReport, drawReview, drawTraining, drawUse } from "./project-results.js";

const STEPS = ["text", "names", "label", "train", "look", "use"];
const TITLES = ["Text", "Names", "Label", "Train", "Look", "Use"];
const DONE = { label: "The text is labelled", train: "The training is finished", audit: "The audit is finished", review: "The review is ready" };
let name = null, running = null, project = null, results = null, drawn = new Map(), onError = () => {}, about = null;

export const url = (path = "") => `/api/projects/${name}${path}`;

/** Draws a part again if what it depends on has changed; what a person is typing in elsewhere stays. */
function part(id, depends, draw) {
  const key = JSON.stringify(depends);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  fill(byId(id), draw());
}

/** Shows a project, and follows it until `leaveProject`. */
export async function showProject(wanted, fail) {
  const mine = running = new AbortController();
  [name, onError, project, results, drawn] = [wanted, fail, null, null, new Map()];
  document.title = `RoSTER: ${name}`;
  byId("project-title").textContent = name;
  about ??= await api("/api/projects");
  options();
  await refresh();
  follow(mine);
}

export function leaveProject() { running?.abort(); running = null; }

async function follow(mine) {
  while (running === mine) {
    try {
      await sleep(project?.active ? 700 : 5000, mine.signal);
      if (running === mine && !document.hidden) await refresh();
      onError(null);
    } catch (error) {
      if (error.name === "AbortError" || running !== mine) return;
      if (!(error instanceof Failure)) throw error;
      onError(error);
    }
  }
}

async function refresh(answer = null) {
  const before = project;
  const found = answer ?? await api(url());
  if (found.name !== name) return;
  project = found;
  const stage = project.jobs.find(({ step }) => step === project.active)?.progress?.stage;
  const key = `${project.version} ${stage}`;
  if (results?.key !== key) results = { key, ...await api(url("/results")) };
  if (before?.active && before.active !== project.active) ended(before.active);
  draw();
}

function ended(step) {
  const job = project.jobs.find((one) => one.step === step);
  announce(job.state === "done" ? DONE[step] : job.state === "stopped" ? `Stopped: ${step}` : `Failed: ${step}. ${job.error}`);
}

/** Sends a request that changes the project, and draws its answer; an error is shown in `box`. */
export async function act(path, body = {}, box = null, method = undefined) {
  try {
    await refresh(await api(url(path), method ? { method } : { body }));
    if (box) byId(box).hidden = true;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (!box) return onError(error);
    byId(box).hidden = false;
    fill(byId(box), error.message);
  }
}

/** Opens a file of the project: a page in a new tab, everything else as a download. */
export async function open(file) {
  const tab = file.endsWith(".html") ? window.open("", "_blank") : null;
  try {
    const link = await api(url("/links"), { body: { file } });
    if (tab) { tab.opener = null; tab.location = link.url; } else location.assign(link.url);
  } catch (error) {
    tab?.close();
    if (!(error instanceof Failure)) throw error;
    onError(error);
  }
}

function options() {
  fill(byId("encoders"), about.encoders.map((value) => el("option", { value })));
  fill(byId("patterns"), el("legend", { class: "sr-only" }, "Patterns"), about.patterns.map((value) =>
    el("label", { class: "row small" }, el("input", { type: "checkbox", value }), value)));
}

const chosen = () => [...byId("patterns").querySelectorAll(":checked")].map(({ value }) => value);
const minutes = () => byId("minutes").value === "" ? null : Number(byId("minutes").value);

function draw() {
  const of = (kind) => project.files.filter((file) => file.kind === kind);
  const job = (step) => project.jobs.find((one) => one.step === step) ?? null;
  const texts = of("texts"), names = [...of("names"), ...of("patches")];
  const round = project.rounds.at(-1) ?? null, best = project.rounds.find(({ number: n }) => n === project.best) ?? null;
  const ready = { label: texts.length > 0 && (names.length > 0 || chosen().length > 0), train: Boolean(round?.labelled), model: Boolean(best) };

  part("files-texts", [texts, project.active], () => drawFiles(texts, project.active, remove));
  part("files-names", [names, project.active], () => drawFiles(names, project.active, remove));
  byId("sample").hidden = texts.length + names.length > 0;
  byId("gold-row").hidden = !project.rounds.some(({ reviewed }) => reviewed > 0);

  const begin = (step, body) => act(`/jobs/${step}`, body);
  const stop = () => act("/stop");
  const busy = project.active;
  part("run-label", [job("label"), ready.label, busy, project.stale, round?.labelled], () => drawJob(job("label"), {
    button: round?.labelled ? "Label again" : "Label the text", primary: !round?.labelled || project.stale, ready: ready.label, busy, stop,
    begin: () => begin("label", { patterns: chosen() }), missing: texts.length ? "First add names." : "First add text and names.",
    note: project.stale ? "Text or names have changed since they were labelled." : "",
  }));
  part("labels", [results.labels], () => drawLabels(results.labels));
  part("run-train", [job("train"), ready.train, busy, project.round, project.best], () => drawJob(job("train"), {
    button: continues(job("train")) ? "Go on" : project.best === project.round ? "Train again" : "Train",
    primary: project.best !== project.round, ready: ready.train, busy, stop, missing: "First label the text.",
    begin: () => begin("train", continues(job("train")) && untouched() ? rest(round.training) : training()),
  }));
  part("training", [results.training], () => drawTraining(results.training));
  part("report", [results.training?.report, best?.number, ready.model], () => drawReport(results.training, best, open));
  part("run-audit", [job("audit"), ready.model, busy, best?.number], () => drawJob(job("audit"), {
    button: job("audit")?.state === "done" && results.audit ? "Audit again" : "Audit the labels", primary: !results.audit,
    ready: ready.model, busy, stop, begin: () => begin("audit"), missing: "First train a model.",
  }));
  part("audit", [results.audit, busy], () => drawAudit(results.audit, { open, busy, accept: () => accept("audit") }));
  part("run-review", [job("review"), ready.model, busy, best], () => best?.reviewed || (job("review")?.state === "done" && job("review").round === best?.number)
    ? el("a", { class: "button primary", href: `#${name}/review` }, best.reviewed ? "Go on with the review" : "Start the review")
    : drawJob(job("review"), { button: "Prepare a review", primary: false, ready: ready.model, busy, stop, begin: () => begin("review"), missing: "First train a model." }));
  part("review-state", [results.corrections, best?.reviewed, busy], () => drawReview(best, results.corrections, { open, busy, accept: () => accept("review") }));
  part("use", [best, project.served, busy], () => drawUse(name, best, project.served, { open, use }));
  path(texts, names, round, best, job);
}

// A stopped or failed training of this round goes on from its last checkpoint.
function continues(job) {
  return Boolean(job && ["stopped", "failed"].includes(job.state) && job.round === project.round && results.training && !results.training.finished);
}
let touched = false;
for (const id of ["minutes", "gold", "backbone"]) byId(id).addEventListener("input", () => { touched = true; });
const untouched = () => !touched;
const rest = ({ minutes: m = null, backbone = null, gold = false }) => ({ minutes: m, backbone, gold: Boolean(gold) });
function training() {
  touched = false;
  return { minutes: minutes(), backbone: byId("backbone").value.trim() || null, gold: byId("gold").checked && !byId("gold-row").hidden };
}

async function remove(file) {
  await act(`/files/${file.number}`, undefined, null, "DELETE");
  announce(`Removed ${file.name}`);
}

async function accept(source) {
  await act("/patches", { source });
  if (project.stale) await act("/jobs/label", { patterns: project.rounds.at(-1)?.patterns ?? [] });
}

async function use() {
  try {
    const { model } = await api(url("/serve"), { body: {} });
    location.assign(`/?model=${encodeURIComponent(model)}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    onError(error);
  }
}

// The path: which steps are done, which is next.
function path(texts, names, round, best, job) {
  const states = {
    text: texts.length ? "done" : "next",
    names: names.length ? "done" : texts.length ? "next" : "later",
    label: round?.labelled && !project.stale ? "done" : texts.length && names.length ? "next" : "later",
    train: best && best.number === project.round ? "done" : round?.labelled ? "next" : "later",
    look: best ? (results.audit || best.reviewed ? "done" : "next") : "later",
    use: best ? "next" : "later",
  };
  const words = { text: texts.length ? `${number(sum(texts, "sentences"))} sentences` : "", names: names.length ? `${number(sum(names, "entries"))} names` : "" };
  const active = { label: "label", train: "train", audit: "look", review: "look" }[project.active];
  for (const step of STEPS) {
    const state = step === active ? "busy" : states[step];
    const failed = ["label", "train"].includes(step) && job(step)?.state === "failed" && states[step] !== "done";
    byId(`step-${step}`).dataset.state = state;
    byId(`badge-${step}`).className = `badge ${failed ? "bad" : state === "busy" ? "busy" : state === "done" ? "good" : ""}`;
    byId(`badge-${step}`).textContent = state === "busy" ? "under way" : failed ? "failed" : state === "done" ? words[step] || "done" : "";
  }
  const now = STEPS.find((step) => states[step] === "next") ?? "use";
  part("stepper", [states, active], () => STEPS.map((step, i) => el("li", { class: `stepper-line ${step === active ? "busy" : states[step]}` },
    el("a", { href: `#step-${step}`, onclick: (event) => jump(event, step), "aria-current": step === now ? "step" : null },
      el("span", { class: "count", "aria-hidden": "true" }, states[step] === "done" && step !== active ? "✓" : i + 1), TITLES[i],
      el("span", { class: "sr-only" }, step === active ? " (under way)" : states[step] === "done" ? " (done)" : "")))));
  const told = { text: "Next: add some text.", names: "Next: add names and their types.", label: "Next: label the text.", train: "Next: train a model.",
    look: "Next: look at the report, audit the names, or review.", use: "The model is ready to use." };
  byId("next").textContent = project.active ? "A step is under way. You may close this page; it goes on." : told[now];
}
const sum = (files, key) => files.reduce((all, { facts }) => all + (facts[key] ?? facts.changes ?? 0), 0);

function jump(event, step) {
  event.preventDefault();
  byId(`step-${step}`).scrollIntoView({ block: "start", behavior: "smooth" });
  const target = byId(`title-${step}`);
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

useUploads({ url, refresh, upload: () => about?.upload ?? Infinity });
byId("patterns").addEventListener("change", () => draw());
byId("sample-add").addEventListener("click", () => act("/sample"));
byId("delete").addEventListener("click", () => {
  byId("confirm-text").textContent = `The text, the labels and the models of ${name} are removed from the disk.`;
  byId("confirm").returnValue = "no";
  byId("confirm").showModal();
});
byId("confirm").addEventListener("close", async () => {
  if (byId("confirm").returnValue !== "yes") return;
  try {
    await api(url(), { method: "DELETE" });
    announce(`Removed ${name}`);
    location.hash = "";
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    onError(error);
  }
});
