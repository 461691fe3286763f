// The quest: takes events from the server, lets the world pass, and draws it.

import { json } from "../fragment.js";
import { loadArt } from "./art.js";
import { findChest, isOnChest } from "./cast.js";
import { bindControls, parseBiome, press, showSessions } from "./controls.js";
import { Script, followStream } from "./feed.js";
import { EMPTY_FPS, FrameTimer, MOVING_FPS, STANDING_FPS, describePicture, isMoving } from "./frame_timer.js";
import { readChoices, saveChoice } from "./preferences.js";
import { Screen } from "./screen.js";
import { findHeroAt } from "./stage.js";
import { Twin } from "./twin.js";
import { createWorld, listWaiting, step } from "./world.js";

const FRAME_SECONDS = 1 / 24;
const LIVE_SPEED = 4;
const MINUTE_MS = 60_000;

const root = document.querySelector(".quest");
const one = (selector) => root.querySelector(selector);
const { session, demo, replay } = root.dataset;
const choices = readChoices();
const motion = matchMedia("(prefers-reduced-motion: reduce)");
const title = document.title;
const twin = new Twin(one("[role=log]"));

let isCalm = choices.calm ?? motion.matches;
let isPaused = false;
let speed = 1;
let script = null;
let sound = null;
let wardrobe = null;
let chestShow = null;
let last = 0;
let isDirty = true;
/** What the latest picture without motion showed. */
let picture = "";
const frames = new FrameTimer(showFrame);
/** Whether it is known who is there. */
let isKnown = Boolean(demo || replay);
let state = createWorld({ biome: parseBiome(choices.biome), follow: session || null, seed: 1 + (Date.now() % 65536), minute: readMinute(new Date()) });

function readMinute(date) {
  return date.getHours() * 60 + date.getMinutes();
}

/** Show a frame soon: something has changed. */
function redraw() {
  isDirty = true;
  frames.wake();
}

let noteTimer = 0;
function notify(text) {
  const note = one(".quest-note");
  note.textContent = text;
  note.classList.add("visible");
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => note.classList.remove("visible"), 4000);
}

// -- time and events

/** Let the time since the last call pass, in the world and in the script. */
function pass(now) {
  const dt = Math.max(0, Math.round(now) - last) / 1000;
  last = Math.round(now);
  if (isPaused) return;
  if (!script) state = step(state, null, dt * speed);
  else if (!script.isOver) playScript(dt * speed);
  else state = step(state, null, dt);
}

function playScript(dt) {
  const events = [];
  state = script.play(state, dt, (event) => events.push(event));
  events.forEach(noteEvent);
  showPlace();
}

function receive(event) {
  pass(performance.now());
  state = step(state, event, 0);
  noteEvent(event);
}

/** What happens beside the world: a line, a sound, a chest, the title of the tab. */
function noteEvent(event) {
  redraw();
  isKnown ||= event.game === "snapshot";
  twin.add(event, state);
  sound?.play(event.game);
  if (event.game === "level_up" && demo && event.chest) addLocalChest(event.chest, event.level);
  if (script && event.time) state = step(state, { game: "clock", minute: readMinute(new Date(event.time)) }, 0);
  if (event.game === "profile" || event.game === "snapshot") showProblem();
  showParty();
  root.dispatchEvent(new CustomEvent("quest:event", { detail: { event, state } }));
}

/** In the demo, the profile is the page's own. */
function addLocalChest(chest, level) {
  const profile = state.profile ?? {};
  const bounds = { level, xp: 100 * level ** 2, level_xp: 100 * level ** 2, next: 100 * (level + 1) ** 2 };
  applyProfile({ ...profile, ...bounds, chests: [...(profile.chests ?? []).filter((other) => other.id !== chest.id), { ...chest, state: "closed" }] });
}

function applyProfile(profile) {
  state = step(state, { game: "profile", profile }, 0);
  redraw();
  showProblem();
  showParty();
}

// -- what the page says in words

