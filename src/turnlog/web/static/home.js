// The list of sessions: filters as you type, loads rows as you scroll, and grows with the index.
import { json, load } from "./fragment.js";
import { closeOutside, manageColumns } from "./home/columns.js";
import { refreshDashboard, startDashboard } from "./home/dashboard.js";
import { watchHealth } from "./home/health.js";
import { showIndexProgress } from "./home/index_progress.js";
import { ListPages } from "./home/list_pages.js";
import { keepPlace } from "./home/place.js";
import { on, step } from "./keys.js";

const INPUT_DELAY_MS = 90;
const PAUSE_MS = 220;
const LIVE_POLL_MS = 15_000;

const form = document.getElementById("filters");
const field = document.getElementById("filter");
const table = document.getElementById("sessions");
const count = document.getElementById("count");
const hits = document.getElementById("hits");
let running = new AbortController();
let open = new Set();

/** Read the form as the query part of an address. */
function readQuery() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value) query.set(name, value);
  return query;
}

function address(path, query) {
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

function pageAddress(page, hasHead) {
  const query = readQuery();
  if (page) query.set("page", page);
  if (hasHead) query.set("head", "1");
  return address("/rows", query);
}

document.getElementById("more").replaceChildren();
const pages = new ListPages(table, pageAddress, (body) => {
  watchHealth(body);
  markLive();
});

// -- filtering

/** Hide rows that don't match at once, until the server has filtered all sessions. */
function hideMismatches() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of table.querySelectorAll("tr.session")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
}

let timer = 0;
function onInput() {
  hideMismatches();
  clearTimeout(timer);
  timer = setTimeout(reloadRows, INPUT_DELAY_MS);
}

async function reloadRows() {
  clearTimeout(timer);
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const query = readQuery();
  history.replaceState({ ...history.state, place: null }, "", address("/", query));
  table.setAttribute("aria-busy", "true");
  try {
    const body = await pages.fetch(0, signal);
    pages.adopt(body);
    showHead(body);
    table.removeAttribute("aria-busy");
    await searchTexts(query, signal);
  } catch (error) {
    if (error.name !== "AbortError") count.textContent = error.message;
  } finally {
    if (!signal.aborted) table.removeAttribute("aria-busy");
  }
}

/** Show what the server says above the list, together with the rows that it belongs to. */
function showHead(body) {
  for (const name of ["count", "head", "notices"]) {
    const part = body.querySelector(`template.${name}`);
    if (part) document.getElementById(name).replaceChildren(part.content);
  }
  const projects = body.querySelector("template.projects")?.content.querySelector("select");
  const select = document.getElementById("project");
  if (projects && document.activeElement !== select) {
    const { value } = select;
    select.replaceChildren(...projects.children);
    select.value = value; // options that move from one list to another change what is selected
  }
}

/** Show hits in the texts of all sessions below the list. */
async function searchTexts(query, signal) {
  const words = (query.get("q") ?? "").trim();
  if (words.length < 2) {
    hits.hidden = true;
    return;
  }
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  if (signal.aborted) return;
  const params = new URLSearchParams({ q: words });
  if (query.get("project")) params.set("in", query.get("project"));
  hits.replaceChildren(await load(address("/search/hits", params), { signal }));
  hits.hidden = hits.childElementCount === 0;
}

// -- the index grows

let shown = { generation: Number(table.dataset.generation), phase: table.dataset.phase };
let isRefreshing = false;
let latest = null;

/** Show the rows of a state before its progress, so that the page never promises rows that it doesn't show. */
async function followIndex(state) {
  latest = state;
  if (isRefreshing) return;
  isRefreshing = true;
  try {
    while (latest) {
      const now = latest;
      latest = null;
      const isNew = shown.generation !== now.generation || shown.phase !== now.phase;
      if (isNew) await refreshRows();
      shown = now;
      showIndexProgress(now);
      if (isNew) await refreshDashboard();
      table.dataset.phase = now.phase;
    }
  } catch (error) {
    if (error.name !== "AbortError") count.textContent = error.message;
  } finally {
    isRefreshing = false;
  }
}

async function refreshRows() {
  if (table.getAttribute("aria-busy")) return;
  const body = await pages.refresh();
  if (body) showHead(body);
}

// -- which sessions are open now

function markLive() {
  for (const row of table.querySelectorAll("tr.session")) row.querySelector(".live").hidden = !open.has(row.dataset.ref);
}

async function pollLive() {
  if (!document.hidden) {
    try {
      open = new Set((await json("/api/sessions/live")).live);
      markLive();
    } catch {
      // The header already shows that the server does not respond.
    }
  }
  setTimeout(pollLive, LIVE_POLL_MS);
}

// -- whole rows are clickable

function openRow(event) {
  const row = event.target.closest("tr.session");
  if (!row || event.target.closest("a, button, input, label") || String(getSelection())) return;
  const { href } = row.querySelector("a.title");
  if (event.button === 1 || event.ctrlKey || event.metaKey) window.open(href, "_blank", "noopener");
  else if (event.button === 0) location.assign(href);
}

table.addEventListener("click", openRow);
table.addEventListener("auxclick", openRow);

// -- keys

const titles = () => [...table.querySelectorAll("tr.session:not([hidden]) a.title")];

on("j", () => step(titles(), true));
on("k", () => step(titles(), false));
on("f", () => field.focus());

form.addEventListener("submit", (event) => {
  event.preventDefault();
  reloadRows();
});
field.addEventListener("input", onInput);
for (const control of form.querySelectorAll("select, [name=group], [type=date]")) control.addEventListener("change", reloadRows);
closeOutside(document.getElementById("facets"));
manageColumns(document.getElementById("columns"), table);
startDashboard();
document.addEventListener("turnlog:state", (event) => followIndex(event.detail));
pollLive();
keepPlace(pages);
if (field.value) searchTexts(readQuery(), running.signal).catch((error) => (hits.textContent = error.message));
