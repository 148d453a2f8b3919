// The page /projects: the list of projects, one project (#NAME), or its review (#NAME/review).

import { Failure, api } from "./api.js";
import { announce, byId, el, fill, number } from "./dom.js";
import { leaveProject, showProject } from "./project.js";
import { leaveReview, showReview } from "./project-review.js";
import { useTokenDialog } from "./token.js";

const LIST = "/api/projects";
useTokenDialog();

/** An error of the whole page. */
function fail(error) {
  const box = byId("failure");
  box.hidden = !error;
  if (error) fill(box, error.message);
}

async function showList() {
  document.title = "RoSTER: projects";
  const { projects } = await api(LIST);
  fill(byId("projects"), projects.map(line));
  if (!projects.length) fill(byId("projects"), el("li", { class: "dim" }, "There are no projects yet."));
}

function line({ name, files, active, trained, error, created }) {
  const state = error ?? (active ? `under way: ${active}` : trained ? "has a model" : files ? "no model yet" : "empty");
  const date = created ? new Date(created * 1000).toLocaleDateString("en", { dateStyle: "medium" }) : "";
  return el("li", { class: "card project-line" },
    el("a", { href: `#${name}`, class: "project-name" }, name),
    el("span", { class: "dim small" }, `${number(files)} file${files === 1 ? "" : "s"} · ${date}`),
    el("span", { class: `badge ${error ? "bad" : active ? "busy" : trained ? "good" : ""}` }, state));
}

async function route() {
  const [name, part] = decodeURIComponent(location.hash.slice(1)).split("/");
  fail(null);
  leaveProject();
  leaveReview();
  byId("list").hidden = Boolean(name);
  byId("project").hidden = !name || part === "review";
  byId("review").hidden = !name || part !== "review";
  try {
    if (!name) await showList();
    else if (part === "review") await showReview(name, fail);
    else await showProject(name, fail);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    fail(error);
    if (error.status === 404) byId("project").hidden = byId("review").hidden = true;
  }
}

byId("create").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = byId("create-name");
  try {
    const { name } = await api(LIST, { body: { name: field.value } });
    field.value = "";
    field.removeAttribute("aria-invalid");
    announce(`Created ${name}`);
    location.hash = name;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    field.setAttribute("aria-invalid", "true");
    fail(error);
  }
});
for (const link of [byId("back"), document.querySelector("#nav a")]) {
  link.addEventListener("click", (event) => { event.preventDefault(); location.hash = ""; });
}
addEventListener("hashchange", () => { route(); scrollTo(0, 0); byId("main").focus({ preventScroll: true }); });
route();
