// The saved and the recent searches. Each saved search is a preference of its own, so that two pages that save at the
// same time keep both.

import { listPreferences, onPreference, readPreference, savePreference } from "../preferences.js";

const SAVED_PREFIX = "search.saved.";
const RECENT_NAME = "search.recent";
const MAX_RECENT = 12;
export const MAX_SAVED = 50;

/** Return the saved searches as { key, name, address }, by name. */
export function listSaved() {
  const saved = listPreferences(SAVED_PREFIX).map(([key, value]) => ({ key, name: value?.name || describe(value?.address), address: value?.address }));
  return saved.filter(({ address }) => isSearch(address)).sort((one, other) => one.name.localeCompare(other.name));
}

function listRecent() {
  const recent = readPreference(RECENT_NAME, []);
  return Array.isArray(recent) ? recent.filter(isSearch).slice(0, MAX_RECENT) : [];
}

/** Save a search; one with the same address gets the new name. */
export function saveSearch(name, address) {
  const same = listSaved().find((item) => item.address === address);
  savePreference(same?.key ?? `${SAVED_PREFIX}${Date.now().toString(36)}`, { name, address });
}

/** Put a search in front of the recent ones. */
export function recordSearch(address) {
  if (!isSearch(address)) return;
  savePreference(RECENT_NAME, [address, ...listRecent().filter((other) => other !== address)].slice(0, MAX_RECENT));
}

/** Describe a search by its text and query. */
export function describe(address = "") {
  const params = new URLSearchParams(address.split("?")[1] ?? "");
  return [params.get("text"), params.get("q")].filter(Boolean).join(" ").slice(0, 120) || "everything";
}

function isSearch(address) {
  return typeof address === "string" && address.startsWith("/search?");
}

/** Fill the lists in an element, with a button to remove each search. */
export function showRemembered(element) {
  fill(element, "saved", listSaved(), ({ key }) => savePreference(key, null));
  const recent = listRecent().map((address) => ({ name: describe(address), address }));
  fill(element, "recent", recent, ({ address }) => savePreference(RECENT_NAME, listRecent().filter((other) => other !== address)), () => savePreference(RECENT_NAME, null));
  for (const menu of element.querySelectorAll(".remembered-menu")) menu.hidden = !menu.querySelector("section:not([hidden])");
}

function fill(element, name, searches, remove, clear) {
  for (const section of element.querySelectorAll(`[data-remembered=${name}]`)) {
    section.hidden = !searches.length;
    section.querySelector("ul").replaceChildren(...searches.map((search) => toRow(search, () => leave(section, () => remove(search)))));
    section.querySelector(".clear")?.remove();
    if (clear && searches.length > 1) section.append(toButton("clear", "Forget all recent searches", () => leave(section, clear), "Forget all"));
  }
}

// The button that had the focus is gone after the change.
function leave(section, act) {
  act();
  (section.querySelector("button") ?? document.getElementById("q")).focus();
}

function toRow({ name, address }, remove) {
  const row = document.createElement("li");
  const link = document.createElement("a");
  const words = document.createElement("bdi");
  words.textContent = name;
  link.href = address;
  link.append(words);
  row.append(link, toButton("quiet remove", `Forget the search ${name}`, remove));
  return row;
}

function toButton(className, label, act, text = "") {
  const button = document.createElement("button");
  button.type = "button";
  button.className = className;
  button.setAttribute("aria-label", label);
  button.title = label;
  if (text) button.textContent = text;
  else {
    const icon = document.createElement("span");
    icon.className = "ico ico-close";
    icon.setAttribute("aria-hidden", "true");
    button.append(icon);
  }
  button.addEventListener("click", act);
  return button;
}

/** Call a function whenever the remembered searches change, here or in another tab. */
export function onRemembered(listener) {
  onPreference(RECENT_NAME, listener);
  for (const { key } of listSaved()) onPreference(key, listener);
}
