// Search as you type. The query in the field is the whole truth: a control is sent along once, and comes back in it.
import { load } from "./fragment.js";
import { on, step } from "./keys.js";

const QUICK = 180;
const CALM = 600;

const form = document.getElementById("query");
const field = document.getElementById("q");
const text = document.getElementById("text");
const mode = document.getElementById("mode");
const was = document.getElementById("was");
const results = document.getElementById("results");
const controls = [...form.querySelectorAll("[data-control]")];
let running = new AbortController();
let timer = 0;

/** What the form asks for; a control only if it was just changed. */
function asked(control) {
  const query = new URLSearchParams();
  if (field.value.trim()) query.set("q", field.value);
  if (mode.value !== "words") {
    query.set("mode", mode.value);
    query.set("text", text.value);
  }
  if (form.elements.sort.value) query.set("sort", form.elements.sort.value);
  if (control) {
    // What it was shown beside must differ from what it says now, or nobody has changed it.
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
  const waiting = setTimeout(() => mode.value !== "words" && say("Reading the files …"), CALM);
  try {
    const found = await load(`/search/results?${asked(control)}`, { signal });
    results.replaceChildren(found);
    agree(before);
    const query = asked().toString();
    history.replaceState(null, "", query ? `/search?${query}` : "/search");
  } catch (error) {
    if (error.name !== "AbortError") results.textContent = error.message;
  } finally {
    clearTimeout(waiting);
    if (!signal.aborted) results.removeAttribute("aria-busy");
  }
}

function say(words) {
  const found = document.createElement("p");
  found.className = "summary muted";
  found.textContent = words;
  results.replaceChildren(found);
}

/** Let the query and the controls say the same as the results. */
function agree(before) {
  const { q, controls: values } = results.firstElementChild.dataset;
  if (field.value === before && q !== before.trim()) field.value = q;
  was.value = q;
  show(JSON.parse(values));
}

function show(values) {
  for (const control of controls) {
    const value = values[control.dataset.control] ?? "";
    if (value && ![...control.options].some((option) => option.value === value)) control.add(new Option(value, value));
    control.value = value;
    control.classList.toggle("set", value !== "");
  }
}

function typed() {
  clearTimeout(timer);
  // A mode that reads files takes seconds: it waits until somebody has stopped typing.
  timer = setTimeout(search, mode.value === "words" ? QUICK : CALM);
}

function turn() {
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
field.addEventListener("input", typed);
text.addEventListener("input", typed);
mode.addEventListener("change", turn);
form.elements.sort.addEventListener("change", () => search());
for (const control of controls) control.addEventListener("change", () => search(control));
show(JSON.parse(results.firstElementChild.dataset.controls));
