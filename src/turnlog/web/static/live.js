// The page that follows one session.

import { follow } from "./follow.js";
import { Lines } from "./live/lines.js";
import { count, write } from "./live/since.js";
import { watchAgents } from "./session/agents.js";
import { copyItem, watchCopies } from "./session/copy.js";
import { watchRaw } from "./session/raw.js";

const root = document.querySelector(".following");
const one = (wanted) => root.querySelector(wanted);
const main = new Lines(one(".live-items"));
const crew = new Map();
const more = one(".more");
const NEAR = 120;
let unseen = 0;
let sticks = true;

for (const details of root.querySelectorAll("details.live-agent")) {
  crew.set(details.dataset.agent, { details, lines: new Lines(details.querySelector(".live-items")) });
}

// -- the bottom of the page: it stays in view unless the reader went up

const foot = () => document.documentElement.scrollHeight - innerHeight - scrollY;

function toBottom() {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  sticks = true;
  unseen = 0;
  more.hidden = true;
}

addEventListener(
  "scroll",
  () => {
    sticks = foot() < NEAR;
    if (sticks) {
      unseen = 0;
      more.hidden = true;
    }
  },
  { passive: true },
);

// What is unfolded, or loaded late, makes the page longer without anybody's scrolling.
new ResizeObserver(() => {
  if (sticks) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}).observe(one(".live-items"));

function arrived(news) {
  if (sticks) {
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

function agent(name) {
  if (!crew.has(name)) {
    const details = one("#agent").content.firstElementChild.cloneNode(true);
    details.dataset.agent = name;
    details.querySelector("a").href = `/s/${root.dataset.ref}/agent/${encodeURIComponent(name)}`;
    one(".crew").append(details);
    one(".live-aside").hidden = false;
    crew.set(name, { details, lines: new Lines(details.querySelector(".live-items")) });
    tellCrew();
  }
  return crew.get(name);
}

function tellCrew() {
  const busy = [...crew.values()].filter(({ details }) => details.classList.contains("at-work")).length;
  one(".crew-count").textContent = busy ? `${crew.size}, ${busy} at work` : `${crew.size}`;
}

function doing(element, state) {
  element.querySelector(".words").textContent = state.words;
  element.querySelector("[data-since]").dataset.since = state.since ?? "";
  element.dataset.kind = state.kind;
}

// -- calls without a result: while their session is at work, they run

const RUNNING = { running: "running", permission: "running?", waiting: "waits for you" };

function mark(list, kind) {
  const last = [...list.querySelectorAll(":scope > .item.answer")].at(-1);
  for (const card of list.querySelectorAll(".card.outcome-unanswered")) {
    const words = last?.contains(card) ? RUNNING[kind] : undefined;
    if (!words && !card.classList.contains("at-work")) continue;
    card.classList.toggle("at-work", Boolean(words));
    const outcome = card.querySelector(":scope > summary .outcome");
    if (outcome) outcome.textContent = words ?? "no result";
  }
}

function markAll() {
  mark(one(".transcript"), one(".live-bar .doing").dataset.kind);
  for (const { details, lines } of crew.values()) mark(lines.root, details.dataset.kind);
}

// -- events

function items({ parts }) {
  let news = 0;
  for (const part of parts) {
    if (part.stream) agent(part.stream).lines.apply(part);
    else news += main.apply(part);
  }
  markAll();
  if (parts.some((part) => !part.stream)) arrived(news);
}

function reset({ stream, reason, parts }) {
  if (!stream) main.clear();
  if (stream) agent(stream).lines.clear();
  if (stream === null) {
    for (const { details } of crew.values()) details.remove();
    crew.clear();
  }
  const words = { replaced: "The file was replaced.", truncated: "The file was truncated.", rewritten: "The file was rewritten." };
  say(words[reason] ?? "");
  items({ parts });
}

function state(now) {
  doing(one(".doing"), now);
  one(".doing").dataset.column = now.column;
  const meter = one(".fill meter");
  one(".fill").hidden = !now.context;
  if (now.context) {
    meter.max = now.window ?? now.context;
    meter.value = now.context;
    const share = now.window ? ` of ${short(now.window)}` : "";
    one(".fill span").textContent = `${short(now.context)}${share}`;
  }
  for (const [name, found] of Object.entries(now.streams)) {
    const { details } = agent(name);
    doing(details, found);
    details.classList.toggle("at-work", ["answering", "running", "waiting", "permission"].includes(found.kind));
  }
  tellCrew();
  markAll();
  write(root);
  document.title = `${now.column === "needs" ? "● " : ""}${root.dataset.title} · live`;
}

function short(tokens) {
  return tokens < 1000 ? String(tokens) : tokens < 1e6 ? `${Math.round(tokens / 1000)}k` : `${(tokens / 1e6).toFixed(1)}M`;
}

function say(words) {
  one(".live-note").textContent = words;
}

function joined({ agent: name, type, description }) {
  const { details } = agent(name);
  details.querySelector(".name").textContent = description || type || name;
  details.querySelector(".type").textContent = description ? type : "";
}

follow(`/api/s/${root.dataset.ref}/events`, {
  cursor: root.dataset.cursor,
  handlers: {
    items,
    reset,
    state,
    agent: joined,
    gone: ({ stream }) => stream || say("The file of this session was deleted."),
  },
  tell: (stands) => {
    one(".link").dataset.stands = stands;
    one(".link").textContent = stands ? "following" : "connecting again …";
  },
});

watchAgents(root);
watchRaw(root, document.getElementById("raw"));
watchCopies(document.body, { tell: say, markdown });

function markdown(article) {
  const home = article.closest(".live-agent");
  const page = home ? `/s/${root.dataset.ref}/agent/${encodeURIComponent(home.dataset.agent)}` : `/s/${root.dataset.ref}`;
  return copyItem(`${page}/item?${new URLSearchParams({ key: article.dataset.key })}`, say);
}

one(".show-meta").addEventListener("click", (event) => {
  const shown = root.classList.toggle("with-meta");
  event.currentTarget.setAttribute("aria-pressed", shown);
});
markAll();
count(root);
toBottom();
