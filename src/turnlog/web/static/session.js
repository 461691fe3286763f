// The page of one session: its windows, its outline, and the ways to get around in it.

import { open as act } from "./actions.js";
import { json } from "./fragment.js";
import { on } from "./keys.js";
import { watchAgents } from "./session/agents.js";
import { Chart } from "./session/chart.js";
import { copy, copyItem, watchCopies } from "./session/copy.js";
import { Find } from "./session/find.js";
import { Folds } from "./session/folds.js";
import { Here } from "./session/here.js";
import { Jump } from "./session/jump.js";
import { Minimap } from "./session/minimap.js";
import { Outline } from "./session/outline.js";
import { watchRaw } from "./session/raw.js";
import { Times } from "./session/times.js";
import { Windows } from "./session/windows.js";

// First what the server sent is painted, then the rest is set up around it; a page in the background is not painted.
await new Promise((done) => {
  requestAnimationFrame(() => setTimeout(done));
  setTimeout(done, 200);
});

const root = document.querySelector(".session");
const { address, api: door, branch, agent, items: total, size } = root.dataset;
const one = (wanted) => root.querySelector(wanted);

if (root.dataset.reading !== undefined) {
  // The server has shown the beginning and reads on; what is asked of it now waits for the whole.
  await json(door);
  location.reload();
  await new Promise(() => {});
}

function query(values) {
  const told = new URLSearchParams(values);
  if (branch) told.set("branch", branch);
  if (agent) told.set("agent", agent);
  return told.size ? `?${told}` : "";
}

async function api(name, values, options) {
  try {
    return await json(`${door}${name ? `/${name}` : ""}${query(values)}`, options);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

let silence = 0;
function tell(words) {
  const note = one(".session-note");
  note.textContent = words;
  note.classList.add("told");
  clearTimeout(silence);
  silence = setTimeout(() => note.classList.remove("told"), 2500);
}

const failed = (error) => tell(error.message);
const doing = (act) => () => Promise.resolve(act()).catch(failed);

let asked = null;
const head = () => (asked ??= api("").catch((error) => {
  asked = null;
  throw error;
}));

const windows = new Windows(one(".transcript"), {
  count: Math.max(1, Math.ceil(Number(total) / Number(size))),
  size: Number(size),
  address: (n) => `${address}/window/${n}${branch ? `?branch=${encodeURIComponent(branch)}` : ""}`,
});
for (const pager of root.querySelectorAll(".pager")) pager.hidden = true;

const jump = new Jump({ windows, api, head, tell });
const times = new Times(root, one("[data-toggle=times]"));
const folds = new Folds(root, {
  thinking: one("[data-toggle=thinking]"),
  meta: one("[data-toggle=meta]"),
  cards: one("[data-toggle=cards]"),
});
const find = new Find(one(".find-here"), { api, jump, windows });
watchAgents(root);
watchRaw(root, document.getElementById("raw"));
watchCopies(document.body, { tell, markdown });

async function markdown(article) {
  if (!article) return false;
  // An item inside the card of a sub-agent has the agent before its key.
  const inner = article.parentElement.closest(".nested")?.dataset.item ?? `${address}/item`;
  const told = new URLSearchParams({ key: article.dataset.key });
  if (branch && !article.parentElement.closest(".nested")) told.set("branch", branch);
  return copyItem(`${inner}?${told}`, tell);
}

// -- the outline and the map

function visit(turn) {
  history.pushState(null, "", `#t-${turn}`);
  closeDrawer();
  return jump.toTurn(turn).catch(failed);
}

const outline = new Outline(one(".outline"), { go: visit, ask: (wish) => api("turns", wish) });
const minimap = new Minimap(one(".minimap"), { go: (position) => jump.toPosition(position, { focus: false }).catch(failed) });
const chart = one("details.chart");
if (chart) {
  if (matchMedia("(max-width: 44rem)").matches) chart.open = false;
  new Chart(chart, { go: (position) => jump.toPosition(position).catch(failed), address: (by) => `${address}/context${query({ by })}` });
}

let known = null;
const where = one(".session-where");
const here = new Here({
  windows,
  jump,
  shown: ({ first, last, turn: told }) => {
    // What stands between two turns counts to the one before.
    const turn = told || (known ? (known.numbers[known.positions.findLastIndex((start) => start <= first)] ?? 0) : 0);
    minimap.mark(first, last);
    if (turn) outline.mark(turn);
    where.textContent = turn ? `Turn ${turn.toLocaleString("en")} of ${Number(root.dataset.last).toLocaleString("en")}` : "";
  },
});

// What is not needed to read comes after what is.
requestIdleCallback(
  async () => {
    try {
      known = await head();
      minimap.fill(known);
      await outline.fill(known);
      outline.current = 0;
      here.look();
      fillFiles(known.files);
    } catch (error) {
      failed(error);
    }
  },
  { timeout: 1500 },
);

function fillFiles(files) {
  const choices = files.slice(0, 2000).map((file) => {
    const option = document.createElement("option");
    option.value = file.path;
    option.textContent = `${file.path} (${file.reads} read, ${file.writes} changed)`;
    return option;
  });
  const field = one(".outline [name=file]");
  field.append(...choices);
  field.closest("label").hidden = !choices.length;
}

// -- addresses

function follow() {
  const name = decodeURIComponent(location.hash.slice(1));
  if (name.startsWith("i-")) jump.toKey(name.slice(2)).catch(failed);
  else if (/^t-\d+$/.test(name)) jump.toTurn(Number(name.slice(2))).catch(failed);
}
addEventListener("hashchange", follow);
if (location.hash) follow();

root.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-turn], a[data-position]");
  if (!link || link.closest(".outline-list, .chart") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  closeDrawer();
  if (link.dataset.turn) visit(Number(link.dataset.turn));
  else jump.toPosition(Number(link.dataset.position)).catch(failed);
});

