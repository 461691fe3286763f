// The place in a replay, as in a video player: pure, the caller says how much time has passed.
// `at` and `elapsed` are the seconds of each item; the replay runs on `at`, the clock shows `elapsed`.

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32];

export class Deck {
  constructor({ at, elapsed, kinds, turns, turn_total: turnTotal, positions }) {
    Object.assign(this, { at, elapsed, kinds, turns, turnTotal, positions });
    this.now = 0;
    this.speed = 1;
    this.isPlaying = false;
    this.position = at.length ? 0 : -1;
  }

  get end() {
    return this.at.at(-1) ?? 0;
  }

  get isOver() {
    return this.position >= this.at.length - 1;
  }

  // Move on by some real time; items that became due count as shown.
  passTime(seconds) {
    if (!this.isPlaying) return;
    this.now = Math.min(this.now + Math.max(0, seconds) * this.speed, this.end);
    this.position = Math.max(this.position, countUntil(this.at, this.now) - 1);
    if (this.isOver) this.isPlaying = false;
  }

  // Show everything up to an item.
  moveTo(position) {
    this.position = Math.max(0, Math.min(position, this.at.length - 1));
    this.now = this.at[this.position] ?? 0;
  }

  seek(seconds) {
    this.now = Math.max(0, Math.min(seconds, this.end));
    this.position = Math.max(0, countUntil(this.at, this.now) - 1);
  }

  // The next item in a direction that a reader can see.
  findNeighbour(direction, isVisible) {
    let position = this.position + direction;
    while (position > 0 && position < this.at.length - 1 && !isVisible(position)) position += direction;
    return Math.max(0, Math.min(position, this.at.length - 1));
  }

  // The index of the current turn among the turns; -1 before the first.
  get turnIndex() {
    return countUntil(this.positions, this.position) - 1;
  }

  get turn() {
    return this.turns[this.turnIndex] ?? 0;
  }

  findTurn(number) {
    const index = this.turns.findIndex((turn) => turn >= number);
    return index < 0 ? null : this.positions[index];
  }

  // From the middle of a turn, the step back goes to its start.
  findTurnBeside(direction) {
    const index = this.turnIndex;
    if (direction > 0) return this.positions[index + 1] ?? this.at.length - 1;
    return this.position > (this.positions[index] ?? 0) ? this.positions[index] : (this.positions[index - 1] ?? 0);
  }

  // The item at a time of the session.
  findElapsed(seconds) {
    return Math.max(0, countUntil(this.elapsed, seconds) - 1);
  }

  // The time of the session; a long silence ends with a jump.
  get clock() {
    const here = this.elapsed[this.position] ?? 0;
    const next = this.elapsed[this.position + 1] ?? here;
    return Math.min(here + Math.max(0, this.now - (this.at[this.position] ?? 0)), next);
  }

  // How much of the time until the next item has passed, from 0 to 1.
  get share() {
    const here = this.at[this.position] ?? 0;
    const gap = (this.at[this.position + 1] ?? here) - here;
    return gap > 0 ? Math.min(1, (this.now - here) / gap) : 1;
  }

  changeSpeed(direction) {
    const faster = SPEEDS.find((speed) => speed > this.speed) ?? SPEEDS.at(-1);
    const slower = SPEEDS.findLast((speed) => speed < this.speed) ?? SPEEDS[0];
    this.speed = direction > 0 ? faster : slower;
  }
}

// How many values of an ordered list are not above a limit.
export function countUntil(values, limit) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function formatClock(seconds) {
  const whole = Math.floor(seconds);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

// Parse `12` as a turn, and `1:30`, `1:02:30` or `90s` as a time; null for anything else.
export function parsePlace(text) {
  const found = text.trim().match(/^(?:(\d{1,9})|(?:(\d{1,4}):)?(\d{1,4}):(\d\d)|(\d{1,9})s)$/);
  if (!found) return null;
  const [, turn, hours, minutes, seconds, plain] = found;
  if (turn) return { turn: Number(turn) };
  return { seconds: plain ? Number(plain) : Number(hours ?? 0) * 3600 + Number(minutes) * 60 + Number(seconds) };
}
