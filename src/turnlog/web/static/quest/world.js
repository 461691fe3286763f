// The world of the quest: `step(state, event, dt) -> state`. Pure: no document, no clock, no chance but the generator in the
// state, so the same events always lead to the same world. `draw.js` draws it; `turnlog.quest.world` is its port.
//
// The state is plain JSON. All numbers are whole: time in ticks of 10 ms, shares in thousandths.

import { IDLE_TICKS, TICKS_PER_SECOND, tickActor } from "./animations.js";
import { hitTarget } from "./enemies.js";
import { applyEvent } from "./happenings.js";

export const MS_PER_TICK = 1000 / TICKS_PER_SECOND;
/** Of a longer pause (a hidden tab, a suspended machine), only the end is played. */
export const MAX_STEP_TICKS = IDLE_TICKS + 10 * TICKS_PER_SECOND;
export const LIFE = {
  quest: 950,
  questFadeIn: 50,
  questFadeOut: 100,
  bubble: 1200,
  thrown: 130,
  gain: 110,
  banner: 450,
  levelUp: 300,
  firework: 120,
  burst: 80,
  flight: 90,
  impact: 40,
};
export const SCROLL_SPAN = 6_400_000;
const MAX_PACE = 4;
const MAX_STORM = 200;
const BIOMES = 5;
const BIOME_FADE = 100;
const CYCLE_TICKS = 20 * TICKS_PER_SECOND;

/** A world without heroes. Options: `biome` ("project", "time", "cycle" or 0 to 4), `follow` (a session), `seed`, `minute`. */
export function createWorld(options = {}) {
  return {
    clock: 0,
    rest: 0,
    seed: options.seed ?? 1,
    minute: options.minute ?? 720,
    choice: { biome: options.biome ?? "project", follow: options.follow ?? null },
    biome: typeof options.biome === "number" ? options.biome : null,
    former: null,
    fade: 0,
    scroll: 0,
    pace: 0,
    storm: 0,
    party: [],
    fireworks: [],
    bursts: [],
    banner: null,
    celebration: null,
    flow: 0,
    flow_goal: 0,
    profile: null,
  };
}

/** Let `dt` seconds pass, then let an event happen (or null). Returns a new state; the old one stays as it was. */
export function step(state, event, dt) {
  const next = copyState(state);
  advance(next, Math.floor(dt * 1000 + 0.5));
  if (event) applyEvent(next, event);
  return next;
}

/** The hero whose quest, mana and todos are shown: the followed one, else the first of the party. */
export function focusOf(state) {
  return state.party.find((hero) => hero.session === state.choice.follow) ?? state.party[0] ?? null;
}

/** All who wait for a person: heroes and companions. */
export function listWaiting(state) {
  const all = [];
  for (const hero of state.party) {
    if (hero.waiting) all.push({ session: hero.session, actor: "main", title: hero.title, ...hero.waiting });
    for (const one of hero.companions) {
      if (one.waiting) all.push({ session: hero.session, actor: one.agent, title: one.type, ...one.waiting });
    }
  }
  return all;
}

/** The biome that the choice leads to. */
export function chooseBiome(state) {
  const { biome } = state.choice;
  if (typeof biome === "number") return biome;
  if (biome === "cycle") return Math.floor(state.clock / CYCLE_TICKS) % BIOMES;
  if (biome === "time") return biomeOfMinute(state.minute);
  return focusOf(state)?.biome ?? state.biome;
}

function biomeOfMinute(minute) {
  const hour = Math.floor(minute / 60);
  if (hour < 6 || hour >= 22) return 2;
  if (hour < 11) return 0;
  if (hour < 15) return 1;
  return hour < 19 ? 3 : 4;
}

// -- time

function advance(state, ms) {
  state.rest += ms;
  let ticks = Math.floor(state.rest / MS_PER_TICK);
  state.rest -= ticks * MS_PER_TICK;
  if (ticks > MAX_STEP_TICKS) {
    state.clock += ticks - MAX_STEP_TICKS;
    ticks = MAX_STEP_TICKS;
  }
  for (; ticks > 0; ticks -= 1) tick(state);
}

