// The text with its entities. A long text is drawn in blocks: all have their text, and those near the screen have
// their entities too, so that the page stays quick and the browser's own search works.
//
//   const view = new View(element, { describe, onOpen, onSelect, onRemove, onUndo })
//   view.setText(text); view.setSpans(spans)    draw; `setSpans` keeps the place and the focus
//   view.show(span), view.showRange(start, end)  scroll to a place, and select it
//   view.current()                               the span or the words under the cursor

import { el, fill } from "./dom.js";
import { firstAfter } from "./spans.js";
import { pieces } from "./split.js";

const BLOCK = 1600;
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’\-][\p{L}\p{M}\p{N}]+)*|[^\s\p{L}\p{M}\p{N}]/gu;
const LINE = 80;
const AT_FIRST = 3; // blocks that are drawn before the browser tells which are near the screen

export class View {
  /**
   * @param {Element} root the focusable element that gets the text
   * @param {object} options `describe(span)`: { hue, label, name } of a span; `onOpen(span)`; `onSelect({ start, end })`:
   *   words were chosen for a new entity; `onRemove(span)`
   */
  constructor(root, options) {
    Object.assign(this, { root, options, text: "", spans: [], blocks: [], cursor: null, version: 0 });
    this.near = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const block = this.blocks[target.dataset.number];
        if (!block || block.node !== target) continue;
        block.near = isIntersecting;
        if (isIntersecting) this.draw(block);
      }
    }, { rootMargin: "600px 0px" });
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("click", (event) => this.click(event));
    root.addEventListener("dragstart", (event) => event.preventDefault());
    root.addEventListener("pointerdown", ({ target }) => {
      // In Chromium, no selection begins in an element that takes the focus by the same press.
      const mark = target.closest(".entity");
      mark?.removeAttribute("tabindex");
      if (mark) addEventListener("pointerup", () => { mark.tabIndex = -1; }, { once: true });
    });
    root.addEventListener("pointerup", (event) => { if (event.pointerType !== "touch") this.selected(); });
    addEventListener("beforeprint", () => this.blocks.forEach((block) => this.draw(block)));
  }

  /** Another text, without entities. */
  setText(text) {
    this.near.disconnect();
    Object.assign(this, { text, spans: [], cursor: null });
    this.version++;
    this.blocks = pieces(text, BLOCK).map(({ start, end }, number) => {
      const node = el("div", { class: "block", dataset: { number } }, text.slice(start, end));
      const lines = text.slice(start, end).split("\n").reduce((sum, line) => sum + 1 + Math.floor(line.length / LINE), 0);
      node.style.containIntrinsicSize = `auto ${Math.round(lines * 1.9)}rem`;
      return { start, end, node, version: this.version, near: number < AT_FIRST };
    });
    fill(this.root, this.blocks.map(({ node }) => node));
    for (const { node } of this.blocks) this.near.observe(node);
  }

  /** Other entities in the same text, in order. */
  setSpans(spans) {
    const focused = document.activeElement?.closest?.(".entity");
    const id = focused && this.root.contains(focused) ? Number(focused.dataset.id) : null;
    this.spans = spans;
    this.version++;
    for (const block of this.blocks) if (block.near) this.draw(block);
    if (id !== null && !this.focus(spans.find((span) => span.id === id))) this.root.focus({ preventScroll: true });
  }

  blockAt(offset) {
    let low = 0, high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.blocks[middle].end <= offset) low = middle + 1; else high = middle;
    }
    return this.blocks[low];
  }

  // A span that begins in a block and ends in the next is drawn in both, as two parts.
  draw(block) {
    if (block.version === this.version) return;
    block.version = this.version;
    const parts = [];
    let at = block.start;
    for (let i = firstAfter(this.spans, block.start); i < this.spans.length && this.spans[i].start < block.end; i++) {
      const span = this.spans[i], start = Math.max(span.start, block.start), end = Math.min(span.end, block.end);
      if (start > at) parts.push(this.text.slice(at, start));
      parts.push(this.mark(span, this.text.slice(start, end), end === span.end));
      at = end;
    }
    if (at < block.end) parts.push(this.text.slice(at, block.end));
    fill(block.node, parts);
  }

  mark(span, words, isEnd) {
    const { hue, label, name } = this.options.describe(span);
    return el("mark", {
      class: `entity ${hue}${span.by === "person" ? " own" : ""}`, role: "button", tabIndex: -1, "aria-label": name,
      dataset: { id: span.id, label: isEnd ? label : "" },
    }, words);
  }

  markOf(span) {
    this.draw(this.blockAt(span.start));
    return this.blockAt(span.start).node.querySelector(`[data-id="${span.id}"]`);
  }

  focus(span) {
    const mark = span && this.markOf(span);
    mark?.focus({ preventScroll: true });
    return mark;
  }

  /** Scrolls to a span and moves the focus to it. */
  show(span) {
    this.cursor = { start: span.start, end: span.end };
    this.blockAt(span.start).node.scrollIntoView({ block: "nearest" });
    const mark = this.focus(span);
    mark?.scrollIntoView({ block: "center" });
    return mark;
  }

  /** Selects some characters, as a person would. */
  select(start, end) {
    const [first, from] = this.point(start), [last, to] = this.point(end);
    getSelection().setBaseAndExtent(first, from, last, to);
    const box = getSelection().getRangeAt(0).getBoundingClientRect();
    if (box.top < 80 || box.bottom > innerHeight - 20) first.parentElement.scrollIntoView({ block: "center" });
  }

  point(offset) {
    const block = this.blockAt(Math.max(0, Math.min(offset, this.text.length - 1)));
    const walker = document.createTreeWalker(block.node, NodeFilter.SHOW_TEXT);
    let left = offset - block.start, node = walker.nextNode();
    while (node && left > node.length) {
      left -= node.length;
      node = walker.nextNode() ?? node;
      if (node === walker.currentNode && left > node.length && !walker.nextNode()) break;
    }
    return node ? [node, Math.min(left, node.length)] : [block.node, 0];
  }

  offsetOf(node, offset) {
    const block = (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest(".block");
    if (!block || !this.root.contains(block)) return null;
    const range = document.createRange();
    range.setStart(block, 0);
    range.setEnd(node, offset);
    return this.blocks[block.dataset.number].start + range.toString().length;
  }

  /** The offsets of the browser's selection, if it lies in the text. */
  selection() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const start = this.offsetOf(range.startContainer, range.startOffset);
    const end = this.offsetOf(range.endContainer, range.endOffset);
    return start !== null && end !== null && start < end ? { start, end } : null;
  }

  spanAt(range) {
    const span = range && this.spans[firstAfter(this.spans, range.start)];
    return span && span.start < range.end ? span : null;
  }

  selected() {
    const range = this.selection();
    if (range) { this.cursor = range; this.options.onSelect(range, false); }
  }

  click(event) {
    const mark = event.target.closest(".entity");
    if (!mark || this.selection()) return;
    const span = this.spans.find(({ id }) => id === Number(mark.dataset.id));
    if (span) { this.cursor = { start: span.start, end: span.end }; this.options.onOpen(span); }
  }

  // The words around a place, of the blocks beside it.
  word(from, step) {
    const low = Math.max(0, from - 300), high = Math.min(this.text.length, from + 300);
    const all = [...this.text.slice(low, high).matchAll(WORD)].map((m) => ({ start: low + m.index, end: low + m.index + m[0].length }));
    return step > 0 ? all.find(({ start }) => start >= from) : all.findLast(({ end }) => end <= from);
  }

  /** Moves the cursor by a word or, with `extend`, its end. */
  move(step, extend) {
    const now = this.cursor ?? { start: 0, end: 0 };
    const inside = !extend && this.spanAt(now);
    const from = inside ?? now;
    if (extend) {
      const anchor = this.anchor ?? (this.anchor = { ...now });
      const forward = now.end > anchor.end || (now.start === anchor.start && step > 0);
      if (step > 0 && forward) this.cursor = { start: now.start, end: this.word(now.end, 1)?.end ?? now.end };
      else if (step > 0) this.cursor = { start: Math.min(this.word(now.start + 1, 1)?.start ?? now.start, anchor.start), end: now.end };
      else if (now.end > anchor.end) this.cursor = { start: now.start, end: Math.max(this.word(now.end - 1, -1)?.end ?? now.end, anchor.end) };
      else this.cursor = { start: this.word(now.start, -1)?.start ?? now.start, end: now.end };
    } else {
      this.anchor = null;
      this.cursor = this.word(step > 0 ? from.end : from.start, step) ?? now;
    }
    const span = extend ? null : this.spanAt(this.cursor);
    if (span) { this.show(span); getSelection().removeAllRanges(); this.cursor = { start: span.start, end: span.end }; }
    else { this.root.focus({ preventScroll: true }); this.select(this.cursor.start, this.cursor.end); }
  }

  jump(step) {
    if (!this.spans.length) return;
    const at = this.cursor ?? { start: -1, end: -1 };
    const place = step > 0 ? this.spans.findIndex(({ start }) => start > at.start) : this.spans.findLastIndex(({ start }) => start < at.start);
    const span = this.spans[place < 0 ? (step > 0 ? 0 : this.spans.length - 1) : place];
    this.anchor = null;
    getSelection().removeAllRanges();
    this.show(span);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const focused = event.target.closest(".entity");
    const span = focused ? this.spans.find(({ id }) => id === Number(focused.dataset.id)) : null;
    if (span) this.cursor ??= { start: span.start, end: span.end };
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) this.move(step, event.shiftKey);
    else if (event.key === "n") this.jump(1);
    else if (event.key === "p") this.jump(-1);
    else if (event.key === "Enter" || (event.key === " " && span)) {
      if (span) this.options.onOpen(span);
      else if (this.selection() ?? this.cursor) this.options.onSelect(this.selection() ?? this.cursor, true);
      else return;
    } else if ((event.key === "Delete" || event.key === "Backspace") && span) this.options.onRemove(span);
    else return;
    event.preventDefault();
  }
}
