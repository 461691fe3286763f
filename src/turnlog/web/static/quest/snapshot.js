// The snapshot that the feed sends after each connection: the whole truth about who is there.

import { beginRest, cutRest, leave, settle } from "./animations.js";
import { applyContext } from "./enemies.js";
import { createCompanion, createHero, describeHero, findCompanion, leaveTogether } from "./heroes.js";

/** Take the sessions as the whole truth; heroes and companions that are known keep what they are playing. */
export function applySnapshot(state, event) {
  const listed = new Map(event.sessions.map((one) => [one.session, one]));
  for (const hero of state.party) if (!listed.has(hero.session)) leaveTogether(hero);
  for (const one of event.sessions) {
    let hero = state.party.find((other) => other.session === one.session && !other.leaving);
    if (!hero) {
      hero = createHero(one, "idle");
      state.party.push(hero);
    }
    describeHero(hero, one);
    updateCompanions(hero, one.agents ?? []);
    applyMode(hero, one);
    hero.todos = one.todos ?? [];
    if (one.context) applyContext(state, hero, one.context);
  }
}

function updateCompanions(hero, agents) {
  const listed = new Set(agents.map((one) => one.agent));
  for (const one of hero.companions) if (!listed.has(one.agent)) leave(one);
  for (const one of agents) {
    let companion = findCompanion(hero, one.agent);
    if (!companion) hero.companions.push((companion = createCompanion(one, "idle")));
    companion.waiting = one.waiting ?? null;
  }
}

function applyMode(hero, one) {
  const isResting = one.mode === "resting";
  const isActive = one.mode === "active" || isResting;
  const isWaiting = Boolean(one.waiting);
  if (hero.resting === isResting && hero.active === isActive && Boolean(hero.waiting) === isWaiting) return;
  if (isResting) beginRest(hero);
  else cutRest(hero);
  hero.active = isActive;
  hero.silence = 0;
  hero.waiting = one.waiting ?? null;
  settle(hero);
}
