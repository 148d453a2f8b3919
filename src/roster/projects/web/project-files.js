// Files of a project: adding them by button, by dropping, by pasting; the list.

import { Failure, api } from "./api.js";
import { announce, byId, el, fill, number } from "./dom.js";

const FIRST = 8;

/** The list of files, with a button to remove each. */
export function drawFiles(files, active, remove) {
  if (!files.length) return [];
  const line = (file) => el("li", { class: "file" },
    el("bdi", { class: "file-name" }, file.name),
    el("span", { class: "dim small" }, about(file)),
    el("button", { type: "button", class: "button quiet small", disabled: Boolean(active), "aria-label": `Remove ${file.name}`, onclick: () => remove(file) }, "Remove"));
  const list = el("ul", { class: "plain-list files" }, files.slice(0, FIRST).map(line));
  if (files.length <= FIRST) return [list];
  return [list, el("details", {}, el("summary", {}, `${number(files.length - FIRST)} more files`),
    el("ul", { class: "plain-list files" }, files.slice(FIRST).map(line)))];
}

function about({ kind, facts }) {
  if (kind === "texts") return `${number(facts.sentences)} sentences, ${number(facts.words)} words`;
  if (kind === "patches") return `${number(facts.changes)} changes`;
  const types = Object.entries(facts.types).map(([type, count]) => `${type} ${number(count)}`);
  return `${number(facts.entries)} names: ${types.slice(0, 6).join(", ")}${types.length > 6 ? ", …" : ""}`;
}

/** Makes the fields of both kinds of files work. */
export function useUploads({ url, refresh, upload }) {
  for (const kind of ["texts", "names"]) {
    const send = (files) => sendAll(kind, files, { url, refresh, most: upload() });
    const input = byId(`add-${kind}`), zone = byId(`drop-${kind}`);
    input.addEventListener("change", async () => { await send([...input.files]); input.value = ""; });
    zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      send([...event.dataTransfer.files]);
    });
    byId(`paste-${kind}-add`).addEventListener("click", async () => {
      const field = byId(`paste-${kind}`);
      if (!field.value.trim()) return field.focus();
      if (await send([new File([field.value], kind === "texts" ? "pasted text.txt" : "pasted names.tsv")])) field.value = "";
    });
  }
}

// One file after the other; whether all were taken.
async function sendAll(kind, files, { url, refresh, most }) {
  const errors = [], state = byId(`sending-${kind}`), box = byId(`failure-${kind}`);
  const type = kind === "names" ? byId("names-type").value.trim() : "";
  for (const [i, file] of files.entries()) {
    state.textContent = files.length > 1 ? `Reading ${i + 1} of ${files.length}: ${file.name}` : `Reading ${file.name} …`;
    const query = new URLSearchParams({ filename: file.name, ...(type ? { type } : {}) });
    try {
      if (file.size > most) throw new Failure(413, `the file has more than ${Math.round(most / 2 ** 20)} MiB; split it, or compress it (gzip)`);
      await api(`${url(`/files/${kind}`)}?${query}`, { body: file, type: "application/octet-stream" });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      errors.push(error.message.startsWith(file.name) ? error.message : `${file.name}: ${error.message}`);
    }
  }
  state.textContent = "";
  box.hidden = !errors.length;
  fill(box, errors.slice(0, 10).map((message) => el("p", {}, message)), errors.length > 10 ? el("p", {}, `and ${errors.length - 10} more`) : null);
  if (!errors.length) announce(files.length === 1 ? `Added ${files[0].name}` : `Added ${files.length} files`);
  await refresh();
  return !errors.length;
}
