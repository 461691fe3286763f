// The session page: its windows, its outline, and navigation.

import { open as act } from "./actions.js";
import { json } from "./fragment.js";
import { on } from "./keys.js";
import { addSource } from "./palette.js";
import { onPreference, readPreference, savePreference } from "./preferences.js";
import { watchAgents, watchTabs } from "./session/agents.js";
import { Chart } from "./session/chart.js";
import { copy, copyItem, watchCopies } from "./session/copy.js";
import { Find } from "./session/find.js";
import { Folds } from "./session/folds.js";
import { Here } from "./session/here.js";
import { Jump } from "./session/jump.js";
import { LiveState, showLiveChip } from "./session/live_state.js";
import { Minimap } from "./session/minimap.js";
import { Outline } from "./session/outline.js";
import { Place } from "./session/place.js";
import { Rail } from "./session/rail.js";
import { watchRaw } from "./session/raw.js";
import { findInRests, watchRests } from "./session/rests.js";
import { Times } from "./session/times.js";
import { Windows } from "./session/windows.js";

// Let the browser paint the server's HTML first. The timeout is for background pages, which are never painted.
await new Promise((done) => {
  requestAnimationFrame(() => setTimeout(done));
  setTimeout(done, 200);
});

const MAX_PATH_CHARS = 4096; // no file system has longer ones
const root = document.querySelector(".session");
const { address, api: apiAddress, branch, agent, items: total, size } = root.dataset;
const one = (selector) => root.querySelector(selector);

if (root.dataset.reading !== undefined) {
  // The server has sent the beginning and is still reading; this request waits until it has finished.
  await json(apiAddress);
  location.reload();
  await new Promise(() => {});
}

function query(values) {
  const params = new URLSearchParams(values);
  if (branch) params.set("branch", branch);
  if (agent) params.set("agent", agent);
  return params.size ? `?${params}` : "";
}

async function api(name, values, options) {
  try {
    return await json(`${apiAddress}${name ? `/${name}` : ""}${query(values)}`, options);
  } catch (error) {
    if (error.status !== 404) throw error;
    if (name === "locate") return null; // an item that is not in the session
    showGone(error.message);
    throw error;
  }
}

// The session was deleted while this page showed it.
function showGone(reason) {
  if (one(".banner.gone")) return;
  const banner = document.createElement("p");
  banner.className = "banner gone";
  banner.setAttribute("role", "alert");
  const title = document.createElement("strong");
  title.textContent = "Deleted.";
  banner.append(title, ` ${reason}. This page still shows what it had loaded.`);
  one(".transcript").prepend(banner);
}

let noteTimer = 0;
function notify(text) {
  const note = one(".session-note");
  note.textContent = text;
  note.classList.add("visible");
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => note.classList.remove("visible"), 2500);
}

const showError = (error) => notify(error.message);
const guard = (act) => () => Promise.resolve(act()).catch(showError);

let headRequest = null;
const head = () => (headRequest ??= api("").catch((error) => {
  headRequest = null;
  throw error;
}));

const windows = new Windows(one(".transcript"), {
  count: Math.max(1, Math.ceil(Number(total) / Number(size))),
  size: Number(size),
  address: (n) => `${address}/window/${n}${branch ? `?branch=${encodeURIComponent(branch)}` : ""}`,
});
for (const pager of root.querySelectorAll(".pager")) pager.hidden = true;

const jump = new Jump({ windows, api, head, notify });
const times = new Times(root, one("[data-toggle=times]"));
const folds = new Folds(root, {
  thinking: one("[data-toggle=thinking]"),
  meta: one("[data-toggle=meta]"),
  cards: one("[data-toggle=cards]"),
}, [...root.querySelectorAll("[name=density]")]);
const find = new Find(one(".find-here"), { api, jump, windows });
watchAgents(root);
watchRests(root, { showError });
watchRaw(root, document.getElementById("raw"));
watchCopies(document.body, { notify, copyItem: copyMarkdown });

async function copyMarkdown(article) {
  if (!article) return false;
  // An item inside a sub-agent's card has the agent's name as a prefix of its key.
  const inner = article.parentElement.closest(".nested")?.dataset.item ?? `${address}/item`;
  const params = new URLSearchParams({ key: article.dataset.key });
  if (branch && !article.parentElement.closest(".nested")) params.set("branch", branch);
  return copyItem(`${inner}?${params}`, notify);
}

// -- the outline and the map

function visit(turn) {
  history.pushState(null, "", `#t-${turn}`);
  closeDrawer();
  return jump.toTurn(turn).catch(showError);
}

