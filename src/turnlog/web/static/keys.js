// Keys that work on every page; pages add their own with `keys.on`.

const GO = { s: "/", f: "/search", i: "/insights", l: "/live" };
const bound = new Map();
let prefix = "";

/** Let a key do something, unless somebody is writing. `g x` is two keys after each other. */
export function on(key, act) {
  bound.set(key, act);
}

/** Go to the next of some links, or to the one before. */
export function step(links, isForward) {
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? 0 : at + (isForward ? 1 : -1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function writes(target) {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

function pressed(event) {
  if (event.key === "Escape" && writes(event.target)) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || writes(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const key = prefix ? `${prefix} ${event.key}` : event.key;
  prefix = !prefix && event.key === "g" ? "g" : "";
  const act = bound.get(key);
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
for (const [key, address] of Object.entries(GO)) on(`g ${key}`, () => location.assign(address));

document.getElementById("help").addEventListener("click", () => help.showModal());
document.addEventListener("keydown", pressed);