function tick(state) {
  state.clock += 1;
  for (const hero of state.party) tickHero(state, hero);
  state.party = state.party.filter((hero) => !hero.gone);
  tickScenery(state);
  state.fireworks = growOlder(state.fireworks, LIFE.firework);
  state.bursts = growOlder(state.bursts, LIFE.burst);
  state.banner = growOne(state.banner, LIFE.banner);
  state.celebration = growOne(state.celebration, LIFE.levelUp);
  state.flow = approach(state.flow, state.flow_goal);
}

function tickScenery(state) {
  const walks = state.party.some((hero) => hero.anim === "walk");
  if (state.clock % 10 === 0) state.pace = Math.max(0, Math.min(MAX_PACE, state.pace + (walks ? 1 : -1)));
  state.scroll = (state.scroll + state.pace) % SCROLL_SPAN;
  const storms = state.party.some((hero) => hero.storm);
  state.storm = Math.max(0, Math.min(MAX_STORM, state.storm + (storms ? 2 : -1)));
  const biome = chooseBiome(state);
  if (state.biome === null) {
    state.biome = biome;
  } else if (biome !== state.biome) {
    state.former = state.biome;
    state.biome = biome;
    state.fade = BIOME_FADE;
  } else if (state.fade > 0) {
    state.fade -= 1;
    if (state.fade === 0) state.former = null;
  }
}

function tickHero(state, hero) {
  hero.gone = !tickActor(hero);
  for (const one of hero.companions) one.gone = !tickActor(one);
  hero.companions = hero.companions.filter((one) => !one.gone);
  hero.quest = growOne(hero.quest, LIFE.quest);
  hero.bubble = growOne(hero.bubble, LIFE.bubble);
  hero.thrown = growOlder(hero.thrown, LIFE.thrown);
  hero.gains = growOlder(hero.gains, LIFE.gain);
  for (const enemy of hero.enemies) tickEnemy(state, hero, enemy);
  hero.enemies = hero.enemies.filter((enemy) => enemy.phase !== "over");
  if (hero.goal !== null) hero.mana = approach(hero.mana, hero.goal);
}

function tickEnemy(state, hero, enemy) {
  enemy.age += 1;
  if (enemy.phase === "fly" && enemy.age >= LIFE.flight) {
    enemy.age = 0;
    enemy.phase = enemy.kind === "low" ? "hover" : "hit";
    if (enemy.phase === "hit") hitTarget(state, hero, enemy);
  } else if ((enemy.phase === "hit" || enemy.phase === "flee") && enemy.age >= LIFE.impact) {
    enemy.phase = "over";
  }
}

function growOne(item, life) {
  if (!item) return null;
  item.age += 1;
  return item.age < life ? item : null;
}

function growOlder(items, life) {
  if (items.length === 0) return items;
  return items.filter((item) => growOne(item, life));
}

/** Move a meter towards its goal: fast when it's far, and always by at least one. */
function approach(value, goal) {
  const gap = Math.abs(goal - value);
  const move = Math.max(1, Math.floor(gap / 24));
  if (gap === 0) return value;
  return goal > value ? value + move : value - move;
}

// -- copies

/** Copy what ticks and events change; texts, todos and the profile are replaced as a whole and can be shared. */
function copyState(state) {
  return {
    ...state,
    choice: { ...state.choice },
    party: state.party.map(copyHero),
    fireworks: state.fireworks.map(copyItem),
    bursts: state.bursts.map(copyItem),
    banner: copyItem(state.banner),
    celebration: copyItem(state.celebration),
  };
}

function copyHero(hero) {
  return {
    ...hero,
    queue: hero.queue.slice(),
    companions: hero.companions.map((one) => ({ ...one, queue: one.queue.slice() })),
    quest: copyItem(hero.quest),
    bubble: copyItem(hero.bubble),
    thrown: hero.thrown.map(copyItem),
    gains: hero.gains.map(copyItem),
    enemies: hero.enemies.map(copyItem),
  };
}

function copyItem(item) {
  return item ? { ...item } : null;
}
