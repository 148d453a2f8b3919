// The table of names: sorted, filtered, and drawn a part at a time.

import { el, fill, number } from "./dom.js";

const SHOWN = 200;
const COLLATOR = new Intl.Collator("en", { sensitivity: "base", numeric: true });
const BY = {
  name: (a, b) => COLLATOR.compare(a.name, b.name),
  label: (a, b) => COLLATOR.compare(a.label, b.label),
  count: (a, b) => a.count - b.count,
  score: (a, b) => (a.score ?? 2) - (b.score ?? 2),
};

export class Names {
  /**
   * @param {object} parts elements: `table`, `filter`, `more`, `count`
   * @param {object} options `hue(label)`, `onJump(row)`, `onWhy(row)` (null: no such button)
   */
  constructor(parts, options) {
    Object.assign(this, parts, { options, rows: [], sort: "count", way: -1, shown: SHOWN });
    this.filter.addEventListener("input", () => { this.shown = SHOWN; this.draw(); });
    this.more.addEventListener("click", () => { this.shown += 5 * SHOWN; this.draw(); });
    this.table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th[data-column]");
      if (head) this.sortBy(head.dataset.column);
    });
  }

  /** Other rows, as `counts` of spans.js makes them. */
  set(rows) {
    this.rows = rows;
    this.draw();
  }

  sortBy(column) {
    this.way = this.sort === column ? -this.way : column === "count" || column === "score" ? -1 : 1;
    this.sort = column;
    for (const head of this.table.tHead.querySelectorAll("th[data-column]")) {
      if (head.dataset.column === column) head.setAttribute("aria-sort", this.way > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    this.draw();
  }

  draw() {
    const wanted = this.filter.value.trim().toLowerCase();
    const some = wanted ? this.rows.filter(({ name, label }) => `${name}\t${label}`.toLowerCase().includes(wanted)) : [...this.rows];
    some.sort((a, b) => this.way * BY[this.sort](a, b) || BY.name(a, b));
    const focused = document.activeElement?.closest?.("tr")?.dataset.key;
    fill(this.table.tBodies[0], some.slice(0, this.shown).map((row) => this.line(row)));
    this.more.hidden = some.length <= this.shown;
    this.count.textContent = some.length === 1 ? "1 name" : `${number(some.length)} names`;
    if (focused !== undefined) [...this.table.tBodies[0].rows].find((line) => line.dataset.key === focused)?.querySelector("button")?.focus();
  }

  line(row) {
    const { hue, onJump, onWhy } = this.options;
    return el("tr", { dataset: { key: row.key } },
      el("td", {}, el("button", { type: "button", class: "name", onclick: () => onJump(row) }, el("bdi", {}, row.name)),
        row.edited && el("span", { class: "edited", title: "corrected" }, "✎", el("span", { class: "sr-only" }, " corrected"))),
      el("td", {}, el("span", { class: `tag ${hue(row.label)}` }, row.label)),
      el("td", { class: "number" }, number(row.count)),
      el("td", { class: "number" }, row.score === null ? "–" : row.score.toFixed(2)),
      el("td", { class: "why" }, onWhy && el("button", { type: "button", class: "link small", "aria-label": `Why ${row.name}?`, onclick: () => onWhy(row) }, "Why?")));
  }
}