const outline = new Outline(one(".outline"), { go: visit, loadTurns: (filters) => api("turns", filters) });
const minimap = new Minimap(one(".minimap"), { go: (position) => jump.toPosition(position, { focus: false }).catch(showError) });
const chart = new Chart(one("section.chart"), {
  go: (position) => jump.toPosition(position).catch(showError),
  address: (by) => `${address}/context${query({ by })}`,
  button: one("[data-toggle=chart]"),
});
const liveState = new LiveState();
const liveChip = one(".chip.live");
if (liveChip) liveState.subscribe((rows) => showLiveChip(liveChip, rows.get(root.dataset.ref)));
const rail = new Rail(one(".rail"), { ref: root.dataset.ref, notify, liveState });
const showTab = watchTabs(one(".outline"));

let known = null;
const where = one(".session-where");
const here = new Here({
  windows,
  jump,
  onChange: ({ first, last, turn: visibleTurn }) => {
    // An item between two turns belongs to the first of them.
    const turn = visibleTurn || (known ? (known.numbers[known.positions.findLastIndex((start) => start <= first)] ?? 0) : 0);
    minimap.mark(first, last);
    if (turn) outline.mark(turn);
    where.textContent = turn ? describeTurn(turn) : "";
  },
});

// Turns have the same numbers on all branches, so the total is that of the whole session.
function describeTurn(turn) {
  return `Turn ${turn.toLocaleString("en")} of ${Number(known?.turn_total ?? root.dataset.turns).toLocaleString("en")}`;
}

// Load what is not needed for reading last.
requestIdleCallback(
  async () => {
    if (!root.classList.contains("no-rail") && !isNarrow(60)) rail.show();
    try {
      known = await head();
      minimap.fill(known);
      await outline.fill(known);
      outline.current = 0;
      here.update();
      fillFiles(known.files);
    } catch (error) {
      showError(error);
    }
  },
  { timeout: 1500 },
);

function fillFiles(files) {
  const named = files.filter((file) => file.path.length <= MAX_PATH_CHARS);
  const choices = named.slice(0, 2000).map((file) => {
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
  if (name.startsWith("i-")) return jump.toKey(name.slice(2)).catch(showError);
  if (/^t-\d+$/.test(name)) return jump.toTurn(Number(name.slice(2))).catch(showError);
  if (name.startsWith("c-")) return toCall(name).catch(showError);
  if (name === "agents") showTab("agents");
  return null;
}

// A call is inside its message, which the server sent because of `at`.
async function toCall(id) {
  const key = new URLSearchParams(location.search).get("at");
  const card = await findInRests(document.getElementById(`i-${key}`), id);
  if (!card) return notify("That call is not in this session.");
  card.open = true;
  return jump.toElement(card);
}

new Place({
  address,
  branch,
  find: () => {
    if (document.scrollingElement.scrollTop < 8) return null;
    const article = jump.item();
    return article?.isConnected ? article : null;
  },
});
addEventListener("hashchange", follow);
if (location.hash) follow();

root.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-turn], a[data-position]");
  if (!link || link.closest(".outline-list, .chart") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  closeDrawer();
  if (link.dataset.turn) visit(Number(link.dataset.turn));
  else jump.toPosition(Number(link.dataset.position)).catch(showError);
});

root.addEventListener("click", (event) => {
  const link = event.target.closest("a.chip[href='#agents']");
  if (!link) return;
  event.preventDefault();
  showTab("agents");
  if (isNarrow(75)) root.classList.add("drawer");
  else setOutline(true);
});

root.addEventListener("click", async (event) => {
  const link = event.target.closest("a.permalink, a.call-link");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  await copy(link.href, notify, "Link copied.");
  const article = link.closest("article.item");
  if (article && !article.parentElement.closest(".nested")) history.replaceState(history.state, "", link.href);
});

