// What an actor (a hero, or the companion that stands for a sub-agent) plays: one animation, and a short queue behind it,
// so that a burst of events stays readable. Pure: no clock, no document.
//
// Time is counted in ticks of 10 ms, in whole numbers, so that the port in Python comes to the same states.

export const TICKS_PER_SECOND = 100;
export const FRAMES_PER_SECOND = 24;
export const MAX_QUEUE = 6;
/** With more than this many animations behind it, an animation plays at twice the speed. */
export const CALM_QUEUE = 2;
/** Without an event for this long, an actor that walked stands still. */
export const IDLE_TICKS = 60 * TICKS_PER_SECOND;

/** A camp lasts at least this long: of an old compaction, transcripts know only the end. */
export const MIN_REST_TICKS = 2 * TICKS_PER_SECOND;

/** Frames of each animation; `loops` is how often it plays before the next one, and 0 means for ever. */
export const ANIMATIONS = {
  idle: { frames: 16, loops: 0 },
  enter: { frames: 20, loops: 1 },
  walk: { frames: 16, loops: 0 },
  casting: { frames: 16, loops: 1 },
  attack: { frames: 16, loops: 1 },
  writing: { frames: 16, loops: 1 },
  thinking: { frames: 16, loops: 2 },
  hurt: { frames: 16, loops: 1 },
  victory: { frames: 20, loops: 1 },
  pose: { frames: 20, loops: 1 },
  rest: { frames: 20, loops: 0 },
  waiting: { frames: 20, loops: 0 },
  poof: { frames: 16, loops: 1 },
};

/** The parts of a hero or a companion that this module changes. */
export function createActor(anim) {
  return {
    anim,
    age: 0,
    queue: [],
    active: false,
    silence: 0,
    waiting: null,
    resting: false,
    rested: 0,
    dawn: false,
    leaving: false,
  };
}

/** The frame that an actor shows now. */
export function frameOf(actor) {
  return Math.floor((actor.age * FRAMES_PER_SECOND) / TICKS_PER_SECOND) % ANIMATIONS[actor.anim].frames;
}

/** How many ticks an animation takes; 0 if it has no end. */
export function durationOf(anim) {
  const { frames, loops } = ANIMATIONS[anim];
  return Math.ceil((frames * loops * TICKS_PER_SECOND) / FRAMES_PER_SECOND);
}

/** What an actor does when its queue is empty. */
export function baseOf(actor) {
  if (actor.resting) return "rest";
  if (actor.waiting) return "waiting";
  return actor.active ? "walk" : "idle";
}

/** Play an animation after those that already wait; of a long queue, the oldest is dropped. */
export function enqueue(actor, anim) {
  if (actor.leaving) return;
  if (durationOf(actor.anim) === 0 && !actor.resting) return start(actor, anim);
  actor.queue.push(anim);
  if (actor.queue.length > MAX_QUEUE) actor.queue.shift();
}

/** Play an animation now, whatever else is going on. */
export function start(actor, anim) {
  if (actor.leaving) return;
  actor.anim = anim;
  actor.age = 0;
}

/** Drop what is queued and go over to what the actor does without events. */
export function settle(actor) {
  actor.queue = [];
  start(actor, baseOf(actor));
}

/** Something happened: the actor walks on. */
export function wake(actor) {
  actor.silence = 0;
  actor.active = true;
  endRest(actor);
  endWait(actor);
}

/** Make camp; what was queued no longer matters. */
export function beginRest(actor) {
  actor.waiting = null;
  actor.active = true;
  actor.resting = true;
  actor.rested = 0;
  actor.dawn = false;
  settle(actor);
}

/** Break camp, as soon as it has been seen. */
export function endRest(actor) {
  actor.dawn = actor.resting;
}

/** Break camp at once. */
export function cutRest(actor) {
  actor.resting = false;
  actor.dawn = false;
}

/** A person answered, or it no longer matters. */
export function endWait(actor) {
  if (!actor.waiting) return;
  actor.waiting = null;
  if (actor.anim === "waiting") start(actor, baseOf(actor));
}

/** The last animation of an actor that goes. */
export function leave(actor) {
  if (actor.leaving) return;
  actor.queue = [];
  actor.waiting = null;
  cutRest(actor);
  start(actor, "poof");
  actor.leaving = true;
}

/** Let one tick pass; return whether the actor is still there. */
export function tickActor(actor) {
  actor.age += actor.queue.length > CALM_QUEUE ? 2 : 1;
  actor.silence += 1;
  if (actor.silence >= IDLE_TICKS) actor.active = false;
  if (actor.resting) tickRest(actor);
  const duration = durationOf(actor.anim);
  if (duration === 0) {
    const base = baseOf(actor);
    if (base !== actor.anim) start(actor, actor.queue.shift() ?? base);
    return true;
  }
  if (actor.age < duration) return true;
  if (actor.leaving) return false;
  start(actor, actor.queue.shift() ?? baseOf(actor));
  return true;
}

function tickRest(actor) {
  actor.rested += 1;
  if (actor.dawn && actor.rested >= MIN_REST_TICKS) cutRest(actor);
}
