// The dialog that corrects an entity or adds one. It changes nothing itself: it calls back with the new state.

import { byId, el, fill } from "./dom.js";
import { drop, dropAll, moved, nameOf, occurrences, overlap, plain, put, putAll } from "./spans.js";

const CONTEXT = 50;

export class Editor {
  /** @param {object} options `hue(label)`, `onState(state, message)`, `onWhy(name)`, `onClose()` */
  constructor(options) {
    this.options = options;
    this.dialog = byId("editor");
    byId("editor-close").addEventListener("click", () => this.dialog.close());
    byId("editor-delete").addEventListener("click", () => this.remove());
    byId("editor-why").addEventListener("click", () => this.dialog.close("why"));
    byId("editor-borders").addEventListener("click", (event) => this.nudge(event.target.closest("button")));
    this.dialog.addEventListener("submit", () => this.save());
    this.dialog.addEventListener("close", () => (this.dialog.returnValue === "why" ? options.onWhy(nameOf(this.text, this.span)) : options.onClose()));
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.dialog.close(); });
  }

  /**
   * @param {object} about `text`, `state`, `types`, `range` { start, end }, `span` (null: a new one), `box` (a rectangle
   *   that the dialog is put beside, or null), `why` (whether origins are known), `label` (of a new one)
   */
  open({ text, state, types, range, span, box, why, label = null }) {
    Object.assign(this, { text, state, span, types, range: { start: range.start, end: range.end }, label: span?.label ?? label ?? types[0] });
    byId("editor-title").textContent = span ? "Correct an entity" : "Add an entity";
    byId("editor-save").textContent = span ? "Save" : "Add";
    byId("editor-delete").hidden = !span;
    byId("editor-why").hidden = !(span && why);
    byId("editor-all").checked = false;
    fill(byId("editor-types"), el("legend", { class: "small dim" }, "Type"), types.map((type, i) => el("label", { class: `choice ${this.options.hue(type)}` },
      el("input", { type: "radio", name: "type", value: type, checked: type === this.label, autofocus: i === 0, onchange: () => { this.label = type; this.draw(); } }),
      el("span", {}, type))));
    this.draw();
    this.dialog.returnValue = "";
    this.dialog.showModal();
    byId("editor-types").querySelector("input:checked").focus();
    this.place(box);
  }

  place(box) {
    const { style } = this.dialog;
    if (!box || innerWidth < 640) { style.left = style.top = ""; this.dialog.classList.remove("placed"); return; }
    this.dialog.classList.add("placed");
    const { width, height } = this.dialog.getBoundingClientRect();
    const below = box.bottom + 8, above = box.top - height - 8;
    style.left = `${Math.max(12, Math.min(box.left, innerWidth - width - 12))}px`;
    style.top = `${below + height < innerHeight - 12 || above < 12 ? Math.min(below, Math.max(12, innerHeight - height - 12)) : above}px`;
  }

  get name() { return plain(this.text.slice(this.range.start, this.range.end)); }

  draw() {
    const { text, range: { start, end } } = this;
    const before = text.slice(Math.max(0, start - CONTEXT), start), after = text.slice(end, end + CONTEXT);
    fill(byId("editor-text"), start > CONTEXT ? before.replace(/^\S*\s/u, "… ") : before,
      el("mark", { class: `entity ${this.options.hue(this.label)}`, dataset: { label: this.label } }, text.slice(start, end)),
      end + CONTEXT < text.length ? after.replace(/\s\S*$/u, " …") : after);
    const others = this.others().length;
    byId("editor-all-row").hidden = !others;
    byId("editor-all-label").textContent = `All ${others + 1} occurrences`;
    if (!others) byId("editor-all").checked = false;
  }

  nudge(button) {
    if (!button) return;
    const range = moved(this.text, this.range, button.dataset.edge, Number(button.dataset.step));
    if (range) { this.range = range; this.draw(); }
  }

  // The other places that "all occurrences" changes: spans of this name and type, or free places of the words.
  others() {
    const { text, state, span, range } = this;
    if (span) {
      const before = range.start - span.start, after = range.end - span.end, words = text.slice(range.start, range.end);
      return state.spans.filter((one) => one.id !== span.id && one.label === span.label && nameOf(text, one) === nameOf(text, span) &&
        (!before && !after || text.slice(one.start + before, one.end + after) === words));
    }
    return occurrences(text, text.slice(range.start, range.end)).filter((one) =>
      !overlap(one, range) && !state.spans.some((other) => overlap(other, one)));
  }

  save() {
    const { span, range, label, state } = this, all = byId("editor-all").checked;
    if (span && !all && span.label === label && span.start === range.start && span.end === range.end) return;
    let after = put(state, { ...range, label }, span);
    const others = all ? this.others() : [];
    if (span) {
      const before = range.start - span.start, behind = range.end - span.end;
      for (const one of others) after = put(after, { start: one.start + before, end: one.end + behind, label }, one);
    } else after = putAll(after, others.map((one) => ({ ...one, label })));
    this.options.onState(after, `${span ? "Corrected" : "Added"} ${this.count(others)}`);
  }

  remove() {
    const others = byId("editor-all").checked ? this.others() : [];
    const after = others.length ? dropAll(this.state, new Set([this.span, ...others].map(({ id }) => id))) : drop(this.state, this.span.id);
    this.dialog.close();
    this.options.onState(after, `Removed ${this.count(others)}`);
  }

  count(others) { return others.length ? `${this.name}, ${others.length + 1} times` : this.name; }
}
