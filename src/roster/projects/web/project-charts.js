// Small charts as SVG: losses, an interval, the course of an estimate.

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

const text = (x, y, content, anchor = "start") => svg("text", { x, y, "text-anchor": anchor, class: "chart-text" }, content);

/** A line of values, from left to right. */
export function lineOf(values, label) {
  const [width, height] = [220, 48], most = Math.max(...values), least = Math.min(...values, 0);
  const x = (i) => 3 + (values.length < 2 ? 0 : i * (width - 6) / (values.length - 1));
  const y = (value) => 3 + (height - 6) * (1 - (value - least) / (most - least || 1));
  const points = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart spark", role: "img", "aria-label": label },
    svg("polyline", { points, class: "chart-line" }),
    svg("circle", { cx: x(values.length - 1), cy: y(values.at(-1)), r: 2.5, class: "chart-dot" }));
}

/** An estimate and its interval on the scale from 0 to 1; `width` is the wanted half of the interval. */
export function intervalOf({ value, low, high }, label, width = null) {
  const [w, h] = [320, 46], x = (share) => 10 + share * (w - 20);
  const ticks = [0, .25, .5, .75, 1].map((at) => svg("g", {},
    svg("line", { x1: x(at), x2: x(at), y1: 12, y2: 28, class: "chart-tick" }), text(x(at), 42, at === 0 ? "0" : at.toFixed(2).replace(/0$/, ""), "middle")));
  return svg("svg", { viewBox: `0 0 ${w} ${h}`, class: "chart", role: "img", "aria-label": label },
    svg("line", { x1: x(0), x2: x(1), y1: 20, y2: 20, class: "chart-axis" }), ...ticks,
    width === null ? null : svg("rect", { x: x(Math.max(0, value - width)), width: x(Math.min(1, value + width)) - x(Math.max(0, value - width)), y: 10, height: 20, class: "chart-goal" }),
    svg("rect", { x: x(low), width: Math.max(2, x(high) - x(low)), y: 15, height: 10, rx: 5, class: "chart-interval" }),
    svg("circle", { cx: x(value), cy: 20, r: 5, class: "chart-dot" }));
}

/** The course of an estimate by answers: a band that grows narrower. */
export function courseOf(course, label) {
  const [w, h] = [320, 150], first = course[0][0], last = course.at(-1)[0];
  const low = Math.max(0, Math.min(...course.map((p) => p[2])) - .03), high = Math.min(1, Math.max(...course.map((p) => p[3])) + .03);
  const x = (answers) => 34 + (last === first ? 0 : (answers - first) * (w - 44) / (last - first));
  const y = (value) => 8 + (h - 30) * (1 - (value - low) / (high - low || 1));
  const at = (points, column) => points.map((p) => `${x(p[0]).toFixed(1)},${y(p[column]).toFixed(1)}`);
  const band = [...at(course, 3), ...at(course, 2).reverse()].join(" ");
  const marks = [low, (low + high) / 2, high];
  return svg("svg", { viewBox: `0 0 ${w} ${h}`, class: "chart", role: "img", "aria-label": label },
    ...marks.map((value) => svg("g", {}, svg("line", { x1: 34, x2: w - 10, y1: y(value), y2: y(value), class: "chart-tick" }), text(30, y(value) + 4, value.toFixed(2), "end"))),
    svg("polygon", { points: band, class: "chart-band" }),
    svg("polyline", { points: at(course, 1).join(" "), class: "chart-line" }),
    svg("circle", { cx: x(last), cy: y(course.at(-1)[1]), r: 3, class: "chart-dot" }),
    text(34, h - 4, `${first}`), text(w - 10, h - 4, `${last} answers`, "end"));
}