function showParty() {
  const waits = listWaiting(state);
  one(".waits").hidden = waits.length === 0;
  const words = waits.map((wait) => `${wait.title || "A hero"} waits for you: ${wait.text || wait.kind}`).join(" · ");
  if (one(".waits").textContent !== words) one(".waits").textContent = words;
  document.title = waits.length ? `⚠ WAITS FOR YOU${waits.length > 1 ? ` (${waits.length})` : ""} · ${title}` : title;
  showSessions(one("[name=follow]"), state);
  one("[data-act=chest]").hidden = !state.profile?.chests?.some((chest) => chest.state !== "done");
  one("canvas").setAttribute("aria-label", describeScene());
}

function describeScene() {
  if (!state.party.length) return "The quest: no session is active";
  const heroes = state.party.map((hero) => `${hero.title || hero.project || "a hero"} (${hero.waiting ? "waits for you" : hero.resting ? "rests" : hero.active ? "is at work" : "stands still"})`);
  return `The quest: ${heroes.join(", ")}`;
}

function showProblem() {
  const problem = state.profile?.problem ?? "";
  one(".quest-problem").hidden = !problem;
  one(".quest-problem").textContent = problem;
}

function showPlace() {
  const range = one(".scrub input");
  if (document.activeElement !== range || !range.matches(":active")) range.value = String(script.at);
  one(".scrub output").textContent = `${formatTime(script.at)} / ${formatTime(script.seconds)}`;
  if (script.isOver) one("[data-act=pause]").dataset.over = "true";
  else delete one("[data-act=pause]").dataset.over;
}

