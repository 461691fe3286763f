// Notifications in this browser, on request: the browser's own, and a title that flashes while the page is hidden.
// One page of a browser listens for all of them, because a browser allows only six connections to one server.

import { onPreference, readPreference, savePreference } from "./preferences.js";

const PREFERENCE = "notify";
const LOCK = "turnlog-notifications";
const FLASH_MS = 1000;
const RETRY_MS = 5000;
let stopListening = null;
let flashTimer = 0;
let plainTitle = null;

const isOn = () => readPreference(PREFERENCE) === "on";
const canShow = () => "Notification" in window && Notification.permission === "granted";

// -- showing

function show({ id, headline, body }) {
  if (document.hidden) flashTitle(headline);
  if (!canShow()) return;
  // The tag keeps a message that arrives twice from being shown twice.
  const shown = new Notification(headline, { body, tag: id });
  shown.addEventListener("click", () => {
    window.focus();
    if (location.pathname !== "/live") location.assign("/live");
    shown.close();
  });
}

function flashTitle(text) {
  endFlash();
  const flip = () => {
    if (plainTitle === null) {
      plainTitle = document.title;
      document.title = `● ${text}`;
    } else {
      document.title = plainTitle;
      plainTitle = null;
    }
  };
  flip();
  flashTimer = setInterval(flip, FLASH_MS);
}

function endFlash() {
  clearInterval(flashTimer);
  if (plainTitle !== null) document.title = plainTitle;
  plainTitle = null;
}

document.addEventListener("visibilitychange", () => document.hidden || endFlash());

// -- listening

function listen() {
  if (stopListening || !navigator.locks) return;
  const ending = new AbortController();
  stopListening = () => {
    ending.abort();
    stopListening = null;
    endFlash();
  };
  const follow = () =>
    new Promise((resolve) => {
      let source = null;
      let timer = 0;
      function open() {
        source = new EventSource("/api/notifications/updates");
        source.addEventListener("notification", (event) => show(JSON.parse(event.data)));
        source.addEventListener("error", () => {
          if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, RETRY_MS);
        });
      }
      open();
      ending.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        source.close();
        resolve();
      });
    });
  navigator.locks.request(LOCK, { signal: ending.signal }, follow).catch((error) => {
    if (error.name !== "AbortError") throw error;
  });
}

function apply() {
  if (isOn()) listen();
  else stopListening?.();
  const button = document.getElementById("notify");
  if (!button) return;
  button.hidden = !navigator.locks;
  button.setAttribute("aria-pressed", String(isOn()));
  const blocked = "Notification" in window && Notification.permission === "denied";
  document.getElementById("notify-note").textContent =
    isOn() && blocked ? "This browser blocks notifications; only the title of the page will flash." : "";
}

document.getElementById("notify")?.addEventListener("click", async () => {
  const next = isOn() ? "off" : "on";
  savePreference(PREFERENCE, next);
  apply();
  if (next === "on" && "Notification" in window && Notification.permission === "default") {
    await Notification.requestPermission();
    apply();
  }
});
onPreference(PREFERENCE, apply);
addEventListener("pagehide", () => stopListening?.());
addEventListener("pageshow", apply);
apply();