document.addEventListener("window-loaded", (event) => {
  const now = Number(event.target.dataset.items ?? total);
  if (now > Number(total) && !event.target.closest(".nested")) notify("New messages were written. Reload the page to see them.");
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

// If this page gives a key another meaning, the help lists only that one.
const explained = new Map();
for (const row of document.querySelectorAll("#keys .keys > div")) {
  const name = row.querySelector("dt").textContent;
  explained.get(name)?.remove();
  explained.set(name, row);
}

// -- the rail and the outline: columns, or drawers of smaller screens

function isNarrow(rem) {
  return matchMedia(`(max-width: ${rem}rem)`).matches;
}

function showState(name, isOpen) {
  one(`[data-toggle=${name}]`).setAttribute("aria-expanded", String(isOpen));
}

function closeDrawer() {
  root.classList.remove("drawer", "rail-drawer");
  if (isNarrow(75)) showState("outline", false);
  if (isNarrow(60)) showState("rail", false);
}

function setOutline(isOpen) {
  root.classList.toggle("no-outline", !isOpen);
  showState("outline", isOpen);
  savePreference("outline", isOpen);
}

function toggleOutline() {
  if (!isNarrow(75)) return setOutline(root.classList.contains("no-outline"));
  const isOpen = root.classList.toggle("drawer");
  showState("outline", isOpen);
  if (isOpen) one(".outline [name=words]").focus();
  return undefined;
}

function toggleRail() {
  let isOpen;
  if (isNarrow(60)) isOpen = root.classList.toggle("rail-drawer");
  else {
    isOpen = !root.classList.toggle("no-rail");
    savePreference("rail", isOpen);
  }
  showState("rail", isOpen);
  if (isOpen) rail.show();
  if (isOpen && isNarrow(60)) one(".rail [name=words]").focus();
}

// The server may not know of the last choice yet.
for (const name of ["rail", "outline"]) root.classList.toggle(`no-${name}`, readPreference(name, true) === false);
showState("outline", !isNarrow(75) && !root.classList.contains("no-outline"));
showState("rail", !isNarrow(60) && !root.classList.contains("no-rail"));
onPreference("rail", (isOpen) => {
  root.classList.toggle("no-rail", isOpen === false);
  if (isOpen !== false && !isNarrow(60)) rail.show();
});
onPreference("outline", (isOpen) => root.classList.toggle("no-outline", isOpen === false));
one("[data-toggle=outline]").addEventListener("click", toggleOutline);
one("[data-toggle=rail]").addEventListener("click", toggleRail);
for (const button of root.querySelectorAll(".outline-close, .rail-close")) button.addEventListener("click", closeDrawer);
root.addEventListener("keydown", (event) => event.key === "Escape" && closeDrawer());
one(".find-open").addEventListener("click", () => find.open());

// -- the palette

addSource("Turns", async (text, signal) => {
  if (!text) return [];
  const number = /^#?(\d+)$/.exec(text)?.[1];
  const { turns } = await api("turns", { words: text, first: 0, count: 6 }, { signal });
  const rows = turns.map((turn) => ({ title: turn.title || turn.kind, note: `turn ${turn.number}`, icon: "turn", act: () => visit(turn.number) }));
  if (number) rows.unshift({ title: `Turn ${number}`, note: "of this session", icon: "turn", act: () => visit(Number(number)) });
  return rows;
});

// -- keys

const goto = document.getElementById("goto");
goto.querySelector("form").addEventListener("submit", () => {
  const input = goto.querySelector("input").value.trim();
  const number = Number(input.replace(/^#/, ""));
  if (!Number.isInteger(number) || number < 1) return;
  (input.startsWith("#") ? jump.toPosition(number - 1) : jump.toTurn(number)).catch(showError);
});

on("j", guard(() => jump.step(1)));
on("k", guard(() => jump.step(-1)));
on("n", guard(() => jump.turn(1)));
on("p", guard(() => jump.turn(-1)));
on("e", guard(() => jump.error(1)));
on("E", guard(() => jump.error(-1)));
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
on("b", toggleRail);
on("w", () => chart.toggle());
on("v", () => notify(`Showing: ${folds.nextDensity()}`));
on("z", () => folds.toggleTurn(Number(jump.item()?.dataset.turn ?? 0)));
on("]", guard(() => rail.step(1)));
on("[", guard(() => rail.step(-1)));
on("c", guard(() => copyMarkdown(jump.item())));
on("r", () => jump.item()?.querySelector("a[href*='/raw/']")?.click());
// Not with `on`: Enter belongs to the focused link or button.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.defaultPrevented || !event.target.matches("body, main, article.item, .turn-head")) return;
  const item = jump.item();
  const parts = [...(item?.querySelectorAll("details.card, details.thinking") ?? [])];
  const said = item?.matches(".folded") ? [...item.querySelectorAll(".said")] : [];
  const isOpen = parts.some((details) => details.open) || said.some((part) => part.classList.contains("open"));
  for (const details of parts) details.open = !isOpen;
  for (const part of said) part.classList.toggle("open", !isOpen);
});
on("End", guard(() => jump.toEnd()));
on("Home", () => jump.toStart());

export { find, jump, outline, windows };
