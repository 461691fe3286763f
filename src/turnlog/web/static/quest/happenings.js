// What each game event does to the world: docs/quest.md has the same as a table.

import { beginRest, cutRest, endRest, endWait, enqueue, leave, settle, wake } from "./animations.js";
import { addEnemy, applyContext } from "./enemies.js";
import {
  addBurst,
  addLast,
  chance,
  createCompanion,
  describeHero,
  findActor,
  findCompanion,
  findHero,
  leaveTogether,
  toThousandths,
} from "./heroes.js";
import { applySnapshot } from "./snapshot.js";

/** How many rockets a prompt's think level is worth. */
export const ROCKETS = { none: 0, normal: 0, think: 2, hard: 4, harder: 7, ultra: 12 };
const MAX_THROWN = 6;
const MAX_GAINS = 6;
const MAX_FIREWORKS = 24;
const ROCKET_GAP_TICKS = 18;
const COLOURS = 6;
const LANES = 4;

/** Let an event happen in a state that may be changed. */
export function applyEvent(state, event) {
  if (WORLD_EVENTS[event.game]) return WORLD_EVENTS[event.game](state, event);
  const apply = EVENTS[event.game];
  if (!apply) return;
  const hero = findHero(state, event);
  if (!hero) return;
  hero.silence = 0;
  apply(state, hero, event);
  for (const gain of event.xp ?? []) addLast(hero.gains, { amount: gain.amount, reason: gain.reason, age: 0 }, MAX_GAINS);
}

// -- events of the world itself

const WORLD_EVENTS = {
  snapshot(state, event) {
    applySnapshot(state, event);
    if (event.profile) applyProfile(state, event);
  },
  profile: applyProfile,
  clock(state, event) {
    state.minute = event.minute;
  },
  choose(state, event) {
    if (event.biome !== undefined) state.choice.biome = event.biome;
    if (event.follow !== undefined) state.choice.follow = event.follow;
  },
};

function applyProfile(state, event) {
  state.profile = event.profile;
  state.flow_goal = toThousandths(event.profile.flow ?? 0);
}

// -- events of a session

const EVENTS = {
  enter(state, hero, event) {
    describeHero(hero, event);
  },
  leave(state, hero) {
    leaveTogether(hero);
    addBurst(state, "poof", hero.session, "main");
  },
  quest(state, hero, event) {
    wake(hero);
    hero.quest = { text: event.text, level: event.level ?? "none", age: 0 };
    addFireworks(state, ROCKETS[event.level] ?? 0);
  },
  read: (state, hero, event) => useTool(state, hero, event, "casting", "read"),
  write: (state, hero, event) => useTool(state, hero, event, "writing", "write"),
  bash: (state, hero, event) => useTool(state, hero, event, "attack", "bash"),
  web: (state, hero, event) => useTool(state, hero, event, "casting", "web"),
  tool: (state, hero, event) => useTool(state, hero, event, "casting", event.category === "agent" ? "agent" : "other"),
  result(state, hero, event) {
    if (event.outcome === "ok") hero.storm = false;
    if (event.streak !== undefined && event.streak !== null) hero.streak = event.streak;
  },
  think(state, hero, event) {
    const actor = actOut(state, hero, event, "thinking");
    if (actor === hero && event.text) hero.bubble = { text: event.text, age: 0 };
  },
  text(state, hero, event) {
    actOut(state, hero, event, null);
  },
  agent_start(state, hero, event) {
    if (findCompanion(hero, event.agent)) return;
    hero.companions.push(createCompanion(event, "enter"));
    addBurst(state, "spawn", hero.session, event.agent);
  },
  agent_finish(state, hero, event) {
    const companion = findCompanion(hero, event.agent);
    if (!companion) return;
    leave(companion);
    addBurst(state, "poof", hero.session, event.agent);
  },
  todos(state, hero, event) {
    hero.todos = event.items;
  },
  question: (state, hero, event) => beginWait(hero, event, "question"),
  plan: (state, hero, event) => beginWait(hero, event, "plan"),
  permission: (state, hero, event) => beginWait(hero, event, "permission"),
  answered(state, hero, event) {
    const actor = findActor(hero, event);
    if (!actor) return;
    endWait(actor);
    actor.silence = 0;
    actor.active = true;
  },
  error(state, hero, event) {
    if (event.source === "api") hero.storm = true;
    addEnemy(state, hero, event.source === "api" ? "error" : "bug", event.text ?? "", event.actor ?? "main");
  },
  turn_finish(state, hero) {
    hero.storm = false;
    endWait(hero);
    endRest(hero);
    hero.active = false;
    enqueue(hero, "victory");
  },
  interrupt(state, hero, event) {
    const actor = findActor(hero, event);
    if (!actor) return;
    actor.active = false;
    actor.waiting = null;
    cutRest(actor);
    settle(actor);
  },
  compact_start(state, hero, event) {
    const actor = findActor(hero, event);
    if (actor) beginRest(actor);
  },
  compact_end(state, hero, event) {
    const actor = findActor(hero, event);
    if (!actor?.resting) return;
    endRest(actor);
    if (actor === hero) addBurst(state, "heal", hero.session, "main");
  },
  context(state, hero, event) {
    if ((event.actor ?? "main") === "main") applyContext(state, hero, event);
  },
  ship(state, hero, event) {
    enqueue(hero, "pose");
    state.banner = { kind: event.kind, session: hero.session, age: 0 };
  },
  idle(state, hero, event) {
    const actor = findActor(hero, event);
    if (!actor) return;
    actor.active = false;
    endRest(actor);
    endWait(actor);
  },
  level_up(state, hero, event) {
    enqueue(hero, "victory");
    state.celebration = { level: event.level, session: hero.session, age: 0 };
    addBurst(state, "level", hero.session, "main");
  },
  chest(state, hero) {
    enqueue(hero, "victory");
    addBurst(state, "chest", hero.session, "main");
  },
  flow(state, hero, event) {
    state.flow_goal = toThousandths(event.meter);
  },
};

/** The names of all events that change the world. */
export const EVENT_NAMES = [...Object.keys(EVENTS), ...Object.keys(WORLD_EVENTS)];

function useTool(state, hero, event, anim, colour) {
  const actor = actOut(state, hero, event, anim);
  if (!actor) return;
  const item = { text: event.tool ?? "", colour, actor: event.actor ?? "main", lane: chance(state, LANES), age: 0 };
  addLast(hero.thrown, item, MAX_THROWN);
}

/** The model has answered: the storm is over, and the actor wakes up. Returns the actor. */
function actOut(state, hero, event, anim) {
  const actor = findActor(hero, event);
  if (!actor) return null;
  hero.storm = false;
  wake(actor);
  if (anim) enqueue(actor, anim);
  return actor;
}

function beginWait(hero, event, kind) {
  const actor = findActor(hero, event);
  if (!actor || actor.leaving) return;
  actor.silence = 0;
  actor.active = true;
  cutRest(actor);
  actor.waiting = { kind, text: event.text ?? event.title ?? event.tool ?? "" };
  settle(actor);
}

function addFireworks(state, count) {
  for (let number = 0; number < count; number += 1) {
    const x = 24 + chance(state, 272);
    const y = 18 + chance(state, 56);
    const rocket = { x, y, colour: chance(state, COLOURS), shape: chance(state, LANES), age: -number * ROCKET_GAP_TICKS };
    addLast(state.fireworks, rocket, MAX_FIREWORKS);
  }
}
