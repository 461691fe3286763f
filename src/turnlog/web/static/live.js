// The page that follows one session live.

import { follow } from "./follow.js";
import { Lines } from "./live/lines.js";
import { showConnection, startClock, writeAges } from "./live/since.js";
import { watchAgents } from "./session/agents.js";
import { copyItem, watchCopies } from "./session/copy.js";
import { watchRaw } from "./session/raw.js";

const root = document.querySelector(".following");
const one = (selector) => root.querySelector(selector);
const main = new Lines(one(".live-items"));
const crew = new Map();
const more = one(".more");
const NEAR_BOTTOM_PX = 120;
let unseen = 0;
let isAtBottom = true;

for (const details of root.querySelectorAll("details.live-agent")) {
  crew.set(details.dataset.agent, { details, lines: new Lines(details.querySelector(".live-items")) });
}

// -- the bottom of the page stays in view unless the reader scrolls up

const distanceToBottom = () => document.documentElement.scrollHeight - innerHeight - scrollY;

function toBottom() {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  isAtBottom = true;
  unseen = 0;
  more.hidden = true;
}

addEventListener(
  "scroll",
  () => {
    isAtBottom = distanceToBottom() < NEAR_BOTTOM_PX;
    if (isAtBottom) {
      unseen = 0;
      more.hidden = true;
    }
  },
  { passive: true },
);

// Unfolding and late loading change the height without scrolling.
new ResizeObserver(() => {
  if (isAtBottom) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}).observe(one(".live-items"));

function onNewItems(news) {
  if (isAtBottom) {
    main.trim();
    toBottom();
  } else if (news) {
    unseen += news;
    more.textContent = `${unseen} new ↓`;
    more.hidden = false;
  }
}

more.addEventListener("click", toBottom);

// -- sub-agents

function getAgent(name) {
  if (!crew.has(name)) {
    const details = one("#agent").content.firstElementChild.cloneNode(true);
    details.dataset.agent = name;
    details.querySelector("a").href = `/s/${root.dataset.ref}/agent/${encodeURIComponent(name)}`;
    one(".crew").append(details);
    one(".live-aside").hidden = false;
    crew.set(name, { details, lines: new Lines(details.querySelector(".live-items")) });
    updateCrewCount();
  }
  return crew.get(name);
}

function updateCrewCount() {
  const busy = [...crew.values()].filter(({ details }) => details.classList.contains("at-work")).length;
  one(".crew-count").textContent = busy ? `${crew.size}, ${busy} working` : `${crew.size}`;
}

function showState(element, state) {
  element.querySelector(".words").textContent = state.words;
  element.querySelector("[data-since]").dataset.since = state.since ?? "";
  element.dataset.kind = state.kind;
  element.title = explain(state);
}

function explain({ confidence, reason }) {
  if (!reason) return "";
  return confidence === "inferred" ? `Inferred: ${reason}.` : `${reason[0].toUpperCase()}${reason.slice(1)}.`;
}

// -- calls without a result: they are running while their session works

const RUNNING = { running: "running", permission: "running?", waiting: "waiting for you" };

function markRunning(list, kind) {
  const last = [...list.querySelectorAll(":scope > .item.answer")].at(-1);
  for (const card of list.querySelectorAll(".card.outcome-unanswered")) {
    const label = last?.contains(card) ? RUNNING[kind] : undefined;
    if (!label && !card.classList.contains("at-work")) continue;
    card.classList.toggle("at-work", Boolean(label));
    const outcome = card.querySelector(":scope > summary .outcome");
    if (outcome) outcome.textContent = label ?? "no result";
  }
}

function markAll() {
  markRunning(one(".transcript"), one(".live-bar .doing").dataset.kind);
  for (const { details, lines } of crew.values()) markRunning(lines.root, details.dataset.kind);
}

// -- events

function onItems({ parts }) {
  let news = 0;
  for (const part of parts) {
    if (part.stream) getAgent(part.stream).lines.apply(part);
    else news += main.apply(part);
  }
  markAll();
  if (parts.some((part) => !part.stream)) onNewItems(news);
}

function onReset({ stream, reason, parts }) {
  if (!stream) main.clear();
  if (!stream) one(".link").hidden = false;
  if (stream) getAgent(stream).lines.clear();
  if (stream === null) {
    for (const { details } of crew.values()) details.remove();
    crew.clear();
  }
  const notes = { replaced: "The file was replaced.", truncated: "The file was truncated.", rewritten: "The file was rewritten." };
  showNote(notes[reason] ?? "");
  onItems({ parts });
}

function onState(now) {
  showState(one(".doing"), now);
  one(".doing").dataset.column = now.column;
  const meter = one(".fill meter");
  one(".fill").hidden = !now.context;
  if (now.context) {
    meter.max = now.window ?? now.context;
    meter.value = now.context;
    const share = now.window ? ` of ${short(now.window)}` : "";
    one(".fill span").textContent = `${short(now.context)}${share} context`;
  }
  for (const [name, agentState] of Object.entries(now.streams)) {
    const { details } = getAgent(name);
    showState(details, agentState);
    details.classList.toggle("at-work", ["answering", "running", "retrying", "waiting", "permission"].includes(agentState.kind));
  }
  updateCrewCount();
  markAll();
  writeAges(root);
  document.title = `${now.column === "needs" ? "● " : ""}${root.dataset.title} · live`;
}

// As the server writes it: 999, 12.3k, 1.0M.
function short(tokens) {
  const [amount, unit] = tokens < 999.5 ? [tokens, ""] : tokens < 999_500 ? [tokens / 1e3, "k"] : [tokens / 1e6, "M"];
  return `${amount.toFixed(unit && amount < 99.95 ? 1 : 0)}${unit}`;
}

function showNote(text) {
  one(".live-note").textContent = text;
}

function onDeleted() {
  showNote("This session's file was deleted.");
  one(".link").hidden = true;
}

function onAgent({ agent: name, type, description }) {
  const { details } = getAgent(name);
  details.querySelector(".name").textContent = description || type || name;
  details.querySelector(".type").textContent = description ? type : "";
}

follow(`/api/s/${root.dataset.ref}/updates`, {
  cursor: root.dataset.cursor,
  handlers: {
    items: onItems,
    reset: onReset,
    state: onState,
    agent: onAgent,
    gone: ({ stream }) => stream || onDeleted(),
  },
  onStatus: (isConnected) => showConnection(root, isConnected),
});

watchAgents(root);
watchRaw(root, document.getElementById("raw"));
watchCopies(document.body, { notify: showNote, copyItem: copyMarkdown });

function copyMarkdown(article) {
  const home = article.closest(".live-agent");
  const page = home ? `/s/${root.dataset.ref}/agent/${encodeURIComponent(home.dataset.agent)}` : `/s/${root.dataset.ref}`;
  return copyItem(`${page}/item?${new URLSearchParams({ key: article.dataset.key })}`, showNote);
}

one(".show-meta").addEventListener("click", (event) => {
  const isOn = root.classList.toggle("with-meta");
  event.currentTarget.setAttribute("aria-pressed", isOn);
});
markAll();
startClock(root);
toBottom();
