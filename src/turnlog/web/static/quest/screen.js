// The canvas: as large as whole multiples of its 320 x 200 pixels allow, and drawn once a frame.

import { HEIGHT, WIDTH } from "./art.js";
import { draw } from "./draw.js";

const MAX_COSTS = 2000;

export class Screen {
  constructor(canvas, box, art) {
    this.canvas = canvas;
    this.box = box;
    this.art = art;
    this.context = canvas.getContext("2d", { alpha: false });
    /** Milliseconds that the latest frames cost, script and drawing together. */
    this.costs = [];
    this.scale = 0;
    new ResizeObserver(() => this.fit()).observe(box);
    this.fit();
  }

  /** Choose the largest whole scale that fits; device pixels count, so that all are equally large. */
  fit() {
    const ratio = devicePixelRatio || 1;
    const isFull = document.fullscreenElement !== null;
    const width = this.box.clientWidth * ratio;
    const height = (isFull ? innerHeight : Math.max(HEIGHT, innerHeight - 190)) * ratio;
    const scale = Math.floor(Math.min(width / WIDTH, height / HEIGHT));
    this.scale = scale;
    // Narrower than one multiple: a small phone gets a fraction rather than a part of the picture.
    const shown = scale >= 1 ? (WIDTH * scale) / ratio : this.box.clientWidth;
    this.canvas.style.width = `${shown}px`;
    this.canvas.style.height = `${(shown * HEIGHT) / WIDTH}px`;
  }

  draw(state, options) {
    draw(this.context, state, this.art, options);
  }

  note(cost) {
    this.costs.push(cost);
    if (this.costs.length > MAX_COSTS) this.costs.splice(0, MAX_COSTS / 2);
  }

  /** The point of the picture under a pointer. */
  locate(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: ((event.clientX - box.left) / box.width) * WIDTH, y: ((event.clientY - box.top) / box.height) * HEIGHT };
  }
}
