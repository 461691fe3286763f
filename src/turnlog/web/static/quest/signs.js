// What is written and shown over the scene: quest, mana, thoughts, thrown names, todos, waits, banners, fireworks.

import { HEIGHT, WIDTH } from "./art.js";
import { drawBubble, drawPanel } from "./frames.js";
import { findPlace, placeCompanion, placeHero } from "./stage.js";
import { LIFE, focusOf, listWaiting } from "./world.js";

export const TOOL_COLOURS = { bash: "#ff7a70", read: "#7ab8ff", write: "#7ee08a", web: "#ffe36e", agent: "#c99aff", other: "#d4d4de" };
const EDGE = "#1b1325";
const INK = "#3a2a1e";
const WAIT_WORDS = { question: "asks you", plan: "shows you a plan", permission: "needs permission" };
const MAX_TODOS = 7;

/** Draw everything that is written. */
export function drawSigns(context, state, art, calm) {
  const focus = focusOf(state);
  drawLabels(context, state, art);
  state.party.forEach((hero, index) => {
    drawThrown(context, state, art, hero, calm);
    drawGains(context, state, art, hero, index);
    if (state.party.length > 1 && hero.anim !== "poof") drawSmallMana(context, state, hero, index);
  });
  drawThoughts(context, state, art);
  if (focus) {
    drawMana(context, art, focus, state, calm);
    drawTodos(context, art, focus.todos);
  }
  drawProgress(context, state, art);
  drawQuest(context, state, art, focus);
  drawWaits(context, state, art, calm);
}

/** While somebody waits for a person, the scene is dark and they stand in the light, so that nobody can miss who it is. */
export function drawWaitLight(context, state, calm) {
  const places = listWaiting(state).map((wait) => findPlace(state, wait.session, wait.actor)).filter(Boolean);
  if (places.length === 0) return;
  context.fillStyle = "rgb(14 8 34 / 42%)";
  context.fillRect(0, 0, WIDTH, HEIGHT);
  for (const place of places) drawBeam(context, place, calm ? 1 : pulseOf(state));
}

function pulseOf(state) {
  return 0.5 + 0.5 * Math.sin(state.clock / 12);
}

function drawBeam(context, place, pulse) {
  context.fillStyle = `rgb(255 227 110 / ${Math.round(18 + pulse * 18)}%)`;
  const foot = place.y + place.size / 2;
  for (let row = 0; row < foot; row += 2) {
    const half = place.size * (0.25 + (0.5 * row) / foot);
    context.fillRect(Math.round(place.x - half), row, Math.round(half * 2), 2);
  }
}

// -- names

function drawLabels(context, state, art) {
  const taken = [];
  state.party.forEach((hero, index) => {
    const place = placeHero(state, index);
    if (state.party.length > 1 && hero.anim !== "poof") {
      const room = Math.max(30, 250 / state.party.length);
      const text = art.fit(hero.title || hero.project || "session", room);
      const y = index % 2 ? place.y - 15 : place.y + 32;
      if (index % 2 === 0) write(context, art, text, place.x + 16, Math.min(y, 191), "#ffffff", taken);
      else write(context, art, text, place.x + 16, y - 6, "#ffffff", taken);
    }
    hero.companions.forEach((one, number) => {
      if (one.leaving || !one.type) return;
      const spot = placeCompanion(state, index, number);
      const room = hero.companions.length > 8 || state.party.length > 3 ? 40 : 74;
      write(context, art, art.fit(one.type, room), spot.x + 8, spot.y - 9, one.waiting ? "#ffe36e" : "#d8ffd8", taken);
    });
  });
}

/** Write a name where it covers no other; the same name beside it stands for both. */
function write(context, art, text, x, y, colour, taken) {
  const half = art.measure(text) / 2 + 1;
  const left = Math.max(1 + half, Math.min(WIDTH - half - 1, x));
  for (let row = 0; row < 4; row += 1) {
    const box = { text, left: left - half, right: left + half, top: y - row * 8 };
    const other = taken.find((one) => one.left < box.right && box.left < one.right && Math.abs(one.top - box.top) < 8);
    if (other?.text === text) return;
    if (other) continue;
    taken.push(box);
    art.write(context, text, left, box.top, colour, { edge: EDGE, align: "center" });
    return;
  }
}

// -- meters

/** The share that is left decides the colour, and also the pattern: stripes when it is short, and notches when it is critical. */
export function manaLook(mana) {
  if (mana < 100) return { fill: "#ff4d57", light: "#ff9a9f", pattern: "notches", word: "!!" };
  if (mana < 250) return { fill: "#ffc93b", light: "#ffe79a", pattern: "stripes", word: "!" };
  return { fill: "#3f8ff0", light: "#8cc4ff", pattern: "plain", word: "" };
}

