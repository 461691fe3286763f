// Where events come from: the live stream of the server, or a script that is complete (a replay, or the demo).

import { createWorld, step } from "./world.js";

const RETRY_MS = 3000;
/** Before this many seconds, a jump applies events one after the other without playing them. */
const SETTLE_SECONDS = 20;
const HURRIED_SECONDS = 0.02;
const CHECKPOINT_EVENTS = 250;

/** Follow the live stream; `receive(event)` gets game events, snapshots and profiles. */
export function followStream(address, { receive, report }) {
  let source = null;
  let timer = 0;

  function connect() {
    source = new EventSource(address);
    source.addEventListener("open", () => report(true));
    source.addEventListener("error", () => {
      report(false);
      if (source.readyState !== EventSource.CLOSED) return;
      clearTimeout(timer);
      timer = setTimeout(connect, RETRY_MS);
    });
    source.addEventListener("snapshot", (message) => receive({ ...JSON.parse(message.data), game: "snapshot" }));
    source.addEventListener("profile", (message) => receive({ game: "profile", profile: JSON.parse(message.data) }));
    source.addEventListener("game", (message) => receive(JSON.parse(message.data)));
  }

  connect();
  return {
    close() {
      clearTimeout(timer);
      source.close();
    },
  };
}

/** Plays a script: all of its events are known, so it can jump to any time. */
export class Script {
  constructor({ events, seconds, profile = null }, options) {
    this.events = events;
    this.seconds = Math.max(seconds, events.at(-1)?.at ?? 0);
    this.start = createWorld(options);
    if (profile) this.start = step(this.start, { game: "profile", profile }, 0);
    this.checkpoints = [[0, this.start]];
    this.restart();
  }

  restart() {
    this.next = 0;
    this.at = 0;
  }

  get isOver() {
    return this.at >= this.seconds && this.next >= this.events.length;
  }

  /** Let `dt` seconds of the script pass. */
  play(state, dt, receive = () => {}) {
    const end = this.at + dt;
    while (this.next < this.events.length && this.events[this.next].at <= end) {
      const event = this.events[this.next];
      state = step(state, event, Math.max(0, event.at - this.at));
      this.at = Math.max(this.at, event.at);
      this.next += 1;
      receive(event);
    }
    state = step(state, null, end - this.at);
    this.at = end;
    return state;
  }

  /** The world at a time. The choices and the profile are those of `state`. */
  seek(state, at) {
    const target = Math.max(0, Math.min(this.seconds, at));
    const calm = Math.max(0, target - SETTLE_SECONDS);
    let [count, world] = this.checkpoints.findLast(([events]) => events === 0 || this.events[events - 1].at < calm);
    while (count < this.events.length && this.events[count].at < calm) {
      world = step(world, this.events[count], HURRIED_SECONDS);
      count += 1;
      if (count % CHECKPOINT_EVENTS === 0 && count > this.checkpoints.at(-1)[0]) this.checkpoints.push([count, world]);
    }
    this.next = count;
    this.at = Math.min(calm, target);
    world = step(world, { game: "choose", ...state.choice }, 0);
    if (state.profile) world = step(world, { game: "profile", profile: state.profile }, 0);
    return this.play(world, target - this.at);
  }

  /** The time of the event after a time, or before it. */
  findNeighbour(at, isForward) {
    if (isForward) return this.events.find((event) => event.at > at + 0.001)?.at ?? this.seconds;
    return this.events.findLast((event) => event.at < at - 0.001)?.at ?? 0;
  }
}
