// The scrubber: a range over the whole replay, above it how full the context window was, with marks for turns and
// compactions.

import { formatClock } from "./deck.js";

export class Scrubber {
  constructor(holder, { deck, score, seek }) {
    this.canvas = holder.querySelector("canvas");
    this.range = holder.querySelector("input");
    this.deck = deck;
    this.score = score;
    this.most = score.steps.reduce((most, step) => Math.max(most, step[1]), 1);
    this.range.max = String(Math.max(deck.end, 0.1));
    this.range.addEventListener("input", () => seek(Number(this.range.value)));
    new ResizeObserver(() => this.draw()).observe(holder);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  update() {
    const { deck, range } = this;
    range.value = String(deck.now);
    range.setAttribute("aria-valuetext", `${deck.turn ? `Turn ${deck.turn}, ` : ""}${formatClock(deck.clock)} of ${formatClock(deck.elapsed.at(-1) ?? 0)}`);
    const share = deck.end ? deck.now / deck.end : 1;
    range.style.setProperty("--share", `${100 * share}%`);
    if (this.drawn === undefined || Math.abs(share - this.drawn) * this.canvas.clientWidth >= 0.5) this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    const scale = devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    const end = this.deck.end || 1;
    this.drawn = this.deck.end ? this.deck.now / end : 1;
    const x = (position) => ((this.deck.at[position] ?? 0) / end) * width;
    this.#drawFill(pen, x, width, height, this.#colour("--line-strong"));
    pen.save();
    pen.beginPath();
    pen.rect(0, 0, this.drawn * width, height);
    pen.clip();
    this.#drawFill(pen, x, width, height, this.#colour("--accent"));
    pen.restore();
    this.#drawMarks(pen, this.score.positions.map(x), this.#colour("--muted"), 1, 5, height);
    this.#drawMarks(pen, this.score.compactions.map(x), this.#colour("--warn"), 2, height, height);
  }

  #drawFill(pen, x, width, height, colour) {
    const { steps } = this.score;
    const base = height - 6;
    pen.fillStyle = colour;
    pen.globalAlpha = 0.55;
    pen.beginPath();
    pen.moveTo(steps.length ? x(steps[0][0]) : 0, base);
    let level = base;
    let last = -1;
    for (const [position, tokens] of steps) {
      const left = x(position);
      if (left - last < 0.5) continue;
      last = left;
      pen.lineTo(left, level);
      level = base - (tokens / this.most) * (base - 1);
      pen.lineTo(left, level);
    }
    pen.lineTo(width, level);
    pen.lineTo(width, base);
    pen.fill();
    pen.globalAlpha = 1;
  }

  // Draw marks at the bottom, at most one for every few pixels.
  #drawMarks(pen, places, colour, wide, high, height) {
    pen.fillStyle = colour;
    let last = -10;
    for (const place of places) {
      if (place - last < 3) continue;
      last = place;
      pen.fillRect(place, height - high, wide, high);
    }
  }

  // The theme decides the value of a colour variable, so read it from an element that uses it.
  #colour(name) {
    this.canvas.style.color = `var(${name})`;
    return getComputedStyle(this.canvas).color;
  }
}
