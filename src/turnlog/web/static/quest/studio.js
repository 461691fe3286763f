// The studio: plays every animation, landscape, enemy and cosmetic, for people who draw.

import { json } from "../fragment.js";
import { on } from "../keys.js";
import { ANIMATIONS, FRAMES_PER_SECOND, TICKS_PER_SECOND, frameOf } from "./animations.js";
import { createCanvas, loadArt } from "./art.js";
import { press } from "./controls.js";
import { FrameTimer, MOVING_FPS, STANDING_FPS } from "./frame_timer.js";
import { Screen } from "./screen.js";
import { createWorld, step } from "./world.js";

const COMPANION_TYPES = ["Explore", "Plan", "general-purpose"];
const ENEMIES = { bug: "bug", error: "error", low: "low" };
const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4];
const STRIP_SCALE = 2;

const root = document.querySelector(".studio");
const one = (selector) => root.querySelector(selector);
const field = (name) => one(`[name=${name}]`);
let isPaused = false;
let ticks = 0;
let last = performance.now();
const base = buildBase();

/** A hero with companions, for whom nothing happens but what is chosen here. */
function buildBase() {
  let state = createWorld({ biome: 0, seed: 5 });
  state = step(state, { game: "enter", session: "studio", title: "The studio", project: "studio", biome: 0 }, 0);
  COMPANION_TYPES.forEach((type, number) => {
    state = step(state, { game: "agent_start", session: "studio", agent: `a${number}`, agent_type: type, description: "" }, 0);
  });
  return step(state, { game: "context", session: "studio", used: 60, window: 200, share: 0.3 }, 3);
}

const rules = await json("/quest/cosmetics");
let art = await loadArt("/quest/sheets");
await art.loadAll();
const screen = new Screen(one(".stage canvas"), one(".stage"), art);

function fillField(name, options) {
  field(name).replaceChildren(
    ...options.map(([value, text]) => {
      const option = document.createElement("option");
      option.value = value;
      option.textContent = text;
      return option;
    }),
  );
}

fillField("animation", Object.keys(ANIMATIONS).map((name) => [name, name]));
fillField("biome", art.layout.biomes.map((biome, number) => [String(number), biome.title]));
fillField("enemy", [["", "none"], ...Object.keys(ENEMIES).map((name) => [name, name])]);
for (const slot of ["hat", "face", "aura", "trail"]) {
  fillField(slot, [["", `no ${slot}`], ...rules.items.filter((item) => item.slot === slot).map((item) => [item.id, `${item.name} (level ${item.level})`])]);
}

/** The state that the fields describe. */
function buildState() {
  const anim = field("animation").value;
  const worn = Object.fromEntries(["hat", "face", "aura", "trail"].map((slot) => [slot, field(slot).value || null]));
  const enemy = field("enemy").value;
  const look = { anim, age: ticks, resting: anim === "rest", waiting: anim === "waiting" ? { kind: "question", text: "Which colour?" } : null };
  const enemies = enemy ? [{ kind: enemy, text: "Exit code 1", actor: "main", phase: enemy === "low" ? "hover" : "fly", shape: Math.floor(ticks / 90) % 4, age: ticks % 90 }] : [];
  const party = base.party.map((hero) => ({
    ...hero,
    ...look,
    enemies,
    thrown: [],
    companions: hero.companions.map((companion) => ({ ...companion, ...look, waiting: null })),
  }));
  return {
    ...base,
    clock: ticks,
    party,
    biome: Number(field("biome").value),
    minute: Number(field("minute").value),
    storm: field("storm").checked ? 200 : 0,
    scroll: anim === "walk" ? (ticks * 4) % 6_400_000 : 0,
    profile: { level: 1, xp: 150, level_xp: 100, next: 400, worn, chests: field("treasure").checked ? [{ id: "studio", kind: "level", state: "closed" }] : [] },
  };
}

function showFrame(now) {
  if (!isPaused) ticks += Math.round(((now - last) / 1000) * TICKS_PER_SECOND * Number(field("speed").value) * 100) / 100;
  last = now;
  drawAll();
  return isPaused || field("calm").checked ? STANDING_FPS : MOVING_FPS;
}

function drawAll() {
  const state = buildState();
  screen.draw(state, { calm: field("calm").checked });
  const [hero] = state.party;
  one(".frame").textContent = `${hero.anim}: frame ${frameOf(hero) + 1} of ${ANIMATIONS[hero.anim].frames}, ${FRAMES_PER_SECOND} a second`;
}

/** All frames of the chosen animation beside each other, hero above companion. */
function drawStrip() {
  const anim = field("animation").value;
  const { frames } = ANIMATIONS[anim];
  const canvas = createCanvas(frames * 32, 50);
  const context = canvas.getContext("2d");
  for (let frame = 0; frame < frames; frame += 1) {
    art.drawFrame(context, "hero", anim, frame, frame * 32, 0);
    art.drawFrame(context, "companion", anim, frame, frame * 32 + 8, 33);
  }
  canvas.style.width = `${frames * 32 * STRIP_SCALE}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `All ${frames} frames of ${anim}`);
  one(".strip").replaceChildren(canvas);
}

function setPaused(isOn) {
  isPaused = isOn;
  press(one("[data-act=pause]"), isOn);
}

function stepFrame(by) {
  setPaused(true);
  const frame = TICKS_PER_SECOND / FRAMES_PER_SECOND;
  ticks = Math.max(0, (Math.floor(ticks / frame + 0.01) + by) * frame + 0.01);
}

function moveOption(name, by = 1) {
  const select = field(name);
  select.selectedIndex = (select.selectedIndex + by + select.options.length) % select.options.length;
  select.dispatchEvent(new Event("change"));
}

function changeSpeed(by) {
  const at = SPEEDS.indexOf(Number(field("speed").value)) + by;
  field("speed").value = String(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at))]);
}

/** Load the sheets again, after `make sprites`. */
async function reload() {
  art = await loadArt("/quest/sheets");
  await art.loadAll();
  screen.art = art;
  drawStrip();
}

const actions = { pause: () => setPaused(!isPaused), step: () => stepFrame(1), "step-back": () => stepFrame(-1), reload };
for (const button of root.querySelectorAll("[data-act]")) button.addEventListener("click", actions[button.dataset.act]);
field("animation").addEventListener("change", () => {
  ticks = 0;
  drawStrip();
});
on(" ", (event) => (event.target instanceof HTMLButtonElement ? event.target.click() : actions.pause()));
on(".", actions.step);
on(",", actions["step-back"]);
on("-", () => changeSpeed(-1));
on("+", () => changeSpeed(1));
on("=", () => changeSpeed(1));
on("a", () => moveOption("animation"));
on("b", () => moveOption("biome"));
on("e", () => moveOption("enemy"));
on("c", () => moveOption("hat"));
on("r", actions.reload);

root.studio = { buildState };
drawStrip();
drawAll();
root.dataset.ready = "true";
new FrameTimer(showFrame).start();
