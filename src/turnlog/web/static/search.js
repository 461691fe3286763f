// Search as you type. The query contains the whole state: the choices beside the results are links to other queries.
import { load } from "./fragment.js";
import { on, step } from "./keys.js";
import { MAX_SAVED, describe, listSaved, onRemembered, recordSearch, saveSearch, showRemembered } from "./search/remembered.js";

const INPUT_DELAY_MS = 180;
const SCAN_DELAY_MS = 600;
const COUNT_DELAY_MS = 400;

const form = document.getElementById("query");
const field = document.getElementById("q");
const text = document.getElementById("text");
const mode = document.getElementById("mode");
const results = document.getElementById("results");
const said = document.getElementById("said");
const saveButton = document.getElementById("save-search");
const saveDialog = document.getElementById("save");
const facetsButton = document.getElementById("facets-open");
let running = new AbortController();
/** Settles when the latest search has ended. */
let latest = Promise.resolve();
let timer = 0;
let counting = 0;
let wasBusy = false;

const here = () => location.pathname + location.search;

/** Read the form as the query part of an address. */
function readForm() {
  const query = new URLSearchParams();
  if (field.value.trim()) query.set("q", field.value);
  if (mode.value !== "words") {
    query.set("mode", mode.value);
    query.set("text", text.value);
  }
  if (form.elements.sort.value) query.set("sort", form.elements.sort.value);
  return query;
}

/** Put the query of an address into the form. */
function fillForm(query) {
  field.value = query.get("q") ?? "";
  text.value = query.get("text") ?? "";
  mode.value = query.get("mode") ?? "words";
  form.elements.sort.value = query.get("sort") ?? "";
  showMode();
}

/** Load the results of a query; `keeps` says how its address enters the history: "replace", "push" or not at all. */
function search(query = readForm(), keeps = "replace") {
  latest = loadResults(query, keeps);
  return latest;
}

async function loadResults(query, keeps) {
  clearTimeout(timer);
  clearTimeout(counting);
  running.abort();
  running = new AbortController();
  const { signal } = running;
  // At once, so that Back works while the results are being loaded.
  const address = query.toString() ? `/search?${query}` : "/search";
  if (keeps === "push") history.pushState(null, "", address);
  else if (keeps === "replace") history.replaceState(history.state, "", address);
  results.setAttribute("aria-busy", "true");
  const waiting = setTimeout(() => mode.value !== "words" && showNotice("Reading the files …"), SCAN_DELAY_MS);
  try {
    show(await load(`/search/results?${query}`, { signal }));
    afterResults();
    count(query, signal);
  } catch (error) {
    if (error.name !== "AbortError") showNotice(error.message);
  } finally {
    clearTimeout(waiting);
    if (!signal.aborted) results.removeAttribute("aria-busy");
  }
}

// What the server could not count while the reader typed, it counts once the reader stops.
function count(query, signal) {
  if (results.firstElementChild.dataset.uncounted === undefined) return;
  counting = setTimeout(async () => {
    const rest = new URLSearchParams(query);
    rest.set("counts", "all");
    try {
      const found = await load(`/search/results?${rest}`, { signal });
      if (!signal.aborted) show(found);
      afterResults();
    } catch (error) {
      if (error.name !== "AbortError") results.querySelector(".counting")?.remove();
    }
  }, COUNT_DELAY_MS);
}

// Results are replaced as a whole; the focus, open lists and an open menu stay.
function show(found) {
  const focused = document.activeElement?.closest("[data-facet]")?.dataset.facet;
  const open = [...results.querySelectorAll("details[data-more][open]")].map((details) => details.dataset.more);
  results.replaceChildren(found);
  for (const details of results.querySelectorAll("details[data-more]")) details.open = open.includes(details.dataset.more);
  if (focused) (findChoice(focused) ?? field).focus();
}

function afterResults() {
  const total = results.querySelector(".total")?.textContent.replace(/\s+/g, " ").trim() ?? "";
  if (said.textContent !== total) said.textContent = total;
  saveButton.hidden = !readForm().has("q") && !text.value;
  const chosen = results.querySelectorAll(".chosen li").length;
  facetsButton.textContent = chosen ? `Filters (${chosen})` : "Filters";
  document.title = `${(text.value || field.value).slice(0, 60)}${text.value || field.value ? " · " : ""}Search · turnlog`;
  showRemembered(results);
}

