// Who is in the world, and the short lists and the chance that all rules share.

import { createActor, leave } from "./animations.js";

const MAX_BURSTS = 24;
/** Events that say nothing about a session that is not in the party (any more). */
const QUIET = new Set(
  "leave idle answered context flow chest todos agent_finish result interrupt turn_finish".split(" "),
);

export function findHero(state, event) {
  const known = state.party.filter((one) => one.session === event.session);
  const hero = known.find((one) => !one.leaving) ?? null;
  if (hero || QUIET.has(event.game) || (known.length > 0 && event.game !== "enter")) return hero;
  const added = createHero(event, "enter");
  state.party.push(added);
  addBurst(state, "spawn", event.session, "main");
  return added;
}

export function findActor(hero, event) {
  const actor = event.actor ?? "main";
  return actor === "main" ? hero : findCompanion(hero, actor);
}

export function findCompanion(hero, agent) {
  return hero.companions.find((one) => one.agent === agent && !one.leaving) ?? null;
}

export function createHero(event, anim) {
  return {
    session: event.session,
    project: event.project ?? "",
    title: event.title ?? "",
    biome: event.biome ?? 0,
    ...createActor(anim),
    gone: false,
    companions: [],
    quest: null,
    bubble: null,
    thrown: [],
    gains: [],
    enemies: [],
    todos: [],
    context: null,
    mana: 1000,
    goal: null,
    storm: false,
    streak: 0,
  };
}

export function createCompanion(event, anim) {
  return {
    agent: event.agent,
    type: event.agent_type ?? "",
    description: event.description ?? "",
    ...createActor(anim),
    active: true,
    gone: false,
  };
}

export function describeHero(hero, event) {
  hero.project = event.project ?? hero.project;
  hero.title = event.title ?? hero.title;
  hero.biome = event.biome ?? hero.biome;
}

export function leaveTogether(hero) {
  leave(hero);
  for (const one of hero.companions) leave(one);
}

// -- lists, and chance

export function addLast(items, item, limit) {
  items.push(item);
  if (items.length > limit) items.shift();
}

export function addBurst(state, kind, session, actor) {
  addLast(state.bursts, { kind, session, actor, seed: chance(state, 65536), age: 0 }, MAX_BURSTS);
}

/** A whole number from 0 to `count` - 1, from a linear congruential generator of 32 bits. */
export function chance(state, count) {
  state.seed = (Math.imul(state.seed, 1664525) + 1013904223) >>> 0;
  return (state.seed >>> 8) % count;
}

export function toThousandths(share) {
  return Math.floor(share * 1000 + 0.5);
}
