// What is unfolded everywhere: thinking, book-keeping, all cards. It holds for windows that come later, too.

import { keep, kept } from "./kept.js";
import { steady } from "./windows.js";

const FOLDS = { thinking: "details.thinking", cards: "details.card, .item details:not(.agent):not(.thinking)" };

export class Folds {
  constructor(root, buttons) {
    this.root = root;
    this.buttons = buttons;
    this.on = { thinking: false, cards: false, meta: kept("meta") === "1" };
    for (const [name, button] of Object.entries(buttons)) button.addEventListener("click", () => this.toggle(name));
    document.addEventListener("window-loaded", (event) => this.#apply(event.target));
    this.#tell();
  }

  toggle(name) {
    this.on[name] = !this.on[name];
    steady(() => {
      if (name in FOLDS) for (const details of this.root.querySelectorAll(FOLDS[name])) details.open = this.on[name];
      this.#tell();
    });
    if (name === "meta") keep("meta", this.on.meta ? "1" : "0");
  }

  #apply(root) {
    for (const [name, wanted] of Object.entries(FOLDS)) {
      if (this.on[name]) for (const details of root.querySelectorAll(wanted)) details.open = true;
    }
  }

  #tell() {
    this.root.classList.toggle("show-meta", this.on.meta);
    for (const [name, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", this.on[name]);
  }
}
