// Heroes with what they wear, companions, enemies, the camp and the chest.

import { durationOf, frameOf } from "./animations.js";
import { scatter } from "./scenery.js";
import { findPlace, placeCompanion, placeHero } from "./stage.js";
import { LIFE } from "./world.js";

const CALM_FRAME = 8;
const CHEST_PLACE = { x: 262, y: 152 };
const POOF_HAT_FRAMES = 5;
const CONFETTI = 26;

/** Draw everybody, the farther ones first. */
export function drawCast(context, state, art, calm) {
  const acts = [];
  state.party.forEach((hero, index) => {
    const place = placeHero(state, index);
    acts.push({ foot: place.y + 30, draw: () => drawHero(context, state, art, hero, place, calm) });
    hero.companions.forEach((one, number) => {
      const spot = placeCompanion(state, index, number);
      acts.push({ foot: spot.y + 15, draw: () => drawCompanion(context, state, art, one, spot, number, calm) });
    });
  });
  const chest = findChest(state);
  if (chest) acts.push({ foot: CHEST_PLACE.y + 30, draw: () => drawChest(context, state, art, chest, calm) });
  acts.sort((a, b) => a.foot - b.foot);
  for (const act of acts) act.draw();
  for (const hero of state.party) for (const enemy of hero.enemies) drawEnemy(context, state, art, hero, enemy, calm);
  for (const burst of state.bursts) if (!calm) drawBurst(context, state, burst);
}

/** The chest that waits to be opened, or null. */
export function findChest(state) {
  return state.profile?.chests?.find((one) => one.state !== "done" && !one.skipped) ?? null;
}

/** Whether a point of the screen is on the chest. */
export function isOnChest(x, y) {
  return x >= CHEST_PLACE.x && x < CHEST_PLACE.x + 32 && y >= CHEST_PLACE.y && y < CHEST_PLACE.y + 32;
}

export function frameFor(actor, calm) {
  return calm ? CALM_FRAME : frameOf(actor);
}

function drawShadow(context, x, foot, half) {
  context.fillStyle = "rgb(20 12 40 / 30%)";
  context.fillRect(x - half, foot - 1, half * 2, 2);
  context.fillRect(x - half + 2, foot - 2, half * 2 - 4, 4);
}

function drawHero(context, state, art, hero, place, calm) {
  const frame = frameFor(hero, calm);
  drawShadow(context, place.x + 15, place.y + 30, 9);
  const worn = state.profile?.worn ?? {};
  const isWhole = hero.anim !== "rest" && hero.anim !== "poof" && hero.anim !== "enter";
  if (isWhole && worn.aura) drawAura(context, state, art, worn.aura, place, calm);
  if (hero.anim === "walk" && worn.trail && !calm) drawTrail(context, state, art, worn.trail, place);
  if (hero.anim === "rest") drawCamp(context, state, art, place, calm);
  art.drawFrame(context, "hero", hero.anim, frame, place.x, place.y, art.heroSheet(hero.session));
  dressHero(context, art, hero, worn, place, frame);
  if (hero.anim === "victory" && !calm) drawConfetti(context, hero, place);
}

function drawConfetti(context, hero, place) {
  const share = hero.age / durationOf(hero.anim);
  context.globalAlpha = Math.max(0, 1 - share);
  for (let number = 0; number < CONFETTI; number += 1) {
    const x = place.x + 16 + (scatter(number) - 0.5) * (24 + share * 70);
    const y = place.y - 4 - scatter(number + 30) * 34 * (1 - (1 - share) ** 2) + share * share * (30 + scatter(number + 60) * 24);
    context.fillStyle = BURSTS.level.concat(BURSTS.chest)[number % 7];
    context.fillRect(Math.round(x + Math.sin(hero.age / 9 + number) * 2), Math.round(y), 1 + (number % 2), 1 + ((number + hero.age) % 14 < 7 ? 1 : 0));
  }
  context.globalAlpha = 1;
}