function showNotice(words) {
  const line = document.createElement("p");
  line.className = "summary muted";
  line.textContent = words;
  const column = document.createElement("div");
  column.className = "results";
  column.append(line);
  results.replaceChildren(column);
}

function onInput() {
  clearTimeout(timer);
  // A mode that reads files takes seconds, so it waits until the reader stops typing.
  timer = setTimeout(() => search(), mode.value === "words" ? INPUT_DELAY_MS : SCAN_DELAY_MS);
}

function showMode() {
  form.dataset.mode = mode.value;
  const isWords = mode.value === "words";
  document.getElementById("q-caption").textContent = isWords ? "Query" : "Filters";
  field.placeholder = isWords ? field.dataset.words : field.dataset.filters;
}

function changeMode() {
  showMode();
  if (mode.value !== "words" && !text.value) text.focus();
  search();
}

// A plain click on a choice or a remembered search stays on this page; a hit leaves it.
function onClick(event) {
  const link = event.target.closest("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const address = new URL(link.href);
  if (address.pathname !== "/search") {
    recordSearch(here());
    return;
  }
  event.preventDefault();
  const { facet } = link.dataset;
  if (facet && results.hasAttribute("aria-busy")) {
    // Its query adds a filter to the previous query, or removes one: it would undo what has just been chosen.
    latest.then(() => findChoice(facet)?.click());
    return;
  }
  fillForm(address.searchParams);
  search(address.searchParams, "push").then(() => recordSearch(here()));
}

function findChoice(facet) {
  return [...results.querySelectorAll("[data-facet]")].find((link) => link.dataset.facet === facet);
}

function openSaveDialog() {
  const address = here();
  if (listSaved().length >= MAX_SAVED && !listSaved().some((item) => item.address === address)) {
    said.textContent = `At most ${MAX_SAVED} searches can be saved; remove one first.`;
    results.querySelector(".found-column")?.prepend(Object.assign(document.createElement("p"), { className: "coverage", textContent: said.textContent }));
    return;
  }
  const name = saveDialog.querySelector("input");
  name.value = listSaved().find((item) => item.address === address)?.name ?? describe(address);
  saveDialog.returnValue = "";
  saveDialog.showModal();
  name.select();
}

const links = () => [...results.querySelectorAll("ol.found a")];

on("j", () => step(links(), true));
on("k", () => step(links(), false));
on("/", () => {
  field.focus();
  field.select();
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  search().then(() => recordSearch(here()));
});
field.addEventListener("input", onInput);
text.addEventListener("input", onInput);
mode.addEventListener("change", changeMode);
form.elements.sort.addEventListener("change", () => search());
results.addEventListener("click", onClick);
addEventListener("popstate", () => {
  const query = new URLSearchParams(location.search);
  fillForm(query);
  search(query, "");
});
saveButton.addEventListener("click", openSaveDialog);
saveDialog.querySelector(".cancel").addEventListener("click", () => saveDialog.close(""));
saveDialog.addEventListener("close", () => {
  const name = saveDialog.querySelector("input").value.trim();
  if (saveDialog.returnValue !== "save" || !name) return;
  saveSearch(name, here());
  onRemembered(() => showRemembered(results));
  showRemembered(results);
  said.textContent = `Saved as ${name}.`;
});
facetsButton.addEventListener("click", () => {
  const isOpen = results.classList.toggle("facets-shown");
  facetsButton.setAttribute("aria-expanded", String(isOpen));
});
// While the index grows, the results and what they say of it follow. A search that reads files covers everything already.
function follow() {
  const isPartial = results.firstElementChild.dataset.partial !== undefined;
  if (isPartial && mode.value === "words" && !results.contains(document.activeElement)) search(new URLSearchParams(location.search), "");
}

document.addEventListener("turnlog:indexed", follow);
document.addEventListener("turnlog:state", ({ detail }) => {
  if (wasBusy && !detail.is_busy) follow();
  wasBusy = detail.is_busy;
});

// The attribute autofocus would scroll to the field after Back, too.
if (performance.getEntriesByType("navigation")[0]?.type === "navigate") field.focus();
results.classList.add("foldable");
facetsButton.hidden = false;
onRemembered(() => showRemembered(results));
afterResults();
count(new URLSearchParams(location.search), running.signal);
if (here() !== "/search") recordSearch(here());
