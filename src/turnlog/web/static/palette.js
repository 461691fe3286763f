// The palette (Ctrl-K or Cmd-K on every page): sessions, turns, actions, settings, pages, and the texts of all sessions.
// Everything works by keyboard: arrows choose, Enter opens, Ctrl-Enter opens in a new tab, Escape closes.

import { json, load } from "./fragment.js";
import { readPreference, savePreference } from "./preferences.js";

const TEXT_DELAY_MS = 120;
const MAX_TEXT_ROWS = 8;
const MAX_CHARS_BEFORE_HIT = 32; // a row has one line, and its hit must be visible
const THEMES = { auto: "Colours of the system", light: "Light colours", dark: "Dark colours" };
const sources = [];
let dialog = null;
let field = null;
let list = null;
let status = null;
let request = null;
let timer = 0;
let round = 0;
let isMoved = false; // whether the reader has moved the choice since the last change of the text

/**
 * Add rows to the palette. `find` receives the text and returns rows, or a promise of rows:
 * `{ title, note, icon, address }` or `{ title, note, icon, act }`.
 */
export function addSource(heading, find) {
  sources.push({ heading, find });
}

function build() {
  dialog = element("dialog", "palette");
  dialog.id = "palette";
  dialog.setAttribute("aria-label", "Go to anything");
  field = element("input");
  field.type = "text";
  field.placeholder = "Go to a session, a turn, an action, or any text";
  for (const [name, value] of Object.entries({ role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "Go to", autocomplete: "off", spellcheck: "false", "aria-autocomplete": "list" }))
    field.setAttribute(name, value);
  list = element("div", "palette-list");
  list.id = "palette-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Matches");
  status = element("p", "palette-note");
  status.setAttribute("role", "status");
  dialog.append(field, list, status);
  document.body.append(dialog);
  field.addEventListener("input", () => update());
  dialog.addEventListener("keydown", onKeyDown);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
    const row = event.target.closest("[role=option]");
    if (row && !event.ctrlKey && !event.metaKey) choose(row, event);
  });
  dialog.addEventListener("close", () => request?.abort());
}

/** Open the palette. */
export function openPalette() {
  if (!dialog) build();
  if (dialog.open) return dialog.close();
  if (document.querySelector("dialog[open]")) return undefined;
  field.value = "";
  dialog.showModal();
  field.focus();
  return update();
}

// -- rows

function update() {
  const text = field.value.trim();
  const number = ++round;
  isMoved = false;
  request?.abort();
  request = new AbortController();
  clearTimeout(timer);
  const groups = new Map();
  const show = (heading, rows) => {
    if (number !== round) return;
    groups.set(heading, rows);
    draw(order.map((name) => [name, groups.get(name) ?? []]));
  };
  const order = ["Sessions", ...sources.map((source) => source.heading), "Actions", "Settings", "Pages", "Texts"];
  groups.set("Actions", matching(listActions(), text));
  groups.set("Settings", text ? matching(listSettings(), text) : []);
  show("Pages", matching(listPages(), text));
  const failures = (error) => error.name !== "AbortError" && (status.textContent = error.message);
  findSessions(text, request.signal).then((rows) => show("Sessions", rows)).catch(failures);
  for (const { heading, find } of sources) Promise.resolve(find(text, request.signal)).then((rows) => show(heading, rows)).catch(failures);
  if (text.length > 1) {
    const { signal } = request;
    timer = setTimeout(() => findTexts(text, signal).then((rows) => show("Texts", rows)).catch(failures), TEXT_DELAY_MS);
  }
}

async function findSessions(text, signal) {
  const { sessions } = await json(`/api/palette?${new URLSearchParams({ q: text })}`, { signal });
  return sessions.map(({ ref, title, project, age }) => ({ title, note: `${project} · ${age}`, icon: "session", address: `/s/${ref}` }));
}

async function findTexts(text, signal) {
  const found = await load(`/search/hits?${new URLSearchParams({ q: text })}`, { signal });
  const rows = [];
  for (const group of found.querySelectorAll(".hit-group")) {
    const note = group.querySelector("h2").textContent;
    for (const link of group.querySelectorAll("ol.found li > a")) {
      const snippet = link.querySelector(".snippet");
      // The sessions above have this title already.
      if (snippet.textContent === note) continue;
      rows.push({ content: shorten(snippet), title: snippet.textContent, note, icon: "text", address: link.getAttribute("href") });
    }
  }
  rows.splice(MAX_TEXT_ROWS);
  rows.push({ title: `Search all sessions for “${text}”`, note: "", icon: "search", address: `/search?${new URLSearchParams({ q: text })}` });
  return rows;
}