function formatTime(seconds) {
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${parts.join(":")}` : parts.join(":");
}

// -- actions

function setPaused(isOn) {
  pass(performance.now());
  isPaused = isOn;
  redraw();
  press(one("[data-act=pause]"), isOn);
}

function jumpTo(at) {
  if (!script) return;
  state = script.seek(state, at);
  redraw();
  twin.refill(script.events.slice(0, script.next), state);
  showPlace();
  showParty();
}

function setSpeed(value) {
  speed = value;
  one("[name=speed]").value = String(value);
}

function setCalm(isOn) {
  isCalm = isOn;
  redraw();
  press(one("[data-act=motion]"), isOn);
}

async function openChest() {
  const chests = state.profile?.chests ?? [];
  const chest = findChest(state) ?? chests.find((other) => other.state !== "done");
  if (!chest) return notify("There is no chest to open.");
  try {
    const { ChestShow } = await import("./chest.js");
    chestShow ??= new ChestShow(document.getElementById("chest"), art, { getProfile, change: applyProfile, notify, isCalm: () => isCalm });
    await chestShow.open(chest);
  } catch (error) {
    notify(error.message);
  }
}

async function openWardrobe() {
  try {
    const { Wardrobe } = await import("./wardrobe.js");
    if (!state.profile) applyProfile(await json("/quest/profile"));
    wardrobe ??= new Wardrobe(document.getElementById("wardrobe"), art, { isDemo: Boolean(demo), getProfile, change: applyProfile, notify });
    await wardrobe.open(one("[data-act=wardrobe]"));
  } catch (error) {
    notify(error.message);
  }
}

async function switchSound() {
  const { Sound } = await import("./sound.js");
  sound ??= new Sound();
  sound.turn(!sound.isOn);
  press(one("[data-act=sound]"), sound.isOn);
}

const actions = {
  pause() {
    if (script?.isOver) jumpTo(0);
    else setPaused(!isPaused);
  },
  step() {
    setPaused(true);
    if (script && !script.isOver) playScript(FRAME_SECONDS);
    else state = step(state, null, FRAME_SECONDS);
    redraw();
  },
  "step-back"() {
    setPaused(true);
    if (script) jumpTo(script.findNeighbour(script.at, false));
  },
  setSpeed,
  changeSpeed(by) {
    const options = [...one("[name=speed]").options].map((option) => Number(option.value));
    setSpeed(options[Math.max(0, Math.min(options.length - 1, options.indexOf(speed) + by))]);
  },
  setBiome(biome) {
    state = step(state, { game: "choose", biome }, 0);
    saveChoice("biome", biome);
    redraw();
  },
  follow(name) {
    state = step(state, { game: "choose", follow: name }, 0);
    one("[name=follow]").value = name ?? "";
    redraw();
  },
  sound: switchSound,
  motion() {
    setCalm(!isCalm);
    saveChoice("calm", isCalm);
  },
  full() {
    if (document.fullscreenElement) document.exitFullscreen();
    else one(".stage").requestFullscreen().catch((error) => notify(error.message));
  },
  wardrobe: openWardrobe,
  chest: openChest,
  jump: (share) => script && jumpTo(script.seconds * share),
  skip: (seconds) => script && jumpTo(script.at + seconds),
};

// -- the beginning

const [art, plan] = await Promise.all([
  loadArt("/quest/sheets"),
  demo ? json("/quest/demo") : replay ? json(`/quest/replay/${encodeURIComponent(replay)}`) : null,
]).catch((error) => {
  notify(error.message);
  throw error;
});
const screen = new Screen(one("canvas"), one(".stage"), art);
art.onLoad = redraw;
const getProfile = () => state.profile;
bindControls(root, actions);
setCalm(isCalm);
one("[name=biome]").value = String(state.choice.biome);

function beginScript() {
  script = new Script(plan, { biome: state.choice.biome, seed: state.seed, minute: state.minute });
  state = script.start;
  one(".scrub").hidden = false;
  const range = one(".scrub input");
  range.max = String(script.seconds);
  range.addEventListener("input", () => jumpTo(Number(range.value)));
  if (!demo) json("/quest/profile").then(applyProfile, (error) => notify(error.message));
  showPlace();
}

function beginStream() {
  for (const option of [...one("[name=speed]").options]) if (Number(option.value) > LIVE_SPEED) option.remove();
  const address = session ? `/quest/events?${new URLSearchParams({ session })}` : "/quest/events";
  const report = (isOpen) => {
    root.dataset.connected = String(isOpen);
    one(".connection").textContent = isOpen ? "" : "Not connected. Is turnlog still running?";
  };
  let stream = followStream(address, { receive, report });
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) stream = followStream(address, { receive, report });
  });
  setInterval(() => receive({ game: "clock", minute: readMinute(new Date()) }), MINUTE_MS);
}

const canvas = one("canvas");
canvas.addEventListener("click", (event) => {
  const { x, y } = screen.locate(event);
  const hero = findHeroAt(state, x, y);
  if (findChest(state) && isOnChest(x, y)) openChest();
  else if (hero) actions.follow(hero.session === state.choice.follow ? null : hero.session);
});
canvas.addEventListener("keydown", (event) => {
  if (event.key !== "Tab" || event.shiftKey || event.ctrlKey || event.altKey) return;
  event.preventDefault();
  // Afterwards the focus is behind the canvas, so the next Tab goes on through the page.
  openWardrobe();
});
document.addEventListener("fullscreenchange", () => {
  press(one("[data-act=full]"), document.fullscreenElement !== null);
  screen.fit();
});
motion.addEventListener("change", () => setCalm(motion.matches));

/** Let the time since the last frame pass, and draw; return how many frames a second are enough now. */
function showFrame(now) {
  const begin = performance.now();
  pass(now);
  const before = picture;
  picture = isCalm ? describePicture(state) : "";
  if (isDirty || (isCalm ? picture !== before : !isPaused)) {
    isDirty = false;
    screen.draw(state, { calm: isCalm, isKnown });
    screen.note(performance.now() - begin);
  }
  if (isPaused) return 0;
  const isHurried = script && !script.isOver && speed > 1;
  if (!isCalm && (isHurried || isMoving(state))) return MOVING_FPS;
  return state.party.length || script ? STANDING_FPS : EMPTY_FPS;
}

// For tests and benchmarks: what the world is like, and a way to let something happen in it.
root.quest = {
  get state() {
    return state;
  },
  get script() {
    return script;
  },
  get sound() {
    return sound;
  },
  screen,
  art,
  receive,
};
last = Math.round(performance.now());
if (plan) beginScript();
showParty();
screen.draw(state, { calm: isCalm, isKnown });
root.dataset.ready = "true";
performance.mark("quest-first-frame");
if (!plan) beginStream();
frames.start();
