// The reader's choices. The server keeps them in turnlog's data folder and puts them into every page
// (`<html data-preferences>`), so that reading one needs no request. Changes are sent at once and together.
//
// A change that the server has not confirmed yet is also in this tab's session storage: a page that is opened before
// the confirmation shows it, and sends it again. Other tabs hear of a change through a channel.

import { json, post } from "./fragment.js";

const PENDING_KEY = "turnlog-pending-preferences";
const RETRY_MS = 2000;
const REFUSED_RETRY_MS = 30_000;
const root = document.documentElement;
const values = JSON.parse(root.dataset.preferences || "{}");
const listeners = new Map();
const channel = "BroadcastChannel" in window ? new BroadcastChannel("turnlog-preferences") : null;
let pending = readPending();
let sending = null;
let timer = 0;

function readPending() {
  try {
    return JSON.parse(sessionStorage.getItem(PENDING_KEY)) ?? {};
  } catch {
    return {};
  }
}

function storePending() {
  const changes = { ...sending, ...pending };
  try {
    if (Object.keys(changes).length) sessionStorage.setItem(PENDING_KEY, JSON.stringify(changes));
    else sessionStorage.removeItem(PENDING_KEY);
  } catch {
    // Without storage, only the request carries the change.
  }
}

function assign(name, value) {
  if (value === null) delete values[name];
  else values[name] = value;
}

function report(name) {
  for (const listener of listeners.get(name) ?? []) listener(readPreference(name));
}

/** Return a remembered value, or the fallback. */
export function readPreference(name, fallback = null) {
  return values[name] ?? fallback;
}

/** Return the remembered values whose names start with a text, as pairs of name and value. */
export function listPreferences(prefix) {
  return Object.entries(values).filter(([name]) => name.startsWith(prefix));
}

/** Remember a value, which is anything that JSON can hold; null forgets it. */
export function savePreference(name, value) {
  if (JSON.stringify(values[name] ?? null) === JSON.stringify(value)) return;
  assign(name, value);
  pending[name] = value;
  storePending();
  channel?.postMessage({ [name]: value });
  report(name);
  clearTimeout(timer);
  timer = setTimeout(send);
}

/** Call a function with the new value whenever a preference changes, in this tab or in another one. */
export function onPreference(name, listener) {
  if (!listeners.has(name)) listeners.set(name, []);
  listeners.get(name).push(listener);
}

async function send() {
  clearTimeout(timer);
  timer = 0;
  if (sending || !Object.keys(pending).length) return;
  sending = pending;
  pending = {};
  try {
    // `keepalive`: the request survives leaving the page.
    await post("/api/preferences", { set: sending }, { keepalive: true });
  } catch (error) {
    if (error.status === 0 || error.status === 403 || error.status >= 500) {
      pending = { ...sending, ...pending };
      // A server that was restarted refuses this browser until its new address is opened.
      timer = setTimeout(send, error.status === 403 ? REFUSED_RETRY_MS : RETRY_MS);
    } else console.warn(`turnlog: a choice was not kept: ${error.message}`);
  }
  sending = null;
  storePending();
  if (!timer) send();
}

function adopt(changes) {
  for (const [name, value] of Object.entries(changes)) {
    assign(name, value);
    report(name);
  }
}

// The browser may show a page again as it was left.
async function refresh(event) {
  if (!event.persisted) return;
  const { values: saved } = await json("/api/preferences");
  const gone = Object.keys(values).filter((name) => !(name in saved)).map((name) => [name, null]);
  adopt({ ...Object.fromEntries(gone), ...saved, ...pending });
}

for (const [name, value] of Object.entries(pending)) assign(name, value);
send();
channel?.addEventListener("message", (event) => adopt(event.data));
addEventListener("pagehide", send);
addEventListener("pageshow", refresh);