/** Return a snippet that starts shortly before its first hit. */
function shorten(snippet) {
  const content = snippet.cloneNode(true);
  const before = content.querySelector("mark")?.previousSibling;
  const text = before?.textContent ?? "";
  if (text.length > MAX_CHARS_BEFORE_HIT) {
    const end = text.slice(-MAX_CHARS_BEFORE_HIT);
    before.textContent = `… ${end.slice(end.search(/\s/) + 1)}`;
  }
  return content;
}

function listPages() {
  return [...document.querySelectorAll("nav.pages a")].map((link) => ({ title: link.textContent.trim(), note: "page", icon: "page", address: link.getAttribute("href") }));
}

function listActions() {
  return [...document.querySelectorAll(".actions-menu [data-verb], .actions-menu menu a, .session-bar .resume")].map((action) => ({
    title: action.querySelector(".verb")?.textContent ?? action.getAttribute("aria-label"),
    note: action.querySelector("small")?.textContent ?? "",
    icon: "action",
    ...(action.href ? { address: action.getAttribute("href") } : { act: () => action.click() }),
  }));
}

function listSettings() {
  const rows = Object.entries(THEMES)
    .filter(([name]) => name !== (readPreference("theme") ?? "auto"))
    .map(([name, title]) => ({ title, note: "setting", icon: "setting", act: () => savePreference("theme", name) }));
  for (const button of document.querySelectorAll(".session-bar [data-toggle]")) {
    const title = button.getAttribute("aria-label") ?? button.textContent.trim();
    rows.push({ title: `Show or hide: ${title}`, note: "setting", icon: "setting", act: () => button.click() });
  }
  for (const choice of document.querySelectorAll(".session-bar [name=density]:not(:checked)")) {
    rows.push({ title: `How much to show: ${choice.value}`, note: "setting of density", icon: "setting", act: () => choice.click() });
  }
  const overview = document.querySelector("#dashboard:not([hidden]) > summary");
  if (overview) rows.push({ title: "Show or hide: Overview", note: "setting", icon: "setting", act: () => overview.click() });
  for (const box of document.querySelectorAll("#columns [data-column], #filters [name=group]")) {
    const title = box.name === "group" ? "Group by project" : `Column ${box.parentElement.textContent.trim()}`;
    rows.push({ title: `${title}: ${box.checked ? "off" : "on"}`, note: "setting", icon: "setting", act: () => box.click() });
  }
  return rows;
}

function matching(rows, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ title, note }) => words.every((word) => `${title} ${note}`.toLowerCase().includes(word)));
}

// -- the list

function draw(groups) {
  const chosen = isMoved ? list.querySelector("[aria-selected=true]")?.dataset.id : "";
  const parts = [];
  let count = 0;
  for (const [heading, rows] of groups) {
    if (!rows.length) continue;
    const group = element("div", "palette-group");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", heading);
    const title = element("p", "palette-heading", heading);
    title.setAttribute("aria-hidden", "true");
    group.append(title, ...rows.map((row) => toOption(row, `palette-${count++}`)));
    parts.push(group);
  }
  list.replaceChildren(...parts);
  const options = listOptions();
  select(options.find((option) => option.dataset.id === chosen) ?? options[0]);
  status.textContent = count ? "" : "Nothing matches.";
}

function toOption(row, id) {
  const option = element(row.address ? "a" : "div", "palette-row");
  option.id = id;
  option.dataset.id = `${row.address ?? ""} ${row.title}`;
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", "false");
  option.tabIndex = -1;
  if (row.address) option.href = row.address;
  option.act = row.act;
  const icon = element("span", `ico ico-${row.icon}`);
  icon.setAttribute("aria-hidden", "true");
  const title = element("span", "palette-title");
  if (row.content) title.append(...row.content.cloneNode(true).childNodes);
  else title.textContent = row.title;
  option.append(icon, title, element("span", "palette-about", row.note));
  return option;
}

function listOptions() {
  return [...list.querySelectorAll("[role=option]")];
}

function select(option) {
  list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
  if (!option) return field.removeAttribute("aria-activedescendant");
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  return field.setAttribute("aria-activedescendant", option.id);
}

function onKeyDown(event) {
  const options = listOptions();
  const here = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  const moves = { ArrowDown: here + 1, ArrowUp: here - 1 + options.length, PageDown: Math.min(here + 8, options.length - 1), PageUp: Math.max(here - 8, 0) };
  if (event.key in moves && options.length) {
    event.preventDefault();
    isMoved = true;
    select(options[moves[event.key] % options.length]);
  } else if (event.key === "Enter" && options[here]) {
    event.preventDefault();
    choose(options[here], event);
  }
}

function choose(option, event) {
  event.preventDefault();
  if (option.href && (event.ctrlKey || event.metaKey)) return window.open(option.href, "_blank", "noopener");
  dialog.close();
  if (option.act) return option.act();
  return location.assign(option.href);
}

function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

addEventListener(
  "keydown",
  (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
    }
  },
  true,
);
document.getElementById("palette-open")?.addEventListener("click", openPalette);
