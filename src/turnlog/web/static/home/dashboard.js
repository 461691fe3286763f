// The dashboard above the list: remembers whether it is folded, and shows which sessions need the reader.
import { makeAllNavigable } from "../chart_marks.js";
import { json, load } from "../fragment.js";
import { on } from "../keys.js";
import { readPreference, savePreference } from "../preferences.js";

const PREFERENCE = "home.dashboard";
const POLL_MS = 15_000;
const MAX_ROWS = 5;
const details = document.getElementById("dashboard");
const content = document.getElementById("dashboard-content");
let needs = null;
let original = copyCards(content); // as the server sent it, before scripts changed it

export function startDashboard() {
  makeAllNavigable(content);
  scrollToToday();
  details.open = readPreference(PREFERENCE, true); // the server may not have received the last choice yet
  details.addEventListener("toggle", () => {
    // The browser also reports that the page began unfolded, which is no choice.
    if (details.open !== readPreference(PREFERENCE, true)) savePreference(PREFERENCE, details.open);
    scrollToToday();
  });
  on("d", () => {
    details.open = !details.open;
  });
  pollNeeds();
}

/** Load the dashboard again after the index has changed. */
export async function refreshDashboard() {
  const fresh = await load("/dashboard");
  const cards = copyCards(fresh);
  if (cards === original || cards?.isEqualNode(original)) return;
  original = cards;
  details.hidden = !cards;
  content.replaceChildren(fresh);
  makeAllNavigable(content);
  scrollToToday();
  showNeeds();
}

function copyCards(place) {
  return place.querySelector(".cards")?.cloneNode(true) ?? null;
}

/** On a narrow screen, the year is scrolled to its end. */
function scrollToToday() {
  const year = content.querySelector(".year-scroll");
  if (year) year.scrollLeft = year.scrollWidth;
}

async function pollNeeds() {
  if (!document.hidden && details.open && !details.hidden) {
    try {
      needs = (await json("/api/live")).sessions.filter((session) => session.column === "needs");
      showNeeds();
    } catch {
      // The header already shows that the server does not respond.
    }
  }
  setTimeout(pollNeeds, POLL_MS);
}

function showNeeds() {
  const place = document.getElementById("needs");
  if (!place || needs === null) return;
  if (needs.length === 0) {
    place.replaceChildren(createElement("p", "muted", "No session is waiting for you."));
    return;
  }
  const list = createElement("ol", "entries");
  for (const session of needs.slice(0, MAX_ROWS)) {
    const row = document.createElement("li");
    const link = createElement("a", "", session.title || "(no title)");
    link.href = `/live/${session.ref}`;
    row.append(link, createElement("span", "figure", session.project.split(/[/\\]/).pop()));
    list.append(row);
  }
  place.replaceChildren(list);
  if (needs.length > MAX_ROWS) {
    const more = createElement("p", "card-more");
    const link = createElement("a", "", `${needs.length} sessions`);
    link.href = "/live";
    more.append(link);
    place.append(more);
  }
}

function createElement(name, kind, text = "") {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  element.textContent = text;
  return element;
}
