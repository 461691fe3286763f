// Enemies: a failure flies at the actor that caused it, and hurts only when it arrives.

import { start } from "./animations.js";
import { addBurst, addLast, chance, findActor, toThousandths } from "./heroes.js";

const MAX_ENEMIES = 5;
const LOW_SHARE = 0.8;
const STRIKING_SHARE = 0.95;
/** Enemies come in this many shapes. */
export const ENEMY_SHAPES = 4;

/** Let an enemy set out for an actor. */
export function addEnemy(state, hero, kind, text, actor) {
  const enemy = { kind, text, actor, phase: "fly", struck: false, shape: chance(state, ENEMY_SHAPES), age: 0 };
  addLast(hero.enemies, enemy, MAX_ENEMIES);
}

/** Note how full the context window is: mana, and the enemy that comes when it runs low. */
export function applyContext(state, hero, event) {
  hero.context = { used: event.used ?? null, window: event.window ?? null };
  const share = event.share ?? null;
  hero.goal = share === null ? null : Math.max(0, Math.min(1000, 1000 - toThousandths(share)));
  meetLowContext(state, hero, share ?? 0);
}

function meetLowContext(state, hero, share) {
  const enemy = hero.enemies.find((one) => one.kind === "low" && one.phase !== "flee");
  if (share <= LOW_SHARE) {
    if (enemy) Object.assign(enemy, { phase: "flee", age: 0 });
  } else if (!enemy) {
    addEnemy(state, hero, "low", "LOW CTX", "main");
  } else if (share >= STRIKING_SHARE && !enemy.struck && enemy.phase === "hover") {
    enemy.struck = true;
    hitTarget(state, hero, enemy);
  }
}

/** An enemy reaches its target, which only now is hurt. */
export function hitTarget(state, hero, enemy) {
  const actor = findActor(hero, enemy);
  if (!actor) return;
  start(actor, "hurt");
  addBurst(state, "hit", hero.session, enemy.actor);
}
