// The minimap: the whole branch on one strip. It has bars for output tokens, red marks on the right for failures, marks
// on the left for compactions, lines for pauses, and a frame around the visible part.

export class Minimap {
  constructor(strip, { go }) {
    this.strip = strip;
    this.canvas = strip.querySelector("canvas");
    this.frame = strip.querySelector(".minimap-here");
    this.items = 1;
    new ResizeObserver(() => this.draw()).observe(strip);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    strip.addEventListener("pointerdown", (event) => {
      const box = strip.getBoundingClientRect();
      go(Math.floor(((event.clientY - box.top) / box.height) * this.items));
    });
  }

  fill({ strip, items, compactions }) {
    this.rows = strip;
    this.items = Math.max(1, items);
    this.compactions = compactions.map((compaction) => compaction.position).filter((position) => position !== null);
    this.draw();
  }

  // Frame the visible items.
  mark(first, last) {
    const height = this.strip.clientHeight;
    const top = (first / this.items) * height;
    this.frame.style.transform = `translateY(${Math.min(top, height - 4)}px)`;
    this.frame.style.height = `${Math.max(4, ((last - first + 1) / this.items) * height)}px`;
    this.frame.hidden = false;
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.strip;
    if (!width || !height || !this.rows) return;
    const scale = devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    const colours = Object.fromEntries(["--line-strong", "--muted", "--bad", "--accent"].map((name) => [name, this.#colour(name)]));
    const { tokens, errors, pauses } = this.rows;
    const step = height / tokens.length;
    const most = Math.log1p(Math.max(1, ...tokens));
    const mark = (colour, x, row, wide, high) => {
      pen.fillStyle = colours[colour];
      pen.fillRect(x, row * step, wide, high);
    };
    tokens.forEach((number, row) => number && mark("--line-strong", 4, row, Math.max(1, (Math.log1p(number) / most) * (width - 8)), step));
    for (const row of pauses) mark("--muted", 0, row, width, 0.5);
    errors.forEach((number, row) => number && mark("--bad", width - 3, row, 3, Math.max(step, 1.5)));
    pen.fillStyle = colours["--accent"];
    for (const position of this.compactions) pen.fillRect(0, (position / this.items) * height, 3, 1.5);
  }

  // The theme decides the value of a colour variable, so read it from an element that uses it.
  #colour(name) {
    this.canvas.style.color = `var(${name})`;
    return getComputedStyle(this.canvas).color;
  }
}
