// The list of sessions: filter as you type, more rows as you scroll, health and life of the rows that are looked at.
import { json, load } from "./fragment.js";
import { on, step } from "./keys.js";

const QUICK = 90;
const CALM = 220;
const LIFE = 15_000;

const form = document.getElementById("filters");
const field = document.getElementById("filter");
const table = document.getElementById("sessions");
const count = document.getElementById("count");
const more = document.getElementById("more");
const hits = document.getElementById("hits");
let running = new AbortController();
let isLoading = false;

const body = () => table.tBodies[0];

/** What the form asks for, as it stands in addresses. */
function asked() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value) query.set(name, value);
  return query;
}

function address(path, query) {
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

// -- filtering

/** Hide at once what does not fit, until the server has looked through all sessions. */
function sift() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of body().querySelectorAll("tr.session")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
}

let timer = 0;
function typed() {
  sift();
  clearTimeout(timer);
  timer = setTimeout(renew, QUICK);
}

async function renew() {
  clearTimeout(timer);
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const query = asked();
  history.replaceState(null, "", address("/", query));
  table.setAttribute("aria-busy", "true");
  try {
    show(await load(address("/rows", query), { signal }));
    table.removeAttribute("aria-busy");
    await search(query, signal);
  } catch (error) {
    if (error.name !== "AbortError") count.textContent = error.message;
  } finally {
    if (!signal.aborted) table.removeAttribute("aria-busy");
  }
}

function show(found) {
  const rows = found.querySelector("tbody");
  const words = rows.querySelector("template.count");
  if (words) count.replaceChildren(words.content);
  body().replaceWith(rows);
  looked();
}

/** Below the sessions that fit: what is found in the texts of all of them. */
async function search(query, signal) {
  const words = (query.get("q") ?? "").trim();
  if (words.length < 2) {
    hits.hidden = true;
    return;
  }
  await new Promise((resolve) => setTimeout(resolve, CALM));
  if (signal.aborted) return;
  const wanted = new URLSearchParams({ q: words });
  if (query.get("project")) wanted.set("in", query.get("project"));
  hits.replaceChildren(await load(address("/search/hits", wanted), { signal }));
  hits.hidden = hits.childElementCount === 0;
}

// -- more rows

async function further() {
  const from = body().dataset.more;
  if (!from || isLoading) return;
  isLoading = true;
  try {
    const { signal } = running;
    const found = (await load(from, { signal })).querySelector("tbody");
    body().dataset.more = found.dataset.more;
    body().append(...found.children);
    looked();
  } catch (error) {
    if (error.name !== "AbortError") more.textContent = error.message;
  } finally {
    isLoading = false;
  }
}

const bottom = new IntersectionObserver((seen) => seen.some((item) => item.isIntersecting) && further(), {
  rootMargin: "1200px",
});

// -- the health of rows that somebody looks at, one after the other

const waiting = new Set();
const visible = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (isIntersecting) waiting.add(target);
    else waiting.delete(target);
  }
  examine();
});
let isExamining = false;

async function examine() {
  if (isExamining) return;
  isExamining = true;
  await new Promise((resolve) => setTimeout(resolve, CALM));
  for (const row of waiting) {
    waiting.delete(row);
    if (!row.isConnected || row.hidden) continue;
    visible.unobserve(row);
    await ask(row, "");
  }
  isExamining = false;
}

async function ask(row, query) {
  try {
    const answer = await json(`/api/s/${row.dataset.ref}/health${query}`);
    delete row.dataset.unread;
    if (answer.state === "large") offer(row);
    else tell(row, answer.health);
  } catch (error) {
    row.querySelector("td.health").replaceChildren(badge("", "?", error.message));
  }
}

function badge(kind, words, title = "") {
  const found = document.createElement("span");
  found.className = `badge ${kind}`;
  found.textContent = words;
  if (title) found.title = title;
  return found;
}

function offer(row) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "look";
  button.title = "This session is large: click to read it";
  button.addEventListener("click", () => ask(row, "?now=1"));
  row.querySelector("td.health").replaceChildren(button);
}

function tell(row, health) {
  if (!health) return;
  row.querySelector(".turn-count").textContent = health.turns;
  const number = health.errors || health.warnings;
  const cell = row.querySelector("td.health");
  const kind = { error: "bad", warning: "warn", healthy: "good" }[health.verdict];
  const words = health.verdict === "healthy" ? "healthy" : `${number} ${health.verdict}${number === 1 ? "" : "s"}`;
  cell.replaceChildren(badge(kind, words, health.words.join("\n")));
  if (health.branches) cell.append(" ", badge("", health.branches === 1 ? "1 branch" : `${health.branches} branches`));
}

function looked() {
  waiting.clear();
  for (const row of body().querySelectorAll("tr[data-unread]")) visible.observe(row);
  mark();
  bottom.unobserve(more);
  bottom.observe(more);
  more.replaceChildren();
}

// -- which sessions are open now

let open = new Set();
function mark() {
  for (const row of body().querySelectorAll("tr.session")) row.querySelector(".live").hidden = !open.has(row.dataset.ref);
}

async function life() {
  if (!document.hidden) {
    try {
      open = new Set((await json("/api/sessions/live")).live);
      mark();
    } catch {
      // The bar on top says that the server does not answer.
    }
  }
  setTimeout(life, LIFE);
}

// -- keys

const titles = () => [...body().querySelectorAll("tr.session:not([hidden]) a.title")];

on("j", () => step(titles(), true));
on("k", () => step(titles(), false));
on("f", () => field.focus());

form.addEventListener("submit", (event) => {
  event.preventDefault();
  renew();
});
field.addEventListener("input", typed);
for (const control of form.querySelectorAll("select, input[type=checkbox]")) control.addEventListener("change", renew);
document.addEventListener("turnlog:indexed", () => {
  if (body().rows.length <= 120 && scrollY < 400) renew();
});
looked();
life();
if (field.value) search(asked(), running.signal).catch((error) => (hits.textContent = error.message));