root.addEventListener("click", async (event) => {
  const link = event.target.closest("a.permalink");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  await copy(link.href, tell, "Link copied.");
  const article = link.closest("article.item");
  if (article && !article.parentElement.closest(".nested")) history.replaceState(null, "", link.hash);
});

document.addEventListener("window-loaded", (event) => {
  const now = Number(event.target.dataset.items ?? total);
  if (now > Number(total) && !event.target.closest(".nested")) tell("New messages were written. Reload the page to see them.");
});

// -- menus

for (const button of root.querySelectorAll(".branches button")) button.hidden = true;
one(".branches select")?.addEventListener("change", (event) => event.target.form.requestSubmit());
document.addEventListener("click", (event) => {
  for (const menu of root.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
root.addEventListener("keydown", (event) => {
  if (event.key === "Escape") event.target.closest("details.menu[open]")?.removeAttribute("open");
});

// A key that means something else on this page is not explained twice.
const explained = new Map();
for (const row of document.querySelectorAll("#keys .keys > div")) {
  const name = row.querySelector("dt").textContent;
  explained.get(name)?.remove();
  explained.set(name, row);
}

// -- the drawer of small screens

function closeDrawer() {
  root.classList.remove("drawer");
  one("[data-toggle=outline]").setAttribute("aria-expanded", "false");
}

function toggleOutline() {
  const isSmall = matchMedia("(max-width: 60rem)").matches;
  const isOpen = isSmall ? root.classList.toggle("drawer") : !root.classList.toggle("no-outline");
  one("[data-toggle=outline]").setAttribute("aria-expanded", isOpen);
  if (isOpen && isSmall) one(".outline [name=words]").focus();
}

one("[data-toggle=outline]").addEventListener("click", toggleOutline);
one(".outline-close").addEventListener("click", closeDrawer);
root.addEventListener("keydown", (event) => event.key === "Escape" && closeDrawer());

// -- keys

const goto = document.getElementById("goto");
goto.querySelector("form").addEventListener("submit", () => {
  const words = goto.querySelector("input").value.trim();
  const number = Number(words.replace(/^#/, ""));
  if (!Number.isInteger(number) || number < 1) return;
  (words.startsWith("#") ? jump.toPosition(number - 1) : jump.toTurn(number)).catch(failed);
});

on("j", doing(() => jump.step(1)));
on("k", doing(() => jump.step(-1)));
on("n", doing(() => jump.turn(1)));
on("p", doing(() => jump.turn(-1)));
on("e", doing(() => jump.error(1)));
on("E", doing(() => jump.error(-1)));
on("g g", () => goto.showModal());
on("/", () => find.open());
on("f", () => {
  const ref = one("menu[data-ref]")?.dataset.ref;
  const key = jump.item()?.dataset.key;
  if (ref && key) act("fork", ref, key);
});
on("t", () => folds.toggle("thinking"));
on("m", () => folds.toggle("meta"));
on("x", () => folds.toggle("cards"));
on("d", () => times.toggle());
on("o", toggleOutline);
on("c", doing(() => markdown(jump.item())));
on("r", () => jump.item()?.querySelector("a[href*='/raw/']")?.click());
// Not by `on`: Enter belongs to whatever link or button has the focus.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.defaultPrevented || !event.target.matches("body, main, article.item, .turn-head")) return;
  const folds = [...(jump.item()?.querySelectorAll("details.card, details.thinking") ?? [])];
  const isOpen = folds.some((details) => details.open);
  for (const details of folds) details.open = !isOpen;
});
on("End", doing(() => jump.toEnd()));
on("Home", () => jump.toStart());

export { find, jump, outline, windows };
