// The replay page: plays the items of a session one after the other, with the keys of a video player.

import { json } from "./fragment.js";
import { on } from "./keys.js";
import { Deck, countUntil, formatClock, parsePlace } from "./replay/deck.js";
import { Scrubber } from "./replay/scrubber.js";
import { Stage } from "./replay/stage.js";
import { watchAgents } from "./session/agents.js";
import { copyItem, watchCopies } from "./session/copy.js";
import { Folds } from "./session/folds.js";
import { readPreference, savePreference } from "./preferences.js";
import { watchRaw } from "./session/raw.js";
import { watchRests } from "./session/rests.js";
import { Times } from "./session/times.js";
import { Windows } from "./session/windows.js";

const MAX_FRAME_SECONDS = 1;
const LONG_BLOCK_SHARE = 0.8;

const root = document.querySelector(".replay");
const { address, api, branch, size } = root.dataset;
const one = (selector) => root.querySelector(selector);
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

let noteTimer = 0;
function notify(text) {
  const note = one(".session-note");
  note.textContent = text;
  note.classList.add("visible");
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => note.classList.remove("visible"), 2500);
}

const preparing = one(".preparing");
preparing.hidden = false;
const score = await json(api).catch((error) => {
  preparing.textContent = error.message;
  throw error;
});
preparing.hidden = true;
const deck = new Deck(score);
one(".transcript").hidden = false;
one(".player").hidden = false;
const windows = new Windows(one(".transcript"), {
  count: Math.max(1, Math.ceil(score.items / Number(size))),
  size: Number(size),
  address: (n) => `${address}/window/${n}${branch ? `?branch=${encodeURIComponent(branch)}` : ""}`,
});
const stage = new Stage(windows);
const folds = new Folds(root, {});
new Times(root, null);
watchAgents(root);
watchRests(root, { showError: (error) => notify(error.message) });
watchRaw(root, document.getElementById("raw"));
watchCopies(document.body, {
  notify,
  copyItem: (article) => copyItem(`${article.parentElement.closest(".nested")?.dataset.item ?? `${address}/item`}?${new URLSearchParams({ key: article.dataset.key, ...(branch && { branch }) })}`, notify),
});

// -- what is on the screen

let isFollowing = true;
const scrubber = new Scrubber(one(".scrub"), { deck, score, seek: (seconds) => go(() => deck.seek(seconds)) });
const steps = { positions: score.steps.map((step) => step[0]), tokens: score.steps.map((step) => step[1]) };
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const short = (number) => compact.format(number).replace("K", "k");

function isVisible(position) {
  return deck.kinds[position] !== "m" || folds.on.meta;
}

function setFollowing(isOn) {
  isFollowing = isOn;
  one(".follow").hidden = isOn;
}

// Bring the page to the deck's position. While it plays, the blocks of an answer appear one by one.
async function show() {
  const share = deck.isPlaying && !isCalm.matches ? Math.min(1, deck.share / LONG_BLOCK_SHARE) : 1;
  update();
  let added;
  try {
    added = await stage.show(deck.position, share);
  } catch (error) {
    pause();
    if (error.name !== "AbortError") notify(error.message);
    return;
  }
  markRunningTurn();
  if (added && isFollowing) follow(added);
}

function markRunningTurn() {
  const next = deck.positions[deck.turnIndex + 1] ?? deck.at.length;
  for (const heading of root.querySelectorAll(".window > .turn-head")) {
    heading.classList.toggle("running", Number(heading.dataset.turn) === deck.turn && deck.position < next - 1);
  }
}

// Scroll to the end, or to the start of what was added if it is higher than the window.
function follow(added) {
  const page = document.scrollingElement;
  page.scrollTop = page.scrollHeight;
  const { top } = added.getBoundingClientRect();
  if (top < 0) page.scrollTop += top - 12;
}

function update() {
  scrubber.update();
  root.classList.toggle("is-playing", deck.isPlaying);
  const play = one("[data-act=play]");
  const word = deck.isPlaying ? "Pause" : deck.isOver ? "Play again" : "Play";
  if (play.getAttribute("aria-label") !== word) {
    play.setAttribute("aria-label", word);
    play.title = `${word} (Space)`;
  }
  setText(one(".clock"), `${formatClock(deck.clock)} / ${formatClock(deck.elapsed.at(-1) ?? 0)}`);
  setText(one(".where"), deck.turn ? `Turn ${deck.turn.toLocaleString("en")} of ${deck.turnTotal.toLocaleString("en")}` : "Start");
  one("[name=speed]").value = String(deck.speed);
  updateMeter();
}

