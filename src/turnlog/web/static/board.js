// The board: keeps every session in its column while the page is visible.

import { follow } from "./follow.js";
import { fragment, post } from "./fragment.js";
import { showConnection, startClock, writeAges } from "./live/since.js";

const MAX_CARDS = 12; // in a column of sessions that need no attention
const FOLDED = new Set(["idle", "ended"]);
const root = document.querySelector(".board");
const lists = Object.fromEntries([...root.querySelectorAll("[data-column]")].map((one) => [one.dataset.column, one]));
const tools = root.querySelector(".board-tools");
const { project, sort } = tools.elements;
const unfolded = new Set();

const allCards = () => [...root.querySelectorAll("article.live-card")];
const time = (card, name) => Date.parse(card.dataset[name]) || 0;

// -- order: who waits longest comes first; among the others, what was active last

const ORDERS = {
  waiting: (a, b, column) =>
    FOLDED.has(column) ? time(b, "written") - time(a, "written") : time(a, "started") - time(b, "started"),
  latest: (a, b) => time(b, "written") - time(a, "written"),
  cost: (a, b) => b.dataset.cost - a.dataset.cost,
  title: (a, b) => a.dataset.title.localeCompare(b.dataset.title),
};

function sortCards(column, list) {
  const cards = [...list.children];
  const order = ORDERS[sort.value] ?? ORDERS.waiting;
  const sorted = cards.toSorted((a, b) => order(a, b, column));
  // Moving an element takes the focus away, so only what is in the wrong place is moved.
  sorted.forEach((card, place) => {
    if (list.children[place] !== card) {
      const focused = card.contains(document.activeElement) ? document.activeElement : null;
      list.insertBefore(card, list.children[place] ?? null);
      focused?.focus();
    }
  });
}

// -- cards

function findCard(ref) {
  return root.querySelector(`article[data-ref="${CSS.escape(ref)}"]`);
}

function placeCard({ session, html }) {
  const card = fragment(html).querySelector("article");
  const old = findCard(session.ref);
  const list = lists[session.column].querySelector(".cards");
  const focus = old?.contains(document.activeElement) ? document.activeElement.tagName : "";
  if (old && old.parentElement === list) {
    old.replaceWith(card);
  } else {
    old?.remove();
    list.prepend(card);
  }
  if (focus) card.querySelector(focus)?.focus();
}

function updateProjects() {
  const folders = new Map(allCards().map((card) => [card.dataset.project, card.dataset.folder]));
  const known = [...project.options].slice(1).map((option) => option.value);
  const paths = [...folders.keys()].sort();
  if (project.value && !folders.has(project.value)) paths.push(project.value);
  if (paths.join("\n") !== known.join("\n")) {
    const chosen = project.value;
    project.length = 1;
    for (const path of paths) project.add(new Option(folders.get(path) ?? path, path));
    project.value = chosen;
  }
  tools.querySelector(".by-project").hidden = folders.size < 2 && !project.value;
}

function foldColumn(column, list) {
  const cards = [...list.querySelectorAll("article")];
  const fitting = cards.filter((card) => !project.value || card.dataset.project === project.value);
  const limit = FOLDED.has(column) && !unfolded.has(column) ? MAX_CARDS : Infinity;
  for (const card of cards) card.hidden = fitting.indexOf(card) < 0 || fitting.indexOf(card) >= limit;
  list.querySelector(".count").textContent = fitting.length;
  list.classList.toggle("empty", !fitting.length);
  const rest = list.querySelector(".rest");
  rest.hidden = fitting.length <= limit;
  rest.textContent = `Show ${fitting.length - MAX_CARDS} more`;
}

function updateCosts() {
  const most = Math.max(1, ...allCards().map((card) => Number(card.dataset.cost)));
  for (const meter of root.querySelectorAll(".cost-meter")) meter.max = most;
}

function update() {
  updateProjects();
  for (const [column, list] of Object.entries(lists)) {
    sortCards(column, list.querySelector(".cards"));
    foldColumn(column, list);
  }
  updateCosts();
  writeAges(root);
  const count = allCards().length;
  root.querySelector(".nothing").hidden = count > 0;
  root.querySelector(".columns").hidden = tools.hidden = count === 0;
  const waiting = lists.needs.querySelectorAll("article").length;
  document.title = waiting ? `(${waiting}) Live · turnlog` : "Live · turnlog";
}

// -- filter and order are part of the address, so that they survive a reload

const wanted = new URLSearchParams(location.search);
if (ORDERS[wanted.get("sort")]) sort.value = wanted.get("sort");
if (wanted.get("project")) {
  project.add(new Option(wanted.get("project"), wanted.get("project")));
  project.value = wanted.get("project");
}

tools.addEventListener("change", () => {
  const values = [...new FormData(tools)].filter(([name, value]) => value && !(name === "sort" && value === "waiting"));
  const query = new URLSearchParams(values).toString();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
  update();
});
tools.addEventListener("submit", (event) => event.preventDefault());

for (const [column, list] of Object.entries(lists)) {
  list.querySelector(".rest").addEventListener("click", () => {
    unfolded.add(column);
    update();
    list.querySelectorAll("article a")[MAX_CARDS]?.focus();
  });
}

// -- the demo

root.querySelector(".play-demo").addEventListener("click", async ({ currentTarget: button }) => {
  const note = root.querySelector(".demo-note");
  button.disabled = true;
  note.textContent = "starting …";
  try {
    await post("/api/live/demo", {});
    note.textContent = "";
  } catch (error) {
    note.textContent = `This did not work: ${error.message}`;
  }
  button.disabled = false;
});

follow("/api/live/updates", {
  handlers: {
    board({ sessions }) {
      const refs = new Set(sessions.map(({ session }) => session.ref));
      for (const card of allCards()) if (!refs.has(card.dataset.ref)) card.remove();
      for (const one of sessions) placeCard(one);
      update();
    },
    row(one) {
      placeCard(one);
      update();
    },
    gone({ ref }) {
      findCard(ref)?.remove();
      update();
    },
  },
  onStatus: (isConnected) => showConnection(root, isConnected),
});
update();
startClock(root);
