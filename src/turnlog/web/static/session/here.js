// Reports the reader's position: the turn and the visible items.

import { findReadBlock, listItems } from "./windows.js";

export class Here {
  constructor({ windows, jump, onChange }) {
    this.windows = windows;
    this.jump = jump;
    this.onChange = onChange;
    addEventListener("scroll", () => this.scheduleUpdate(), { passive: true });
    addEventListener("resize", () => this.scheduleUpdate());
    document.addEventListener("window-loaded", () => this.scheduleUpdate());
    document.addEventListener("jumped", () => this.scheduleUpdate());
    this.scheduleUpdate();
  }

  scheduleUpdate() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.update();
    });
  }

  update() {
    const block = findReadBlock();
    const section = block?.closest("section.window");
    if (!section || !this.windows.has(section)) return;
    const first = this.#place(block, section);
    const box = section.getBoundingClientRect();
    // Estimate how many items fit, from the height of this window.
    const visible = Math.max(1, Math.round((innerHeight / Math.max(box.height, 1)) * this.windows.size));
    // At the end of the page, the target of a jump may be below the middle.
    const current = this.jump.block() ?? block;
    const turn = Number((current.matches(".fork") ? current.nextElementSibling : current)?.dataset.turn ?? 0);
    this.onChange({ first, last: first + visible - 1, turn });
  }

  #place(block, section) {
    const start = Number(section.dataset.n) * this.windows.size;
    if (block === section) {
      const box = section.getBoundingClientRect();
      return start + Math.floor(Math.min(Math.max(-box.top / box.height, 0), 0.999) * this.windows.size);
    }
    const article = block.matches("article.item") ? block : block.nextElementSibling;
    return start + Math.max(0, listItems(section).indexOf(article));
  }
}
