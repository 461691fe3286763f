// Search as you type. The query field contains the whole state: a changed control is sent once, then part of it.
import { load } from "./fragment.js";
import { on, step } from "./keys.js";

const INPUT_DELAY_MS = 180;
const SCAN_DELAY_MS = 600;

const form = document.getElementById("query");
const field = document.getElementById("q");
const text = document.getElementById("text");
const mode = document.getElementById("mode");
const was = document.getElementById("was");
const results = document.getElementById("results");
const controls = [...form.querySelectorAll("[data-control]")];
let running = new AbortController();
let timer = 0;

/** Read the form as a query; includes a control only if it was just changed. */
function readQuery(control) {
  const query = new URLSearchParams();
  if (field.value.trim()) query.set("q", field.value);
  if (mode.value !== "words") {
    query.set("mode", mode.value);
    query.set("text", text.value);
  }
  if (form.elements.sort.value) query.set("sort", form.elements.sort.value);
  if (control) {
    // The server compares the control with the query for which it was shown to see what changed.
    query.set("was", was.value);
    query.set(control.name, control.value);
  }
  return query;
}

async function search(control) {
  clearTimeout(timer);
  running.abort();
  running = new AbortController();
  const { signal } = running;
  results.setAttribute("aria-busy", "true");
  const before = field.value;
  const waiting = setTimeout(() => mode.value !== "words" && showNotice("Reading the files …"), SCAN_DELAY_MS);
  try {
    results.replaceChildren(await load(`/search/results?${readQuery(control)}`, { signal }));
    syncForm(before);
    const query = readQuery().toString();
    history.replaceState(null, "", query ? `/search?${query}` : "/search");
  } catch (error) {
    if (error.name !== "AbortError") results.textContent = error.message;
  } finally {
    clearTimeout(waiting);
    if (!signal.aborted) results.removeAttribute("aria-busy");
  }
}

function showNotice(text) {
  const line = document.createElement("p");
  line.className = "summary muted";
  line.textContent = text;
  results.replaceChildren(line);
}

/** Update the query and the controls to match the results. */
function syncForm(before) {
  const { q, controls: values } = results.firstElementChild.dataset;
  if (field.value === before && q !== before.trim()) field.value = q;
  was.value = q;
  showControls(JSON.parse(values));
}

function showControls(values) {
  for (const control of controls) {
    const value = values[control.dataset.control] ?? "";
    if (value && ![...control.options].some((option) => option.value === value)) control.add(new Option(value, value));
    control.value = value;
    control.classList.toggle("set", value !== "");
  }
}

function onInput() {
  clearTimeout(timer);
  // A mode that reads files takes seconds, so it waits until the reader stops typing.
  timer = setTimeout(search, mode.value === "words" ? INPUT_DELAY_MS : SCAN_DELAY_MS);
}

function changeMode() {
  form.dataset.mode = mode.value;
  const isWords = mode.value === "words";
  document.getElementById("q-caption").textContent = isWords ? "Query" : "Filters";
  field.placeholder = isWords ? field.dataset.words : field.dataset.filters;
  if (mode.value !== "words" && !text.value) text.focus();
  search();
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
  search();
});
field.addEventListener("input", onInput);
text.addEventListener("input", onInput);
mode.addEventListener("change", changeMode);
form.elements.sort.addEventListener("change", () => search());
for (const control of controls) control.addEventListener("change", () => search(control));
document.addEventListener("turnlog:indexed", () => {
  // A search that reads files covers everything already.
  const isPartial = results.firstElementChild.dataset.partial !== undefined;
  if (isPartial && mode.value === "words" && !results.contains(document.activeElement)) search();
});
showControls(JSON.parse(results.firstElementChild.dataset.controls));
