// Search, filters and folding in an exported session. The page can be read without any of it.
"use strict";

const bar = document.getElementById("bar");
const field = document.getElementById("find");
const counter = document.getElementById("found");
const items = [...document.querySelectorAll("#content > .chapter > .item")];
const texts = new Map();
let hits = [];
let at = -1;

function textOf(item) {
  if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
  return texts.get(item);
}

function find() {
  const words = field.value.trim().toLowerCase();
  for (const item of items) item.classList.remove("off", "hit");
  hits = words ? items.filter((item) => textOf(item).includes(words)) : [];
  at = -1;
  if (words) {
    const found = new Set(hits);
    for (const item of items) item.classList.toggle("off", !found.has(item));
  }
  counter.textContent = words ? `${hits.length} found` : "";
}

function step(by) {
  if (!hits.length) return;
  hits[at]?.classList.remove("hit");
  at = (at + by + hits.length) % hits.length;
  const words = field.value.trim().toLowerCase();
  for (const fold of hits[at].querySelectorAll("details")) {
    if (fold.textContent.toLowerCase().includes(words)) fold.open = true;
  }
  hits[at].classList.add("hit");
  hits[at].scrollIntoView({ block: "start" });
  counter.textContent = `${at + 1} of ${hits.length}`;
}

function foldAll(open) {
  for (const fold of document.querySelectorAll("#content details")) fold.open = open;
}

function showTarget() {
  const name = decodeURIComponent(location.hash.slice(1));
  const target = name && document.getElementById(name);
  for (let place = target; place; place = place.parentElement?.closest("details")) {
    if (place.tagName === "DETAILS") place.open = true;
  }
  target?.scrollIntoView();
}

function nextTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
}

field?.addEventListener("input", find);
field?.addEventListener("keydown", (event) => {
  if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
});
bar?.addEventListener("click", (event) => {
  const act = { open: () => foldAll(true), fold: () => foldAll(false), next: () => step(1), back: () => step(-1), theme: nextTheme };
  act[event.target.dataset?.act]?.();
});
bar?.addEventListener("change", (event) => {
  const part = event.target.dataset?.part;
  if (part) document.body.classList.toggle(`no-${part}`, !event.target.checked);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && field && document.activeElement !== field && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field.focus();
  }
});
addEventListener("hashchange", showTarget);
if (bar) bar.hidden = false;
if (location.hash) showTarget();
