// Tooltips, keyboard navigation and links of charts.

const MIN_LABEL_CHARS = 3;
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);

/** Show the text of a mark, or of a part of it, above it. */
function showTip(mark) {
  tip.textContent = mark.dataset.words;
  tip.hidden = false;
  const box = mark.getBoundingClientRect();
  const own = tip.getBoundingClientRect();
  const left = Math.min(Math.max(box.left + box.width / 2 - own.width / 2, 8), innerWidth - own.width - 8);
  const top = Math.max(box.top - own.height - 6, 4);
  // The content security policy allows styles that a script sets on an element.
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}

function hideTip(field) {
  tip.hidden = true;
  field.querySelector(".mark.at")?.classList.remove("at");
}

function openLink(mark) {
  if (mark?.dataset.href) location.assign(mark.dataset.href);
}

const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };

/** Make a chart usable by mouse and keys: one tab stop, arrow keys inside. */
function makeNavigable(field) {
  const marks = [...field.querySelectorAll(".mark")];
  if (marks.length === 0) return;
  for (const mark of marks) mark.querySelector("title")?.remove();
  // In a grid, one arrow key goes to the next cell and another to the next line.
  const across = Number(field.dataset.across ?? 0);
  const down = Number(field.dataset.down ?? 0);
  const name = field.querySelector("svg").getAttribute("aria-label");
  field.tabIndex = 0;
  field.setAttribute("role", "group");
  field.setAttribute("aria-label", `${name}. Use the arrow keys to select a period and Enter to show its sessions.`);

  function go(to) {
    const mark = marks[Math.min(Math.max(to, 0), marks.length - 1)];
    hideTip(field);
    mark.classList.add("at");
    showTip(mark);
  }

  field.addEventListener("keydown", (event) => {
    const at = marks.findIndex((mark) => mark.classList.contains("at"));
    const isUpright = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (event.key in STEPS && (!isUpright || across || down)) {
      const stride = isUpright ? across || 1 : down || 1;
      go(at < 0 ? marks.length - 1 : at + STEPS[event.key] * stride);
    }
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(marks.length - 1);
    else if (event.key === "Enter") openLink(marks[at]);
    else if (event.key === "Escape") hideTip(field);
    else return;
    event.preventDefault();
  });
  field.addEventListener("blur", () => hideTip(field));
  field.addEventListener("mouseover", (event) => {
    const part = event.target.closest("[data-words]");
    if (part) showTip(part);
    else tip.hidden = true;
  });
  field.addEventListener("mouseleave", () => hideTip(field));
  field.addEventListener("click", (event) => openLink(event.target.closest("[data-href]")));
}

// -- labels inside of marks

const lines = new WeakMap();

/** Shorten the names of a label to the width that it has now; a figure is shown whole or not at all. */
function fitLabel(label) {
  const room = label.parentElement.querySelector("rect").getBoundingClientRect().width - 12;
  const [figure, ...names] = [...label.querySelectorAll("text")].reverse();
  names.forEach((name) => fitLine(name, room, MIN_LABEL_CHARS));
  fitLine(figure, names.at(-1).textContent ? room : 0, Infinity);
}

function fitLine(line, room, minChars) {
  if (!lines.has(line)) lines.set(line, line.textContent);
  const whole = lines.get(line);
  line.textContent = whole;
  const length = line.getComputedTextLength();
  if (length <= room) return;
  const count = Math.floor((whole.length * room) / length) - 1;
  line.textContent = count < minChars ? "" : `${whole.slice(0, count).trimEnd()}…`;
}

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) target.querySelectorAll("svg.label").forEach(fitLabel);
});

/** Make all charts below an element usable. */
export function makeAllNavigable(within) {
  for (const field of within.querySelectorAll(".field-of-marks")) {
    makeNavigable(field);
    if (field.querySelector("svg.label")) resized.observe(field);
  }
}