function fillMeter(context, x, y, width, height, mana, clock) {
  const look = manaLook(mana);
  const filled = Math.round((width * mana) / 1000);
  context.fillStyle = look.fill;
  context.fillRect(x, y, filled, height);
  context.fillStyle = look.light;
  context.fillRect(x, y, filled, 1);
  context.fillStyle = EDGE;
  if (look.pattern === "stripes") for (let at = 2; at < filled; at += 5) for (let row = 1; row < height; row += 1) context.fillRect(x + at + height - row - 1, y + row, at + height - row - 1 < filled ? 1 : 0, 1);
  if (look.pattern === "notches") for (let at = 1; at < filled; at += 3) context.fillRect(x + at, y + 1, 1, height - 2);
  if (look.pattern === "notches" && clock % 60 < 30) context.fillRect(x + filled, y, 1, height);
}

function drawMana(context, art, hero, state, calm) {
  drawPanel(context, 4, 4, 118, 25);
  art.write(context, art.fit(hero.title || hero.project || "Quest", 108), 10, 8, "#ffffff", { edge: EDGE });
  art.write(context, "♥", 9, 18, "#7ab8ff", { edge: EDGE });
  context.fillStyle = EDGE;
  context.fillRect(17, 18, 74, 8);
  context.fillStyle = "#3a3358";
  context.fillRect(18, 19, 72, 6);
  if (hero.goal === null) {
    context.fillStyle = "#6a6288";
    for (let at = 0; at < 72; at += 4) context.fillRect(18 + at, 19 + ((at / 4) % 2) * 3, 2, 3);
    art.write(context, "?", 95, 18, "#d4d4de", { edge: EDGE });
    return;
  }
  fillMeter(context, 18, 19, 72, 6, hero.mana, calm ? 0 : state.clock);
  const text = `${Math.round(hero.mana / 10)}%${manaLook(hero.mana).word}`;
  art.write(context, text, 94, 18, manaLook(hero.mana).light, { edge: EDGE });
}

function drawSmallMana(context, state, hero, index) {
  if (hero.goal === null) return;
  const { x, y } = placeHero(state, index);
  context.fillStyle = EDGE;
  context.fillRect(x + 3, y - 5, 24, 5);
  fillMeter(context, x + 4, y - 4, 22, 3, hero.mana, 0);
}

function drawProgress(context, state, art) {
  const { profile } = state;
  if (!profile) return;
  drawPanel(context, 4, 31, 76, 20);
  art.write(context, `LV ${profile.level}`, 9, 34, "#ffe36e", { edge: EDGE });
  const start = profile.level_xp ?? 100 * profile.level ** 2;
  const share = Math.max(0, Math.min(1, (profile.xp - start) / Math.max(1, profile.next - start)));
  context.fillStyle = EDGE;
  context.fillRect(36, 35, 40, 5);
  context.fillStyle = "#ffe36e";
  context.fillRect(37, 36, Math.round(38 * share), 3);
  art.write(context, "flow", 9, 43, "#7ef2ff", { edge: EDGE });
  for (let number = 0; number < 10; number += 1) {
    context.fillStyle = state.flow >= (number + 1) * 100 - 50 ? (number > 7 ? "#ff8ad0" : "#7ef2ff") : "#3a3358";
    context.fillRect(36 + number * 4, 44, 3, 4);
  }
}

// -- words

function drawQuest(context, state, art, focus) {
  const hero = state.party.filter((one) => one.quest).sort((a, b) => a.quest.age - b.quest.age)[0];
  if (!hero) return;
  const { quest } = hero;
  const end = LIFE.quest - LIFE.questFadeOut;
  context.globalAlpha = Math.max(0, Math.min(1, quest.age / LIFE.questFadeIn, 1 - (quest.age - end) / LIFE.questFadeOut));
  const lines = art.wrap(quest.text, 214, 3);
  const width = Math.max(70, ...lines.map((line) => art.measure(line))) + 20;
  const height = lines.length * 9 + 16;
  const left = Math.round((WIDTH - width) / 2);
  drawScroll(context, left, 54, width, height);
  const name = hero === focus ? "QUEST" : art.fit(`QUEST: ${hero.title}`, width - 14);
  art.write(context, name, WIDTH / 2, 58, "#a5402e", { align: "center" });
  lines.forEach((line, row) => art.write(context, line, WIDTH / 2, 67 + row * 9, INK, { align: "center" }));
  context.globalAlpha = 1;
}

function drawScroll(context, x, y, width, height) {
  context.fillStyle = EDGE;
  context.fillRect(x - 1, y - 1, width + 2, height + 2);
  context.fillStyle = "#f6e7bd";
  context.fillRect(x, y, width, height);
  context.fillStyle = "#e2cc94";
  context.fillRect(x, y + height - 3, width, 3);
  for (const left of [x - 4, x + width - 1]) {
    context.fillStyle = EDGE;
    context.fillRect(left, y - 3, 5, height + 6);
    context.fillStyle = "#c9a468";
    context.fillRect(left + 1, y - 2, 3, height + 4);
    context.fillStyle = "#f0d8a0";
    context.fillRect(left + 1, y - 2, 1, height + 4);
  }
}

