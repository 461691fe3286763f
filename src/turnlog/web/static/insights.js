// Charts that tell what one points at, by mouse and by keys; and the parts of the page that take longer to count.
import { load } from "./fragment.js";

const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);

/** Show what a mark says, above it. */
function tell(mark) {
  tip.textContent = mark.dataset.words;
  tip.hidden = false;
  const box = mark.getBoundingClientRect();
  const own = tip.getBoundingClientRect();
  const left = Math.min(Math.max(box.left + box.width / 2 - own.width / 2, 8), innerWidth - own.width - 8);
  const top = Math.max(box.top - own.height - 6, 4);
  // A position that a script sets on the element is no inline style of the page: the policy lets it be.
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}

function hush(field) {
  tip.hidden = true;
  field.querySelector(".mark.at")?.classList.remove("at");
}

function follow(mark) {
  if (mark?.dataset.href) location.assign(mark.dataset.href);
}

const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };

/** Let a chart be read by mouse and keys: one stop of the Tab key, arrows inside of it. */
function enliven(field) {
  const marks = [...field.querySelectorAll(".mark")];
  if (marks.length === 0) return;
  for (const mark of marks) mark.querySelector("title")?.remove();
  const across = Number(field.dataset.across ?? 0);
  const name = field.querySelector("svg").getAttribute("aria-label");
  field.tabIndex = 0;
  field.setAttribute("role", "group");
  field.setAttribute("aria-label", `${name}. Arrow keys go through it, Enter shows the sessions of that time.`);

  function go(to) {
    const mark = marks[Math.min(Math.max(to, 0), marks.length - 1)];
    hush(field);
    mark.classList.add("at");
    tell(mark);
  }

  field.addEventListener("keydown", (event) => {
    const at = marks.findIndex((mark) => mark.classList.contains("at"));
    const isUpright = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (event.key in STEPS && (!isUpright || across)) go(at < 0 ? marks.length - 1 : at + STEPS[event.key] * (isUpright ? across : 1));
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(marks.length - 1);
    else if (event.key === "Enter") follow(marks[at]);
    else if (event.key === "Escape") hush(field);
    else return;
    event.preventDefault();
  });
  field.addEventListener("blur", () => hush(field));
  field.addEventListener("mouseover", (event) => {
    const mark = event.target.closest(".mark");
    if (mark) tell(mark);
    else tip.hidden = true;
  });
  field.addEventListener("mouseleave", () => hush(field));
  field.addEventListener("click", (event) => follow(event.target.closest(".mark")));
}

function enlivenAll(within) {
  for (const field of within.querySelectorAll(".field-of-marks")) enliven(field);
}

async function fetchPart(part) {
  try {
    part.replaceChildren(await load(part.dataset.src));
    enlivenAll(part);
  } catch (error) {
    part.querySelector("p").textContent = error.message;
  }
  part.removeAttribute("aria-busy");
}

enlivenAll(document);
for (const control of document.querySelectorAll(".choices select")) control.addEventListener("change", () => control.form.requestSubmit());
for (const part of document.querySelectorAll(".part[data-src]")) await fetchPart(part);