function updateMeter() {
  const tokens = steps.tokens[countUntil(steps.positions, deck.position) - 1] ?? 0;
  const fill = one(".fill");
  fill.hidden = !score.steps.length;
  const meter = fill.querySelector("meter");
  meter.max = score.window ?? Math.max(tokens, 1);
  meter.value = tokens;
  setText(fill.querySelector("span"), score.window ? `${short(tokens)} of ${short(score.window)}` : short(tokens));
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// -- playing

let before = 0;
let isDrawing = false;

async function tick(now) {
  if (!deck.isPlaying) return;
  if (!isDrawing) {
    deck.passTime(Math.min((now - before) / 1000, MAX_FRAME_SECONDS));
    before = now;
    isDrawing = true;
    await show(); // while a window loads, no time passes
    isDrawing = false;
    if (!deck.isPlaying) keepPlace();
  }
  requestAnimationFrame(tick);
}

function play() {
  if (deck.isOver) deck.moveTo(0);
  deck.isPlaying = true;
  before = performance.now();
  setFollowing(true);
  show();
  requestAnimationFrame(tick);
}

function pause() {
  deck.isPlaying = false;
  update();
  keepPlace();
}

function go(move) {
  move();
  before = performance.now();
  setFollowing(true);
  keepPlace();
  return show();
}

function goTo(position) {
  return go(() => deck.moveTo(position));
}

function setSpeed(speed) {
  deck.speed = speed;
  savePreference("replay-speed", String(speed));
  update();
}

const acts = {
  play: () => (deck.isPlaying ? pause() : play()),
  step: () => (deck.isPlaying && pause(), goTo(deck.findNeighbour(1, isVisible))),
  "step-back": () => (deck.isPlaying && pause(), goTo(deck.findNeighbour(-1, isVisible))),
  "next-turn": () => goTo(deck.findTurnBeside(1)),
  "previous-turn": () => goTo(deck.findTurnBeside(-1)),
  goto: () => dialog.showModal(),
  follow: () => (setFollowing(true), show()),
};

// -- the address

// The place is in the address, so that it can be reloaded and shared: the turn, and the message within it.
function keepPlace() {
  const start = deck.positions[deck.turnIndex] ?? 0;
  const within = deck.position - start;
  const parts = [deck.turn ? `turn=${deck.turn}` : "", within ? `message=${within + 1}` : ""].filter(Boolean);
  history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
}

function readPlace() {
  const params = new URLSearchParams(location.hash.slice(1));
  const turn = Number(params.get("turn"));
  const start = turn ? deck.findTurn(turn) : 0;
  if (start === null) notify(`This session has no turn ${turn}.`);
  deck.moveTo((start ?? 0) + Math.max(0, (Number(params.get("message")) || 1) - 1));
}

addEventListener("hashchange", () => {
  readPlace();
  setFollowing(true);
  show();
});

// -- buttons and keys

root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (!button) return;
  acts[button.dataset.act]();
  if (event.detail) button.blur(); // after a click, Space plays; after Enter or Space on the button, it stays there
});
one("[name=speed]").addEventListener("change", (event) => {
  setSpeed(Number(event.target.value));
  event.target.blur();
});
addEventListener("wheel", (event) => event.deltaY < 0 && deck.isPlaying && setFollowing(false), { passive: true });
addEventListener("touchmove", () => deck.isPlaying && setFollowing(false), { passive: true });

const dialog = document.getElementById("goto");
dialog.querySelector("form").addEventListener("submit", () => {
  const field = dialog.querySelector("input");
  const place = parsePlace(field.value);
  field.value = "";
  if (!place) return notify("That is not a turn or a time.");
  const position = place.turn === undefined ? deck.findElapsed(place.seconds) : deck.findTurn(place.turn);
  if (position === null) return notify(`This session has no turn ${place.turn}.`);
  return goTo(position);
});

// Not with `on`: on a button or a link, Space belongs to it.
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.("button, summary, a, select, textarea, input:not([type=range])")) return;
  event.preventDefault();
  acts.play();
});
on("k", acts.play);
on("ArrowLeft", () => go(() => deck.seek(deck.now - 5)));
on("ArrowRight", () => go(() => deck.seek(deck.now + 5)));
on("j", () => go(() => deck.seek(deck.now - 10)));
on("l", () => go(() => deck.seek(deck.now + 10)));
on(",", acts["step-back"]);
on(".", acts.step);
on("p", acts["previous-turn"]);
on("n", acts["next-turn"]);
for (const [key, direction] of [["<", -1], [">", 1]]) {
  on(key, () => {
    deck.changeSpeed(direction);
    setSpeed(deck.speed);
  });
}
for (let tenth = 0; tenth <= 9; tenth++) on(String(tenth), () => go(() => deck.seek((deck.end * tenth) / 10)));
on("Home", () => goTo(0));
on("End", () => goTo(deck.at.length - 1));
on("g g", acts.goto);
on("x", () => folds.toggle("cards"));
on("t", () => folds.toggle("thinking"));
on("m", () => folds.toggle("meta"));
on("f", () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen().catch(() => {})));

const saved = Number(readPreference("replay-speed"));
if (score.items) {
  deck.speed = [...one("[name=speed]").options].some((option) => Number(option.value) === saved) ? saved : 1;
  readPlace();
  await show();
} else {
  update();
}
root.classList.add("ready");

export { deck, stage };