/** Put the hat and the face on the head, wherever it is in this frame. */
export function dressHero(context, art, hero, worn, place, frame) {
  if (hero.anim === "poof" && frame >= POOF_HAT_FRAMES) return;
  const [x, y] = art.layout.heads[hero.anim][frame];
  const face = art.layout.faces.indexOf(nameOf(worn.face));
  if (face >= 0) art.drawCell(context, "face", face, place.x + x - 8, place.y + y - 6);
  const hat = art.layout.hats.indexOf(nameOf(worn.hat));
  if (hat >= 0) art.drawCell(context, "hat", hat, place.x + x - 12, place.y + y - 18);
}

/** The name of an item without its slot. */
export function nameOf(id) {
  return id ? id.slice(id.indexOf("-") + 1) : "";
}

export function drawAura(context, state, art, id, place, calm) {
  const frame = calm ? 2 : Math.floor(state.clock / 9) % 8;
  art.drawFrame(context, "aura", nameOf(id), frame, place.x - 8, place.y - 14);
}

export function drawTrail(context, state, art, id, place) {
  for (let number = 0; number < 5; number += 1) {
    const frame = (Math.floor(state.clock / 8) + number * 2) % 8;
    art.drawFrame(context, "trail", nameOf(id), frame, place.x - 4 - number * 7 - ((state.clock / 8) % 1) * 3, place.y + 15 + (number % 2) * 5);
  }
}

function drawCamp(context, state, art, place, calm) {
  art.drawFrame(context, "chest", "fire", calm ? 1 : Math.floor(state.clock / 8), place.x + 26, place.y + 1);
  if (!calm) {
    context.fillStyle = `rgb(255 170 70 / ${10 + Math.round(4 * Math.sin(state.clock / 9))}%)`;
    context.fillRect(place.x - 10, place.y + 12, 72, 22);
    context.fillRect(place.x, place.y + 6, 52, 32);
  }
  for (let number = 0; number < 3; number += 1) {
    const age = calm ? 20 + number * 25 : (state.clock + number * 33) % 100;
    context.globalAlpha = 1 - age / 110;
    const sway = calm ? 0 : Math.sin(age / 14 + number) * 3;
    art.write(context, "Z", place.x + 12 + age / 7 + sway, place.y + 10 - age / 3, "#ffffff", { edge: "#3b3f7a", scale: age > 55 ? 2 : 1 });
  }
  context.globalAlpha = 1;
}

function drawCompanion(context, state, art, one, place, number, calm) {
  drawShadow(context, place.x + 7, place.y + 15, 5);
  const frame = calm ? CALM_FRAME : Math.floor(frameOf(one) + (one.anim === "walk" ? number * 5 : 0));
  art.drawFrame(context, "companion", one.anim, frame, place.x, place.y, art.companionSheet(one.type));
}

function drawChest(context, state, art, chest, calm) {
  const kind = chest.kind === "bonus" ? "bonus" : "level";
  const wobbles = !calm && state.clock % 240 < 80;
  const row = chest.state === "closed" ? (wobbles ? "wobble" : "closed") : "open";
  drawShadow(context, CHEST_PLACE.x + 16, CHEST_PLACE.y + 30, 13);
  art.drawFrame(context, "chest", `${kind}-${row}`, calm ? 0 : Math.floor(state.clock / 10), CHEST_PLACE.x, CHEST_PLACE.y);
}

// -- enemies

const ROWS = { error: "error", low: "low" };

function drawEnemy(context, state, art, hero, enemy, calm) {
  const target = findPlace(state, hero.session, enemy.actor);
  if (!target) return;
  const { x, y, alpha } = placeEnemy(state, enemy, target, calm);
  const row = ROWS[enemy.kind] ?? `bug${enemy.shape}`;
  context.globalAlpha = alpha;
  art.drawFrame(context, "enemy", row, calm ? 0 : Math.floor(state.clock / 7), x - 12, y - 12);
  const label = { error: "ERROR", low: "LOW CTX" }[enemy.kind] ?? "bug";
  const colour = { error: "#ff8a5a", low: "#8ab8ff" }[enemy.kind] ?? "#e0a0ff";
  art.write(context, label, x, y - 21, colour, { edge: "#1b1325", align: "center" });
  if (enemy.kind !== "low" && enemy.text && enemy.phase === "fly") {
    art.write(context, art.fit(firstLine(enemy.text), 110), Math.min(x, 262), y + 13, "#ffd9d9", { edge: "#1b1325", align: "center" });
  }
  context.globalAlpha = 1;
  if (enemy.phase === "hit" && !calm) drawImpact(context, target, enemy.age);
}

