// Random corrections; the result lists what is wrong with the states after them. `m` is spans.js.
(seed) => {
  let x = seed;
  const draw = (n) => { x = (x * 1103515245 + 12345) % 2147483648; return Math.floor(x / 65536) % n; };
  const found = [];
  for (let at = draw(5); at < 90; at += 3 + draw(8)) found.push({ start: at, end: at + 1 + draw(4), label: "AB"[draw(2)], score: 0.5 });
  let h = m.history(m.begin(found));
  const states = [JSON.stringify(h.state)], wrong = [];
  for (let i = 0; i < 40; i++) {
    const { state } = h, span = state.spans[draw(Math.max(1, state.spans.length))], start = draw(90);
    const range = { start, end: start + 1 + draw(9), label: "ABC"[draw(3)] };
    const after = draw(3) === 0 && span ? m.drop(state, span.id) : draw(2) && span ? m.put(state, range, span) : m.put(state, range);
    h = m.next(h, after);
    if (JSON.stringify(state) !== states.at(-1)) wrong.push("a state was changed");
    states.push(JSON.stringify(after));
    after.spans.forEach((one, k) => { if (k && after.spans[k - 1].end > one.start) wrong.push(`overlap at ${k}`); });
    if (new Set(after.spans.map(({ id }) => id)).size !== after.spans.length) wrong.push("an id twice");
    // Every span of the model is there, was replaced, or was removed, and only once.
    const places = [...after.spans.filter((s) => s.by === "model"), ...after.spans.filter((s) => s.was).map((s) => s.was), ...after.removed].map((s) => s.start);
    const all = JSON.parse(states[0]).spans.map((s) => s.start);
    if (JSON.stringify([...places].sort((a, b) => a - b)) !== JSON.stringify(all)) wrong.push(`model spans ${places} of ${all}`);
  }
  for (let i = states.length - 1; i > 0; i--) { h = m.undo(h); if (JSON.stringify(h.state) !== states[i - 1]) wrong.push("undo"); }
  for (let i = 1; i < states.length; i++) { h = m.redo(h); if (JSON.stringify(h.state) !== states[i]) wrong.push("redo"); }
  return wrong;
}
