// Keys that work on every page; pages add their own with `on`.

const PAGES = { s: "/", f: "/search", p: "/prompts", i: "/insights", l: "/live", q: "/quest" };
const handlers = new Map();
let prefix = "";

/** Bind a key, except while the reader types into a field. `g x` means two keys in a row. */
export function on(key, act) {
  handlers.set(key, act);
}

/** Focus the next or the previous of some links. */
export function step(links, isForward) {
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? 0 : at + (isForward ? 1 : -1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function isTyping(target) {
  return target instanceof Element && target.closest("input:not([type=range]), textarea, select, [contenteditable]") !== null;
}

function onKeyDown(event) {
  if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const key = prefix ? `${prefix} ${event.key}` : event.key;
  prefix = !prefix && event.key === "g" ? "g" : "";
  const act = handlers.get(key);
  if (!act) return;
  event.preventDefault();
  act(event);
}

const help = document.getElementById("keys");
const field = document.getElementById("find");

on("?", () => help.showModal());
on("t", () => document.getElementById("theme").click());
on("/", () => {
  field.focus();
  field.select();
});
for (const [key, address] of Object.entries(PAGES)) on(`g ${key}`, () => location.assign(address));

document.getElementById("help").addEventListener("click", () => help.showModal());
document.addEventListener("keydown", onKeyDown);