function firstLine(text) {
  return text.split("\n", 1)[0];
}

function placeEnemy(state, enemy, target, calm) {
  const reach = target.size / 2 + 6;
  if (enemy.phase === "fly") {
    const share = Math.min(1, enemy.age / LIFE.flight) ** 1.4;
    const from = { x: 340, y: 56 + enemy.shape * 12 };
    const wave = calm ? 0 : Math.sin(enemy.age / 8) * 9 * (1 - share);
    return { x: from.x + (target.x + reach - from.x) * share, y: from.y + (target.y - 2 - from.y) * share + wave, alpha: 1 };
  }
  if (enemy.phase === "hover") {
    const turn = calm ? 0 : state.clock / 50;
    return { x: target.x + 34 + Math.cos(turn) * 8, y: target.y - 16 + Math.sin(turn * 1.7) * 5, alpha: 1 };
  }
  const share = enemy.age / LIFE.impact;
  if (enemy.phase === "flee") return { x: target.x + 34 + share * 160, y: target.y - 16 - share * 60, alpha: 1 - share };
  return { x: target.x + reach + share * 26, y: target.y - 2 - Math.sin(share * Math.PI) * 22, alpha: Math.max(0, 1 - share * 1.2) };
}

function drawImpact(context, target, age) {
  if (age > 14) return;
  context.fillStyle = age < 5 ? "#ffffff" : "#ffe36e";
  for (let number = 0; number < 8; number += 1) {
    const turn = (number / 8) * Math.PI * 2;
    const reach = 5 + age;
    context.fillRect(Math.round(target.x + 8 + Math.cos(turn) * reach) - 1, Math.round(target.y + Math.sin(turn) * reach) - 1, 3, 3);
  }
}

// -- bursts of particles

const BURSTS = {
  spawn: ["#7ef2ff", "#ffffff", "#b8f7ff"],
  poof: ["#e8e4f4", "#c9c2e0"],
  hit: ["#ff4d57", "#ff9d3b", "#ffe36e"],
  heal: ["#5ab8ff", "#7ef2ff", "#ffffff"],
  level: ["#ffe36e", "#f5c542", "#ffffff", "#ff8ad0"],
  chest: ["#7ef2ff", "#ffe36e", "#b07aff"],
};
const PARTICLES = 18;

function drawBurst(context, state, burst) {
  const place = findPlace(state, burst.session, burst.actor);
  if (!place) return;
  const colours = BURSTS[burst.kind] ?? BURSTS.poof;
  const share = burst.age / LIFE.burst;
  const rises = burst.kind === "heal" || burst.kind === "level";
  context.globalAlpha = 1 - share;
  for (let number = 0; number < PARTICLES; number += 1) {
    const turn = ((number + (burst.seed % 17) / 17) / PARTICLES) * Math.PI * 2;
    const speed = 10 + ((burst.seed >> number % 12) & 7) * 3;
    const reach = speed * (1 - (1 - share) ** 2);
    const x = place.x + Math.cos(turn) * reach * (rises ? 0.7 : 1);
    const y = place.y + (rises ? 12 - share * 46 + Math.sin(number * 2.3) * 9 : Math.sin(turn) * reach + share * share * 18);
    context.fillStyle = colours[number % colours.length];
    const size = number % 3 === 0 ? 2 : 1;
    context.fillRect(Math.round(x), Math.round(y), size, size);
  }
  context.globalAlpha = 1;
}
