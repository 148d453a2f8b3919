// Elements from text. Nothing here, or anywhere in the pages, sets innerHTML: what a user gives is never read as HTML.
//
//   el("p", { class: "dim", onclick: f, "aria-live": "polite" }, "text", child, [more], null)   a new element
//   byId("name")             the element with this id; an error if there is none
//   fill(node, ...children)  replaces what is in an element
//   announce("message")      puts a message into the live region #live, for screen readers
//   download(name, text, type)   offers text as a file
//   number(1234.5), percent(0.873)   for people

const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "selected", "tabIndex", "dir", "open", "indeterminate"]);

/** An element. Keys that begin with `on` are listeners; null and false leave an attribute or a child out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (PROPERTIES.has(name)) node[name] = value;
    else if (value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** The element with an id. */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`there is no element #${id}`);
  return node;
}

/** Replaces the children of an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A message for screen readers. The same message twice is announced twice. */
export function announce(message) {
  const live = byId("live");
  live.textContent = live.textContent === message ? `${message}\u00a0` : message;
}

/** Offers text as a file. */
export function download(name, text, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = el("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

const FORMAT = new Intl.NumberFormat("en");

/** A number with separators of thousands. */
export const number = (value) => FORMAT.format(value);

/** A share as a percentage, without decimals. */
export const percent = (value) => `${Math.round(value * 100)} %`;
