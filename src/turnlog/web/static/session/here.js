// Where the reader is: the turn and the items that can be seen, told to whoever shows it.

import { items, reading } from "./windows.js";

export class Here {
  constructor({ windows, jump, shown }) {
    this.windows = windows;
    this.jump = jump;
    this.shown = shown;
    addEventListener("scroll", () => this.soon(), { passive: true });
    addEventListener("resize", () => this.soon());
    document.addEventListener("window-loaded", () => this.soon());
    document.addEventListener("jumped", () => this.soon());
    this.soon();
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.look();
    });
  }

  look() {
    const block = reading();
    const section = block?.closest("section.window");
    if (!section || !this.windows.has(section)) return;
    const first = this.#place(block, section);
    const box = section.getBoundingClientRect();
    // About as many items as fit, by the height of this window's.
    const seen = Math.max(1, Math.round((innerHeight / Math.max(box.height, 1)) * this.windows.size));
    // At the end of the page, what was gone to may stand below the middle.
    const told = this.jump.block() ?? block;
    const turn = Number((told.matches(".fork") ? told.nextElementSibling : told)?.dataset.turn ?? 0);
    this.shown({ first, last: first + seen - 1, turn });
  }

  #place(block, section) {
    const start = Number(section.dataset.n) * this.windows.size;
    if (block === section) {
      const box = section.getBoundingClientRect();
      return start + Math.floor(Math.min(Math.max(-box.top / box.height, 0), 0.999) * this.windows.size);
    }
    const article = block.matches("article.item") ? block : block.nextElementSibling;
    return start + Math.max(0, items(section).indexOf(article));
  }
}
