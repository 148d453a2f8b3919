"use strict";
// The tables of the audit. Data are shown as text only (textContent), never as HTML.
(() => {
  const BUFFER = 12;        // rows that are made above and below the visible ones
  const PRINTED = 500;
  const MOST_SORTS = 3;     // rows that are equal in a column keep the order of the columns sorted by before
  const MOST_MARKED = 2000; // choices by hand that the address of the page holds
  const LEFT = 48;          // characters shown before a mention where lines are wrapped
  const DEFAULT_FROM = SURE;

  const $ = (id) => document.getElementById(id);
  const element = (tag, className, content) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (content !== undefined) made.textContent = content;
    return made;
  };
  const number = (value, digits) => value == null ? "" :
    value.toLocaleString("en", digits == null ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits });
  // Control characters become their pictures, so that they are seen.
  const visible = (value) => String(value ?? "").replace(/[\0-\x1f\x7f]/g,
    (c) => String.fromCharCode(c === "\x7f" ? 0x2421 : 0x2400 + c.charCodeAt(0)));
  const bdi = (value, className) => element("bdi", className, visible(value));
  const fold = (value) => value.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase();
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  // A mention in its sentence. `short`: characters before it that are shown at most.

  const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
  const space = (before, after) => {
    if (!before || !after || /\s$/.test(before) || /^\s/.test(after)) return "";
    if (/[([{\u201c\u2018\u00ab]$/.test(before) || /^[.,;:!?)\]}\u201d\u2019\u00bb]/.test(after)) return "";
    const [last] = [...before.slice(-2)].slice(-1), [first] = after;
    return UNSPACED.test(last) && UNSPACED.test(first) ? "" : " ";
  };
  const sentence = (left, mention, right) =>
    [left, space(left, mention), mention, space(mention, right), right].join("");
  const marked = (parent, [left, mention, right], short) => {
    left = left ?? ""; mention = mention ?? ""; right = right ?? "";
    let shown = left;
    if (short && left.length > short) {
      const cut = left.indexOf(" ", left.length - short);
      shown = "\u2026" + left.slice(cut < 0 ? left.length - short : cut + 1);
    }
    const whole = element("bdi");
    whole.append(visible(shown) + space(left, mention));
    const mark = element("mark");
    mark.append(bdi(mention));
    whole.append(mark, space(mention, right) + visible(right));
    parent.append(whole);
  };

  // The kinds of rows. A column has a title, a value to sort by (a number or a text) and what a cell shows.

  const place = (source, line) => line ? `${source}:${line}` : source ?? "";
  const score = (name, title, hint) => ({
    id: name, title, hint, number: true, className: name === "confidence" ? "score" : "",
    value: (t, i) => t[name][i], text: (t, i) => number(t[name][i], 2),
  });
  const plain = (name, title, className, hint) => ({
    id: name, title, hint, className, value: (t, i) => t[name][i] ?? "", text: (t, i) => t[name][i] ?? "",
  });
  const whole = (name, title, hint) => ({
    id: name, title, hint, number: true, className: "few", value: (t, i) => t[name][i], text: (t, i) => number(t[name][i]),
  });
  const example = (t, i) => (t.examples[i] ?? [])[0] ?? ["", "", ""];
  const examples = {
    id: "examples", title: "Example", className: "", value: (t, i) => sentence(...example(t, i)),
    text: (t, i) => sentence(...example(t, i)), show: (cell, t, i) => marked(cell, example(t, i), leftOf("examples")),
  };
  const proportion = (name, title) => ({
    id: name, title, className: "bar", value: (t, i) => t[name][i]?.value, number: true, left: true,
    text: (t, i) => {
      const of = t[name][i];
      return !of || of.value == null ? "" : of.low == null || of.high == null ? number(of.value, 2) :
        `${number(of.value, 2)} (${number(of.low, 2)} to ${number(of.high, 2)})`;
    },
    show: (cell, t, i) => {
      const of = t[name][i];
      if (!of || of.value == null) return;
      const range = element("span", "range"), bar = element("i"), interval = element("b");
      bar.style.width = `${100 * of.value}%`;
      range.append(bar);
      if (of.low != null && of.high != null) {
        interval.style.left = `${100 * of.low}%`;
        interval.style.width = `${100 * (of.high - of.low)}%`;
        range.append(interval);
      }
      cell.append(range, proportion(name, title).text(t, i));
    },
  });
  const NO_NAME = "not a name";
  const believed = (t, i) => {
    if (!t.believed[i]) return NO_NAME;
    const text = t.believed_text[i];
    return text && text !== t.text[i] ? `${t.believed[i]}: ${text}` : t.believed[i];
  };
  const suggestion = (t, i) => [t.longer[i], t.believed[i]].filter(Boolean).join(" ");

  const KINDS = {
    label: {
      title: "Labels believed wrong", short: "Labels", type: "given", about: ["Believed", (t, i) => t.believed[i] || NO_NAME],
      sources: (t, i) => (t.sources[i] ?? []).map((s) => s.source),
      mention: (t, i) => [t.left[i], t.text[i], t.right[i]],
      columns: [
        { id: "text", title: "Mention", className: "lead", value: (t, i) => t.text[i],
          text: (t, i) => sentence(t.left[i], t.text[i], t.right[i]),
          show: (cell, t, i) => marked(cell, KINDS.label.mention(t, i), leftOf("text")) },
        plain("given", "Label", "short sub"),
        { id: "believed", title: "Believed", className: "believed", value: believed, text: believed,
          show: (cell, t, i) => cell.append(bdi(believed(t, i), t.believed[i] ? "" : "bad")) },
        score("confidence", "Confidence", "that the label is wrong"),
        score("held_out", "Held out", "certainty of the label by the member that did not learn the name"),
        score("members", "Members", "certainty of the label by the mean of all members"),
        score("removed", "Removed", "how often label removal found the label wrong, beside the most doubted one"),
        { id: "sources", title: "Entry", className: "middle",
          value: (t, i) => (t.sources[i] ?? []).map((s) => `${s.entry} ${place(s.source, s.line)}`).join("; "),
          text: (t, i) => (t.sources[i] ?? []).map((s) => `${s.entry} (${place(s.source, s.line)})`).join("; ") },
        whole("sentence", "No.", "number of the sentence in the data"),
      ],
    },
    entry: {
      title: "Entries of the dictionary", short: "Entries", type: "label", about: ["Verdict", (t, i) => t.verdict[i]],
      sources: (t, i) => [t.source[i]],
      columns: [
        plain("entry", "Entry", "middle lead"), plain("label", "Type", "short"),
        { ...plain("verdict", "Verdict", "verdict sub"), show: (cell, t, i) => cell.append(
          bdi(t.verdict[i], t.verdict[i] === "right" ? "good" : t.verdict[i] === "wrong" ? "bad" : "")) },
        { id: "believed", title: "Believed", className: "believed", value: suggestion, text: suggestion },
        score("confidence", "Confidence", "of the verdict"),
        whole("labels", "Labels", "labels that the entry gave"),
        { ...whole("right", "Right", "how many of them are believed right"), text: (t, i) => number(t.right[i], 1) },
        { ...whole("wrong", "Wrong", "how many of them are believed wrong"), text: (t, i) => number(t.wrong[i], 1) },
        { id: "source", title: "Source", className: "middle", value: (t, i) => place(t.source[i], t.line[i]),
          text: (t, i) => place(t.source[i], t.line[i]) },
        examples,
      ],
    },
    name: {
      title: "Names that the dictionary lacks", short: "Names", type: "label",
      columns: [
        plain("name", "Name", "middle lead"), plain("label", "Type", "short sub"),
        whole("count", "Count", "how often the text has it"),
        score("confidence", "Confidence", "that it is a name of this type"), examples,
      ],
    },
    type: {
      title: "Types: how good the dictionary is", short: "Types", type: "label",
      columns: [
        plain("label", "Type", "short lead"), whole("labels", "Labels"),
        proportion("precision", "Precision of the labels"), proportion("recall", "Recall of the labels"),
      ],
    },
  };

  // Tables are parsed when they are opened, or when the patch needs them.

  const chunks = {}, tables = {};
  for (const kind in KINDS) chunks[kind] = [];
  for (const chunk of document.querySelectorAll("script.rows")) chunks[chunk.dataset.kind].push(chunk);
  const count = (kind) => tables[kind]?.n ?? chunks[kind].reduce((sum, chunk) => sum + Number(chunk.dataset.rows), 0);
  const table = (kind) => {
    if (tables[kind]) return tables[kind];
    const made = { n: 0 };
    for (const chunk of chunks[kind]) {
      const columns = JSON.parse(chunk.textContent), rows = Number(chunk.dataset.rows);
      for (const name in columns) {
        const of = columns[name], to = made[name] ??= [];
        if (Array.isArray(of)) for (let i = 0; i < rows; i++) to.push(of[i]);
        else for (let i = 0; i < rows; i++) to.push(of.of[of.at[i]]);
      }
      made.n += rows;
      chunk.remove();
    }
    if (kind !== "type" && made.n) made.byHand = new Int8Array(made.n); // 1 chosen, -1 not, 0 by confidence
    made.confidence ??= [];
    made.changes ??= [];
    return tables[kind] = made;
  };

  // State: for each table its filters, its order and the confidence from which rows are chosen.

  const fresh = () => ({ q: "", type: "", verdict: "", source: "", least: 0, sort: [], from: DEFAULT_FROM });
  const states = {};
  let tab = "label", shown = new Int32Array(0), active = 0, rowHeight = 35, open = false;
  for (const kind in KINDS) states[kind] = fresh();
  const state = () => states[tab];

  const ranges = (numbers) => numbers.map((n, i) => (i ? n - numbers[i - 1] : n).toString(36)).join(".");
  const unranged = (text) => {
    let sum = 0;
    return text.split(".").filter(Boolean).map((part) => sum += parseInt(part, 36));
  };
  const byHand = (kind, value) => {
    const found = [], of = tables[kind]?.byHand ?? [];
    for (let i = 0; i < of.length && found.length <= MOST_MARKED; i++) if (of[i] === value) found.push(i);
    return found;
  };
  const fragment = () => {
    const to = new URLSearchParams({ tab }), is = state(), base = fresh();
    for (const name of ["q", "type", "verdict", "source", "least"]) if (is[name] !== base[name]) to.set(name, is[name]);
    if (is.sort.length) to.set("sort", is.sort.map((s) => s.join(":")).join(","));
    for (const kind of ["label", "entry", "name"]) {
      if (states[kind].from !== DEFAULT_FROM) to.set(`${kind}.from`, states[kind].from);
      for (const [name, value] of [["yes", 1], ["no", -1]]) {
        const rows = pending[`${kind}.${name}`] ?? byHand(kind, value);
        if (rows.length && rows.length <= MOST_MARKED) to.set(`${kind}.${name}`, ranges(rows));
      }
    }
    return `#${to}`;
  };
  const pending = {}; // choices of tables that are not parsed yet
  const unit = (text, otherwise) => {
    const value = Number(text);
    return text !== null && text !== "" && value >= 0 && value <= 1 ? value : otherwise;
  };
  const restore = () => {
    const from = new URLSearchParams(location.hash.slice(1)), base = fresh();
    tab = Object.hasOwn(KINDS, from.get("tab")) ? from.get("tab") : firstTab();
    const is = states[tab];
    for (const name of ["q", "type", "verdict", "source"]) is[name] = from.get(name) ?? base[name];
    is.least = unit(from.get("least"), 0);
    is.sort = (from.get("sort") ?? "").split(",").map((s) => s.split(":"))
      .filter(([id]) => KINDS[tab].columns.some((c) => c.id === id))
      .map(([id, way]) => [id, way === "down" ? "down" : "up"]).slice(0, MOST_SORTS);
    for (const kind of ["label", "entry", "name"]) {
      states[kind].from = unit(from.get(`${kind}.from`), DEFAULT_FROM);
      tables[kind]?.byHand?.fill(0);
      for (const name of ["yes", "no"]) pending[`${kind}.${name}`] = unranged(from.get(`${kind}.${name}`) ?? "");
      if (tables[kind]) mark(kind);
    }
  };
  const mark = (kind) => {
    for (const [name, value] of [["yes", 1], ["no", -1]]) {
      for (const i of pending[`${kind}.${name}`] ?? []) if (tables[kind].changes[i]?.length) tables[kind].byHand[i] = value;
      delete pending[`${kind}.${name}`];
    }
  };
  const opened = (kind) => {
    const is = table(kind);
    if (is.byHand) mark(kind);
    return is;
  };
  const firstTab = () => Object.keys(KINDS).find((kind) => count(kind)) ?? "label";
  let written = "";
  const remember = () => {
    written = fragment();
    if (location.hash !== written) history.replaceState(null, "", written);
  };

  // Order and filters.

  const column = (id) => KINDS[tab].columns.find((c) => c.id === id);
  const keys = (kind, of) => { // numbers in the order of the values, NaN for none
    const t = table(kind), cached = (t.keys ??= {})[of.id];
    if (cached) return cached;
    const result = new Float64Array(t.n);
    if (of.number) {
      for (let i = 0; i < t.n; i++) result[i] = of.value(t, i) ?? NaN;
    } else {
      const values = Array.from({ length: t.n }, (_, i) => of.value(t, i) ?? "");
      const distinct = [...new Set(values)].sort((a, b) => collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0));
      const rank = new Map(distinct.map((value, i) => [value, i]));
      for (let i = 0; i < t.n; i++) result[i] = values[i] === "" ? NaN : rank.get(values[i]);
    }
    return t.keys[of.id] = result;
  };
  const order = () => {
    const t = table(tab), by = state().sort.map(([id, way]) => [keys(tab, column(id)), way === "down" ? -1 : 1]);
    const name = state().sort.join();
    if (t.orderName === name) return t.order;
    const rows = Int32Array.from({ length: t.n }, (_, i) => i);
    if (by.length) {
      rows.sort((a, b) => {
        for (const [key, way] of by) {
          const x = key[a], y = key[b];
          if (x === y) continue;
          if (x !== x || y !== y) { // none: at the end, whatever the direction
            if (x === x) return -1;
            if (y === y) return 1;
            continue;
          }
          return x < y ? -way : way;
        }
        return a - b;
      });
    }
    t.orderName = name;
    return t.order = rows;
  };
  const haystack = (kind) => { // all text of each row, without accents and case
    const t = table(kind);
    if (t.hay) return t.hay;
    const columns = KINDS[kind].columns.filter((c) => !c.number && c !== examples), found = [];
    for (let at = 0; at < t.n; at += 1000) {
      const part = [];
      for (let i = at; i < Math.min(at + 1000, t.n); i++) {
        const texts = columns.map((c) => c.text(t, i));
        for (const one of t.examples?.[i] ?? []) texts.push(sentence(...one));
        part.push(texts.join(" ").replaceAll("\u0001", " "));
      }
      found.push(...fold(part.join("\u0001")).split("\u0001"));
    }
    return t.hay = found;
  };
  const apply = () => {
    const t = opened(tab), is = state(), kind = KINDS[tab], rows = order();
    const words = fold(is.q).split(/\s+/).filter(Boolean), hay = words.length ? haystack(tab) : null;
    const types = t[kind.type], result = new Int32Array(t.n);
    let n = 0;
    for (let k = 0; k < rows.length; k++) {
      const i = rows[k];
      if (is.least > 0 && !(t.confidence[i] >= is.least)) continue;
      if (is.type && !types[i].split(",").includes(is.type)) continue;
      if (is.verdict && kind.about && kind.about[1](t, i) !== is.verdict) continue;
      if (is.source && !kind.sources?.(t, i).includes(is.source)) continue;
      if (hay && !words.every((word) => hay[i].includes(word))) continue;
      result[n++] = i;
    }
    shown = result.subarray(0, n);
    active = Math.min(active, Math.max(n - 1, 0));
  };

  // Drawing.

  const phone = matchMedia("(max-width: 47rem)");
  const leftOf = (id) => { // a third of the column
    if (phone.matches || matchMedia("print").matches) return LEFT;
    const width = $("table").tHead.querySelector(`[data-column="${id}"]`)?.parentElement.clientWidth ?? 0;
    return Math.max(8, Math.floor(width / 22));
  };
  const chosen = (kind, i) => {
    const t = tables[kind];
    if (!t.byHand || !t.changes[i].length) return false;
    return t.byHand[i] ? t.byHand[i] > 0 : t.default[i] === 1 && t.confidence[i] >= states[kind].from;
  };
  const rowOf = (k) => {
    const t = tables[tab], i = shown[k], row = element("tr", k === active ? "active" : "");
    row.id = `row-${i}`;
    row.setAttribute("aria-rowindex", k + 2);
    row.setAttribute("aria-selected", String(k === active));
    row.dataset.k = k;
    if (tab !== "type") {
      const cell = element("td", "check");
      if (t.changes[i].length) {
        const box = element("input");
        box.type = "checkbox";
        box.tabIndex = -1;
        box.checked = chosen(tab, i);
        box.setAttribute("aria-label", `Choose: ${t.changes[i].join("; ").replaceAll("\t", " ")}`);
        cell.append(box);
      }
      row.append(cell);
    }
    for (const of of KINDS[tab].columns) {
      const cell = element("td", `${of.number && !of.left ? "number" : ""} ${of.className ?? ""}`);
      cell.dataset.title = of.title;
      if (phone.matches && of.className?.includes("sub")) {
        subline(cell, t, i);
      } else if (of.show) {
        of.show(cell, t, i);
      } else {
        cell.append(of.number ? of.text(t, i) : bdi(of.text(t, i)));
      }
      row.append(cell);
    }
    return row;
  };
  const subline = (cell, t, i) => { // on a narrow screen: type, and what the audit says, in one line
    cell.append(bdi(t[KINDS[tab].type][i], "dim"));
    if (tab === "label") cell.append(" \u2192 ", bdi(believed(t, i), t.believed[i] ? "" : "bad"));
    if (tab === "entry") cell.append(" ", bdi([t.verdict[i], suggestion(t, i)].filter(Boolean).join(": ")));
    if (tab === "name") cell.append(` ${number(t.count[i])}`);
  };
  const spacer = (rows) => {
    const row = element("tr", "space"), cell = element("td");
    row.setAttribute("aria-hidden", "true");
    cell.colSpan = KINDS[tab].columns.length + 1;
    cell.style.height = `${rows * rowHeight}px`;
    row.append(cell);
    return row;
  };
  let drawn = [-1, -1];
  const draw = (force) => {
    const box = $("scroller"), body = $("table").tBodies[0];
    const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - BUFFER);
    const last = Math.min(shown.length, Math.ceil((box.scrollTop + box.clientHeight) / rowHeight) + BUFFER);
    if (!force && first === drawn[0] && last === drawn[1]) return;
    drawn = [first, last];
    const rows = [];
    for (let k = first; k < last; k++) rows.push(rowOf(k));
    body.replaceChildren(spacer(first), ...rows, spacer(shown.length - last));
    if (shown.length) $("table").setAttribute("aria-activedescendant", `row-${shown[active]}`);
    else $("table").removeAttribute("aria-activedescendant");
    const height = rows[0]?.getBoundingClientRect().height;
    if (height && Math.abs(height - rowHeight) > 0.5) { // another font or width
      rowHeight = height;
      draw(true);
    }
  };
  const head = () => {
    const row = element("tr");
    row.setAttribute("aria-rowindex", 1);
    if (tab !== "type") {
      const th = element("th", "check");
      th.setAttribute("aria-label", "Chosen for the patch");
      row.append(th);
    }
    const sorts = state().sort;
    for (const of of KINDS[tab].columns) {
      const th = element("th", `${of.number && !of.left ? "number" : ""} ${of.className ?? ""}`), button = element("button", "", of.title);
      th.scope = "col";
      button.type = "button";
      button.dataset.column = of.id;
      if (of.hint) th.title = of.hint;
      if (sorts[0]?.[0] === of.id) th.setAttribute("aria-sort", sorts[0][1] === "down" ? "descending" : "ascending");
      th.append(button);
      row.append(th);
    }
    const focused = document.activeElement?.dataset?.column;
    $("table").tHead.replaceChildren(row);
    if (focused) row.querySelector(`[data-column="${focused}"]`)?.focus();
    $("table").setAttribute("aria-rowcount", shown.length + 1);
    $("table").setAttribute("aria-label", KINDS[tab].title);
    $("table").className = tab === "type" ? "types" : "";
  };
  const tabs = () => {
    $("tabs").replaceChildren(...Object.keys(KINDS).map((kind) => {
      const button = element("button");
      for (const [name, title] of [["long-title", KINDS[kind].title], ["short-title", KINDS[kind].short]]) {
        button.append(element("span", name, `${title} (${number(count(kind))})`));
      }
      button.type = "button";
      button.id = `tab-${kind}`;
      button.dataset.kind = kind;
      button.setAttribute("role", "tab");
      button.setAttribute("aria-selected", String(kind === tab));
      button.setAttribute("aria-controls", "panel");
      button.tabIndex = kind === tab ? 0 : -1;
      return button;
    }));
    $("panel").setAttribute("aria-labelledby", `tab-${tab}`);
  };
  const options = (select, values, all, now) => {
    const counts = new Map();
    for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
    const first = element("option", "", all);
    first.value = "";
    const rest = [...counts].sort((a, b) => collator.compare(a[0], b[0])).map(([value, n]) => {
      const option = element("option", "", `${visible(value)} (${number(n)})`);
      option.value = value;
      return option;
    });
    select.replaceChildren(first, ...rest);
    select.value = counts.has(now) ? now : "";
    return counts.size;
  };
  const values = function* (t, of) { for (let i = 0; i < t.n; i++) yield* of(i); };
  const controls = () => {
    const t = opened(tab), kind = KINDS[tab], is = state();
    if ($("search").value !== is.q) $("search").value = is.q;
    options($("type"), values(t, (i) => new Set(t[kind.type][i].split(","))), "all", is.type);
    $("type-filter").hidden = tab === "type";
    $("verdict-filter").hidden = !kind.about;
    if (kind.about) {
      $("verdict-filter").firstElementChild.textContent = kind.about[0];
      options($("verdict"), values(t, (i) => [kind.about[1](t, i)]), "all", is.verdict);
    }
    $("source-filter").hidden = !kind.sources;
    if (kind.sources) options($("source"), values(t, (i) => new Set(kind.sources(t, i))), "all", is.source);
    $("least-filter").hidden = tab === "type";
    $("least").value = $("least-number").value = is.least;
    $("from").value = $("from-number").value = is.from;
    $("clear").hidden = $("choices").hidden = tab === "type";
    $("from-choice").hidden = tab === "label";
    $("by-hand").hidden = tab !== "label";
  };
  const counts = () => {
    const n = table(tab).n;
    $("count").textContent = shown.length === n ? `${number(n)} rows` : `${number(shown.length)} of ${number(n)} rows`;
    clearTimeout(counting);
    counting = setTimeout(countPatch, 50);
  };
  let counting = 0;
  const countPatch = () => { // later, because it reads all tables
    const lines = patch().lines.length;
    $("save").textContent = `Save patch (${number(lines)} ${lines === 1 ? "change" : "changes"})`;
    $("save").disabled = !lines;
    document.documentElement.dataset.ready = "";
  };
  const details = () => {
    const box = $("details");
    box.hidden = !open || !shown.length;
    if (box.hidden) return;
    const t = tables[tab], i = shown[active], list = element("dl");
    const add = (title, wide, ...content) => {
      const pair = element("div", wide ? "wide" : ""), dd = element("dd");
      dd.append(...content);
      pair.append(element("dt", "", title), dd);
      list.append(pair);
    };
    for (const of of KINDS[tab].columns) {
      if (of === examples) continue;
      const text = of.text(t, i);
      if (text === "") continue;
      if (of.id === "text") {
        const whole = element("span");
        marked(whole, KINDS.label.mention(t, i));
        add("Sentence", true, whole);
      } else add(of.title, false, bdi(text));
    }
    if (t.examples?.[i]?.length) {
      const rows = element("ul");
      for (const one of t.examples[i]) {
        const item = element("li");
        marked(item, one);
        rows.append(item);
      }
      add("Examples", true, rows);
    }
    if (t.changes[i]?.length) add("Change", true, ...t.changes[i].map((line) => element("div", "", line.replaceAll("\t", " "))));
    const close = element("button", "close no-print", "Close");
    close.type = "button";
    box.replaceChildren(close, list);
  };
  const refresh = (top) => {
    apply();
    if (top) { active = 0; $("scroller").scrollTop = 0; }
    head();
    draw(true);
    details();
    counts();
    remember();
  };
  const openTab = (kind) => {
    tab = kind;
    active = 0;
    drawn = [-1, -1];
    tabs();
    controls();
    refresh(true);
  };
  const select = (k) => {
    if (!shown.length) return;
    active = Math.max(0, Math.min(k, shown.length - 1));
    const box = $("scroller"), headHeight = $("table").tHead.offsetHeight, top = active * rowHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + rowHeight + headHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = top + rowHeight + headHeight - box.clientHeight;
    }
    draw(true);
    details();
  };
  const choose = (k, value) => {
    const t = tables[tab], i = shown[k];
    if (!t.byHand || !t.changes[i]?.length) return;
    t.byHand[i] = value ? 1 : -1;
    draw(true);
    counts();
    remember();
  };

  // The patch.

  // As `contradict` of roster.distant.entries.patch.
  const contradict = (a, b) => {
    const [x, y] = [a, b].sort((p, q) => p[0] < q[0] ? -1 : p[0] > q[0] ? 1 : 0), pair = `${x[0]} ${y[0]}`;
    if (pair === "add deny" || pair === "deny retype") return true;
    if (pair === "add remove" || pair === "add retype") return x[2] === y[2];
    if (pair === "remove retype") return x[2] === "" || x[2] === y[2];
    return pair === "retype retype" && x[2] === y[2] && x[3] !== y[3];
  };
  const clean = (value) => String(value ?? "").replace(/[\p{Cc}\s]+/gu, " ").trim();
  const remarks = (kind, t, i) => [
    t.confidence[i] == null ? "" : `confidence ${number(t.confidence[i], 2)}`,
    kind === "entry" ? `${t.verdict[i]}, ${number(t.labels[i])} labels` : "",
    kind === "name" ? `${number(t.count[i])} in the text` : "",
    kind === "label" ? `sentence ${t.sentence[i]}` : "",
    kind === "entry" ? place(t.source[i], t.line[i]) : "",
  ].filter(Boolean).map(clean);
  const patch = () => { // what is chosen; of changes that contradict each other, the first
    const known = new Map(), lines = [], refused = [];
    for (const kind of ["entry", "name", "label"]) {
      const t = opened(kind);
      for (let i = 0; i < t.n; i++) {
        if (!chosen(kind, i)) continue;
        for (const line of t.changes[i]) {
          const change = line.split("\t"), name = change[1].normalize("NFC"), others = known.get(name) ?? [];
          if (others.some((other) => other.join("\t") === change.join("\t"))) continue;
          if (others.some((other) => contradict(other, change))) refused.push(line);
          else {
            known.set(name, [...others, change]);
            lines.push([line, ...remarks(kind, t, i)].join("\t"));
          }
        }
      }
    }
    return { lines, refused };
  };
  const save = () => {
    const { lines, refused } = patch();
    const from = $("facts").textContent;
    const top = ["# Changes of dictionaries, for `roster label --patch`", `# ${clean(from)}`, `# ${lines.length} changes`];
    const last = refused.map((line) => `# contradicts a line above: ${clean(line)}`);
    download("dictionary.patch", [...top, ...lines, ...last].join("\n") + "\n", "text/plain");
    $("done").textContent = refused.length ? `${refused.length} changes contradict others and are comments in the file.` : "Saved.";
  };
  const rowsAsText = () => {
    const t = tables[tab], columns = KINDS[tab].columns, out = [columns.map((c) => c.title).join("\t")];
    const raw = (c, i) => c.number && !c.left ? c.value(t, i) : c.text(t, i);
    for (const i of shown) out.push(columns.map((c) => clean(raw(c, i))).join("\t"));
    return out.join("\n") + "\n";
  };
  const download = (name, content, type) => {
    const link = element("a"), url = URL.createObjectURL(new Blob([content], { type: `${type};charset=utf-8` }));
    link.href = url;
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  };
  const copy = async () => {
    const content = rowsAsText();
    try {
      await navigator.clipboard.writeText(content);
    } catch { // not allowed for this page
      const area = element("textarea", "", content);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    $("done").textContent = `${number(shown.length)} rows copied.`;
  };

  // Input.

  let timer = 0;
  const soon = (action) => { clearTimeout(timer); timer = setTimeout(action, 60); };
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("search").addEventListener("input", () => { state().q = $("search").value; soon(() => refresh(true)); });
  for (const name of ["type", "verdict", "source"]) {
    $(name).addEventListener("change", () => { state()[name] = $(name).value; refresh(true); });
  }
  const pairOf = (slider, field, name, action) => {
    const set = (value, other) => {
      if (Number.isNaN(value) || value < 0 || value > 1) return;
      state()[name] = value;
      other.value = value;
      soon(action);
    };
    slider.addEventListener("input", () => set(slider.valueAsNumber, field));
    field.addEventListener("input", () => set(field.valueAsNumber, slider));
  };
  pairOf($("least"), $("least-number"), "least", () => refresh(true));
  pairOf($("from"), $("from-number"), "from", () => { draw(true); counts(); remember(); });
  $("clear").addEventListener("click", () => {
    Object.assign(state(), { ...fresh(), sort: state().sort, from: state().from });
    controls();
    refresh(true);
  });
  $("more").addEventListener("click", () => {
    const isOpen = $("filters").classList.toggle("open");
    $("more").setAttribute("aria-expanded", String(isOpen));
  });
  $("tabs").addEventListener("click", (event) => {
    const kind = event.target.closest("button")?.dataset.kind;
    if (kind) { openTab(kind); $(`tab-${kind}`).focus(); }
  });
  $("tabs").addEventListener("keydown", (event) => {
    const all = Object.keys(KINDS), at = all.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    openTab(all[(to + all.length) % all.length]);
    $(`tab-${tab}`).focus();
  });
  $("table").tHead.addEventListener("click", (event) => {
    const id = event.target.closest("button")?.dataset.column;
    if (!id) return;
    const sorts = state().sort, is = column(id);
    const way = sorts[0]?.[0] === id ? (sorts[0][1] === "down" ? "up" : "down") : is.number ? "down" : "up";
    state().sort = [[id, way], ...sorts.filter(([other]) => other !== id)].slice(0, MOST_SORTS);
    refresh(true);
  });
  $("table").tBodies[0].addEventListener("click", (event) => {
    const k = event.target.closest("tr")?.dataset.k;
    if (k === undefined) return;
    if (event.target.type === "checkbox") { active = Number(k); choose(active, event.target.checked); return; }
    if (getSelection().toString()) return;
    open = !(open && active === Number(k));
    select(Number(k));
  });
  $("table").addEventListener("keydown", (event) => {
    if (event.target !== $("table")) return;
    const page = Math.max(1, Math.floor($("scroller").clientHeight / rowHeight) - 1);
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page,
      Home: 0, End: shown.length - 1 }[event.key];
    if (to !== undefined) select(to);
    else if (event.key === " " && shown.length) choose(active, !chosen(tab, shown[active]));
    else if (event.key === "Enter") { open = !open; details(); draw(true); }
    else if (event.key === "Escape") { open = false; details(); draw(true); }
    else return;
    event.preventDefault();
  });
  $("details").addEventListener("click", (event) => {
    if (event.target.closest(".close")) { open = false; details(); draw(true); $("table").focus(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) {
      event.preventDefault();
      $("search").focus();
    }
  });
  for (const [id, value] of [["all", 1], ["none", -1]]) {
    $(id).addEventListener("click", () => {
      const t = tables[tab];
      if (!t.byHand) return;
      for (const i of shown) if (t.changes[i].length) t.byHand[i] = value;
      draw(true);
      counts();
      remember();
    });
  }
  $("save").addEventListener("click", save);
  $("copy").addEventListener("click", copy);
  $("export").addEventListener("click", () => {
    download(`${tab}.tsv`, rowsAsText(), "text/tab-separated-values");
    $("done").textContent = `${number(shown.length)} rows exported.`;
  });
  let frame = 0;
  $("scroller").addEventListener("scroll", () => {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(false); });
  }, { passive: true });
  addEventListener("resize", () => { rowHeight = 35; draw(true); });
  addEventListener("hashchange", () => {
    if (location.hash === written) return;
    restore();
    openTab(tab);
  });
  addEventListener("beforeprint", () => {
    const n = Math.min(shown.length, PRINTED);
    $("table").tBodies[0].replaceChildren(...Array.from({ length: n }, (_, k) => rowOf(k)));
    $("printed").textContent = `${KINDS[tab].title}: ` +
      (n < shown.length ? `the first ${number(n)} of ${number(shown.length)} rows` : `${number(n)} rows`);
  });
  addEventListener("afterprint", () => { $("printed").textContent = ""; draw(true); });

  restore();
  openTab(tab);
})();
