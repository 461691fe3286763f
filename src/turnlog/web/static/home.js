// The list of sessions: filters as you type, loads rows as you scroll, and shows the health of visible rows.
import { json, load } from "./fragment.js";
import { on, step } from "./keys.js";

const INPUT_DELAY_MS = 90;
const PAUSE_MS = 220;
const LIVE_POLL_MS = 15_000;

const form = document.getElementById("filters");
const field = document.getElementById("filter");
const table = document.getElementById("sessions");
const count = document.getElementById("count");
const more = document.getElementById("more");
const hits = document.getElementById("hits");
let running = new AbortController();
let isLoading = false;

const body = () => table.tBodies[0];

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

// -- filtering

/** Hide rows that don't match at once, until the server has filtered all sessions. */
function hideMismatches() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of body().querySelectorAll("tr.session")) {
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
  history.replaceState(null, "", address("/", query));
  table.setAttribute("aria-busy", "true");
  try {
    showRows(await load(address("/rows", query), { signal }));
    table.removeAttribute("aria-busy");
    await searchTexts(query, signal);
  } catch (error) {
    if (error.name !== "AbortError") count.textContent = error.message;
  } finally {
    if (!signal.aborted) table.removeAttribute("aria-busy");
  }
}

function showRows(content) {
  const rows = content.querySelector("tbody");
  const summary = rows.querySelector("template.count");
  if (summary) count.replaceChildren(summary.content);
  body().replaceWith(rows);
  observeRows();
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

// -- more rows

async function loadMore() {
  const from = body().dataset.more;
  if (!from || isLoading) return;
  isLoading = true;
  try {
    const { signal } = running;
    const found = (await load(from, { signal })).querySelector("tbody");
    body().dataset.more = found.dataset.more;
    body().append(...found.children);
    observeRows();
  } catch (error) {
    if (error.name !== "AbortError") more.textContent = error.message;
  } finally {
    isLoading = false;
  }
}

const bottom = new IntersectionObserver((entries) => entries.some((item) => item.isIntersecting) && loadMore(), {
  rootMargin: "1200px",
});

// -- the health of visible rows, one after the other

const waiting = new Set();
const visible = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) waiting.add(target);
    else waiting.delete(target);
  }
  loadHealths();
});
let isLoadingHealth = false;

async function loadHealths() {
  if (isLoadingHealth) return;
  isLoadingHealth = true;
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  for (const row of waiting) {
    waiting.delete(row);
    if (!row.isConnected || row.hidden) continue;
    visible.unobserve(row);
    await loadHealth(row, "");
  }
  isLoadingHealth = false;
}

async function loadHealth(row, query) {
  try {
    const answer = await json(`/api/s/${row.dataset.ref}/health${query}`);
    delete row.dataset.unread;
    if (answer.state === "large") offerHealth(row);
    else showHealth(row, answer.health);
  } catch (error) {
    row.querySelector("td.health").replaceChildren(badge("", "?", error.message));
  }
}

function badge(kind, text, title = "") {
  const span = document.createElement("span");
  span.className = `badge ${kind}`;
  span.textContent = text;
  if (title) span.title = title;
  return span;
}

function offerHealth(row) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "check";
  button.title = "This session is large: click to read it";
  button.addEventListener("click", () => loadHealth(row, "?now=1"));
  row.querySelector("td.health").replaceChildren(button);
}

function showHealth(row, health) {
  if (!health) return;
  row.querySelector(".turn-count").textContent = health.turns;
  const number = health.errors || health.warnings;
  const cell = row.querySelector("td.health");
  const kind = { error: "bad", warning: "warn", healthy: "good" }[health.verdict];
  const words = health.verdict === "healthy" ? "healthy" : `${number} ${health.verdict}${number === 1 ? "" : "s"}`;
  cell.replaceChildren(badge(kind, words, health.words.join("\n")));
  if (health.branches) cell.append(" ", badge("", health.branches === 1 ? "1 branch" : `${health.branches} branches`));
}

function observeRows() {
  waiting.clear();
  for (const row of body().querySelectorAll("tr[data-unread]")) visible.observe(row);
  markLive();
  bottom.unobserve(more);
  bottom.observe(more);
  more.replaceChildren();
}

// -- which sessions are open now

let open = new Set();
function markLive() {
  for (const row of body().querySelectorAll("tr.session")) row.querySelector(".live").hidden = !open.has(row.dataset.ref);
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

// -- keys

const titles = () => [...body().querySelectorAll("tr.session:not([hidden]) a.title")];

on("j", () => step(titles(), true));
on("k", () => step(titles(), false));
on("f", () => field.focus());

form.addEventListener("submit", (event) => {
  event.preventDefault();
  reloadRows();
});
field.addEventListener("input", onInput);
for (const control of form.querySelectorAll("select, input[type=checkbox]")) control.addEventListener("change", reloadRows);
document.addEventListener("turnlog:indexed", () => {
  if (body().rows.length <= 120 && scrollY < 400) reloadRows();
});
observeRows();
pollLive();
if (field.value) searchTexts(readQuery(), running.signal).catch((error) => (hits.textContent = error.message));
