// How often the quest is drawn: often while somebody acts, seldom while all stand, and for people who want less motion only
// when the picture changes. A quest stays open for hours, so a frame that nobody would miss is not drawn.

import { durationOf } from "./animations.js";

export const MOVING_FPS = 24;
export const STANDING_FPS = 4;
/** While nobody is there, only the clouds drift. */
export const EMPTY_FPS = 2;
/** A frame may be shown this much early, so that the times of the display's own frames even out. */
const EARLY_MS = 8;
const RESTFUL = new Set(["idle", "waiting", "rest"]);
/** What goes on all the time, but shows in no picture without motion. */
const HIDDEN_FIELDS = new Set(["clock", "rest", "seed", "scroll", "pace", "silence", "rested"]);

/** Whether something happens that should look smooth. */
export function isMoving(state) {
  const { pace, fade, fireworks, bursts, banner, celebration } = state;
  if (pace || fade || fireworks.length || bursts.length || banner || celebration) return true;
  return state.flow !== state.flow_goal || state.party.some(isHeroMoving);
}

function isHeroMoving(hero) {
  if ([hero, ...hero.companions].some((actor) => !RESTFUL.has(actor.anim))) return true;
  if (hero.thrown.length || hero.gains.length || hero.enemies.some((enemy) => enemy.phase !== "hover")) return true;
  return hero.goal !== null && hero.mana !== hero.goal;
}

/** A text that is the same for two states whose pictures without motion are the same. */
export function describePicture(state) {
  return JSON.stringify(state, function (name, value) {
    if (HIDDEN_FIELDS.has(name)) return undefined;
    if (name !== "age") return value;
    const isEndless = this.phase === "hover" || (this.anim !== undefined && durationOf(this.anim) === 0);
    return isEndless ? undefined : value;
  });
}

/** Calls `show(now)` for each frame; it returns how many frames a second it wants from now on, 0 for none until `wake`. */
export class FrameTimer {
  constructor(show) {
    this.show = show;
    this.timer = 0;
    this.last = null;
    this.due = 0;
    /** Whether the browser was asked for a frame, which hidden pages do not get. */
    this.isAsking = false;
  }

  start() {
    this.last = this.due = performance.now();
    this.#ask();
  }

  /** Show a frame as soon as possible: something has changed. */
  wake() {
    if (this.last === null || this.isAsking) return;
    this.due = this.last + 1000 / MOVING_FPS;
    this.#wait();
  }

  #wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#ask(), Math.max(0, this.due - performance.now() - EARLY_MS));
  }

  #ask() {
    this.isAsking = true;
    // A frame of the display costs more than what is drawn in it, so one is asked for only if there is something to draw.
    if (document.hidden || this.rate === MOVING_FPS) requestAnimationFrame((now) => this.#show(now));
    else this.#show(performance.now());
  }

  #show(now) {
    this.isAsking = false;
    this.last = now;
    const rate = (this.rate = this.show(now));
    if (!rate) return;
    this.due = Math.max(this.due + 1000 / rate, now);
    this.#wait();
  }
}
