// The command of a step: button, progress, log, error.

import { el, number, percent } from "./dom.js";

/**
 * What is shown of a step.
 *
 * @param {object|null} job the last command of the step, as the service has it.
 * @param {object} how `button`, `primary`, `ready`, `busy` (the step under way), `begin`, `stop`, `missing`, `note`.
 */
export function drawJob(job, { button, primary, ready, busy, begin, stop, missing, note = "" }) {
  if (job && ["queued", "running", "stopping"].includes(job.state)) return underWay(job, stop);
  const parts = [note ? el("p", { class: "notice" }, note) : null];
  if (job?.state === "failed") parts.push(el("div", { class: "notice bad", role: "alert" }, el("p", {}, job.error)));
  if (job?.state === "stopped") parts.push(el("p", { class: "notice" }, job.error ? job.error : "Stopped. It can go on from where it was."));
  parts.push(el("div", { class: "row" },
    el("button", { type: "button", class: `button ${primary ? "primary" : ""}`, disabled: !ready || Boolean(busy), onclick: begin }, button),
    ready ? null : el("span", { class: "small dim" }, missing)));
  return el("div", { class: "stack" }, parts);
}

function underWay({ state, position, progress, log }, stop) {
  const share = progress?.total ? progress.done / progress.total : null;
  const words = state === "queued" ? (position ? `Waits for ${position} other step${position === 1 ? "" : "s"}` : "Starts …")
    : state === "stopping" ? "Stops …" : progress ? stageName(progress.stage) : "Starts …";
  return el("div", { class: "stack running" },
    el("div", { class: "spread" },
      el("span", {}, el("b", {}, words), share === null ? (progress ? ` · ${number(Math.round(progress.done))} ${progress.unit}s` : "") : ` · ${percent(share)}`,
        progress?.left === null || progress?.left === undefined ? "" : el("span", { class: "dim" }, ` · ${duration(progress.left)} left in this stage`)),
      el("button", { type: "button", class: "button", disabled: state === "stopping", onclick: stop }, "Stop")),
    el("progress", { class: "progress", max: 1, ...(share === null ? {} : { value: share }), "aria-label": words }),
    log.length ? el("pre", { class: "log", tabindex: 0, role: "region", "aria-label": "Log" }, log.slice(-8).join("\n")) : null);
}

const STAGES = [
  [/^read/, "Reading"], [/^count$/, "Counting words"], [/^label$/, "Labelling"], [/^predict$/, "Reading the text with the model"],
  [/^member-(\d+)$/, (found) => `Training model ${Number(found[1]) + 1}`], [/^members?/, "Training the first models"],
  [/^ensemble$/, "Joining the models"], [/^self-training$/, "Self-training"], [/^fine-tune$/, "Training"],
];

/** A stage in words. */
export function stageName(stage) {
  for (const [pattern, words] of STAGES) {
    const found = pattern.exec(stage ?? "");
    if (found) return typeof words === "string" ? words : words(found);
  }
  return stage ?? "";
}

/** Seconds for people. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
