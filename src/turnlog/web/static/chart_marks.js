// Tooltips, keyboard navigation and links of charts.

const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);

/** Show the text of a mark above it. */
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
    const mark = event.target.closest(".mark");
    if (mark) showTip(mark);
    else tip.hidden = true;
  });
  field.addEventListener("mouseleave", () => hideTip(field));
  field.addEventListener("click", (event) => openLink(event.target.closest(".mark")));
}

/** Make all charts below an element usable. */
export function makeAllNavigable(within) {
  for (const field of within.querySelectorAll(".field-of-marks")) makeNavigable(field);
}
