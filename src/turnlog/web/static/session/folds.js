// Unfolds thinking, bookkeeping or all cards everywhere, also in windows that load later.

import { readPreference, savePreference } from "../preferences.js";
import { keepPosition } from "./windows.js";

const FOLDS = { thinking: "details.thinking", cards: "details.card, .item details:not(.agent):not(.thinking)" };

export class Folds {
  constructor(root, buttons) {
    this.root = root;
    this.buttons = buttons;
    this.on = { thinking: false, cards: false, meta: readPreference("meta", false) };
    for (const [name, button] of Object.entries(buttons)) button.addEventListener("click", () => this.toggle(name));
    document.addEventListener("window-loaded", (event) => this.#apply(event.target));
    this.#update();
  }

  toggle(name) {
    this.on[name] = !this.on[name];
    keepPosition(() => {
      if (name in FOLDS) for (const details of this.root.querySelectorAll(FOLDS[name])) details.open = this.on[name];
      this.#update();
    });
    if (name === "meta") savePreference("meta", this.on.meta);
  }

  #apply(root) {
    for (const [name, selector] of Object.entries(FOLDS)) {
      if (this.on[name]) for (const details of root.querySelectorAll(selector)) details.open = true;
    }
  }

  #update() {
    this.root.classList.toggle("show-meta", this.on.meta);
    for (const [name, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", this.on[name]);
  }
}
