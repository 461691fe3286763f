// The insights page: usable charts, and the parts of the page that take longer.
import { addExports } from "./chart_export.js";
import { makeAllNavigable } from "./chart_marks.js";
import { load } from "./fragment.js";

async function fetchPart(part) {
  try {
    part.replaceChildren(await load(part.dataset.src));
    makeAllNavigable(part);
    addExports(part);
  } catch (error) {
    part.querySelector("p").textContent = error.message;
  }
  part.removeAttribute("aria-busy");
}

makeAllNavigable(document);
addExports(document);
for (const control of document.querySelectorAll(".choices select")) control.addEventListener("change", () => control.form.requestSubmit());
for (const part of document.querySelectorAll(".part[data-src]")) await fetchPart(part);