/** The latest thoughts, beside their heroes: one, or two if there is room. */
function drawThoughts(context, state, art) {
  const heroes = state.party.filter((hero) => hero.bubble && !hero.waiting && hero.anim !== "rest");
  heroes.sort((a, b) => a.bubble.age - b.bubble.age);
  for (const hero of heroes.slice(0, 1)) {
    const place = findPlace(state, hero.session, "main");
    const fade = Math.min(1, hero.bubble.age / 20, (LIFE.bubble - hero.bubble.age) / 60);
    context.globalAlpha = fade;
    const lines = art.wrap(hero.bubble.text, 124, 5);
    drawBubble(context, art, lines, place.x + 8, place.y - 14 - crowdLift(state), { fill: "#ffffff", ink: "#3a3450", dots: true });
    context.globalAlpha = 1;
  }
}

function drawThrown(context, state, art, hero, calm) {
  for (const item of hero.thrown) {
    const place = findPlace(state, hero.session, item.actor);
    if (!place) continue;
    const share = item.age / LIFE.thrown;
    const x = place.x + 14 + (calm ? 10 : share * 96);
    const y = place.y - 6 - item.lane * 9 - (calm ? 0 : Math.sin(share * Math.PI * 0.8) * 30);
    context.globalAlpha = Math.min(1, (1 - share) * 3);
    art.write(context, art.fit(item.text, 90), x, y, TOOL_COLOURS[item.colour] ?? TOOL_COLOURS.other, { edge: EDGE });
  }
  context.globalAlpha = 1;
}

function drawGains(context, state, art, hero, index) {
  const { x, y } = placeHero(state, index);
  hero.gains.forEach((gain, number) => {
    context.globalAlpha = Math.min(1, (LIFE.gain - gain.age) / 40);
    art.write(context, `+${gain.amount} XP`, x + 6, y - 8 - gain.age / 4 - (number % 3) * 2, "#ffe36e", { edge: "#5a3a10", align: "center" });
  });
  context.globalAlpha = 1;
}

const TODO_SIGNS = { completed: ["✓", "#8be07a"], in_progress: ["►", "#ffe36e"], pending: ["○", "#c8c4dc"] };

function drawTodos(context, art, todos) {
  if (!todos.length) return;
  const active = todos.findIndex((one) => one.status !== "completed");
  const first = Math.max(0, Math.min(active < 0 ? todos.length : active - 2, todos.length - MAX_TODOS));
  const items = todos.slice(first, first + MAX_TODOS);
  drawPanel(context, 206, 4, 110, 14 + items.length * 9);
  const count = todos.filter((one) => one.status === "completed").length;
  art.write(context, `TODO ${count}/${todos.length}`, 211, 7, "#ffffff", { edge: EDGE });
  items.forEach((item, row) => {
    const [sign, colour] = TODO_SIGNS[item.status] ?? TODO_SIGNS.pending;
    art.write(context, sign, 211, 16 + row * 9, colour);
    art.write(context, art.fit(item.text, 92), 220, 16 + row * 9, item.status === "completed" ? "#9a94b4" : colour);
  });
}

/** In a large party, words stand above the names and meters. */
function crowdLift(state) {
  return state.party.length > 3 ? 22 : 0;
}

// -- waits

function drawWaits(context, state, art, calm) {
  state.party.forEach((hero) => {
    if (hero.waiting) drawWait(context, state, art, hero, "main", hero.waiting, calm);
    for (const one of hero.companions) if (one.waiting) drawWait(context, state, art, hero, one.agent, one.waiting, calm);
  });
}

function drawWait(context, state, art, hero, actor, waiting, calm) {
  const place = findPlace(state, hero.session, actor);
  if (!place) return;
  const pulse = calm ? 1 : pulseOf(state);
  const crowd = state.party.length > 3 && state.party.filter((one) => one.waiting).length > 1;
  const words = art.wrap(waiting.text, crowd ? 50 : 140, crowd ? 1 : 3);
  const lines = crowd ? ["FOR YOU!"] : ["WAITS FOR YOU!", ...(waiting.kind in WAIT_WORDS ? [`(${WAIT_WORDS[waiting.kind]})`] : []), ...words];
  const lift = calm ? 0 : Math.round(pulse * 2);
  drawBubble(context, art, lines, place.x + 4, place.y - place.size / 2 - 4 - lift - crowdLift(state), { fill: pulse > 0.5 ? "#ffe36e" : "#fff6c8", ink: "#5a1020", head: "#c01838", tail: 6 + crowdLift(state) });
}
