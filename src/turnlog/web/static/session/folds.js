// How much of the transcript is shown: the density, turns folded to their steps, and switches for thinking, bookkeeping
// and calls. Everything also applies to windows that load later.

import { onPreference, readPreference, savePreference } from "../preferences.js";
import { keepPosition } from "./windows.js";

const FOLDS = { thinking: "details.thinking", cards: "details.card, .item details:not(.agent):not(.thinking)" };
export const DENSITIES = ["reading", "steps", "everything"];

export class Folds {
  constructor(root, buttons, choices = []) {
    this.root = root;
    this.buttons = buttons;
    this.choices = choices;
    this.density = choices.length ? readDensity() : "reading";
    this.turns = new Map(); // turns whose fold differs from the density
    const isEverything = this.density === "everything";
    this.on = { thinking: isEverything, cards: isEverything, meta: isEverything || readPreference("meta", false) };
    for (const [name, button] of Object.entries(buttons)) button.addEventListener("click", () => this.toggle(name));
    for (const choice of choices) choice.addEventListener("change", () => choice.checked && this.setDensity(choice.value));
    document.addEventListener("window-loaded", (event) => this.#apply(event.target));
    root.addEventListener("click", (event) => this.#onClick(event));
    if (choices.length) onPreference("density", () => this.#showDensity(readDensity()));
    this.#apply(root);
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

  /** Choose how much to show; the choice is remembered. */
  setDensity(density) {
    savePreference("density", density);
    this.#showDensity(density);
  }

  nextDensity() {
    this.setDensity(DENSITIES[(DENSITIES.indexOf(this.density) + 1) % DENSITIES.length]);
    return this.density;
  }

  #showDensity(density) {
    if (density === this.density) return;
    const wasEverything = this.density === "everything";
    this.density = density;
    this.turns.clear();
    keepPosition(() => {
      if (wasEverything || density === "everything") {
        const isOn = density === "everything";
        this.on = { thinking: isOn, cards: isOn, meta: isOn || readPreference("meta", false) };
        for (const selector of Object.values(FOLDS)) for (const details of this.root.querySelectorAll(selector)) details.open = isOn;
      }
      this.#apply(this.root);
      this.#update();
    });
  }

  /** Fold a turn to its steps, or unfold it. */
  toggleTurn(turn) {
    if (!turn) return;
    this.turns.set(turn, !this.isFolded(turn));
    keepPosition(() => this.#apply(this.root));
  }

  isFolded(turn) {
    return this.turns.get(turn) ?? this.density === "steps";
  }

  #apply(root) {
    for (const [name, selector] of Object.entries(FOLDS)) {
      if (this.on[name]) for (const details of root.querySelectorAll(selector)) details.open = true;
    }
    if (!this.choices.length) return;
    for (const article of root.querySelectorAll(".window > article.item[data-turn]")) {
      if (!article.closest(".nested")) this.#foldItem(article, this.isFolded(Number(article.dataset.turn)));
    }
    for (const head of root.querySelectorAll(".turn-head")) {
      const isFolded = this.isFolded(Number(head.dataset.turn));
      head.querySelector(".turn-fold")?.setAttribute("aria-expanded", String(!isFolded));
    }
  }

  // Folding closes cards that were open, and unfolding opens them again.
  #foldItem(article, isFolded) {
    if (article.classList.contains("folded") === isFolded || article.classList.contains("prompt")) return;
    article.classList.toggle("folded", isFolded);
    for (const step of article.querySelectorAll(".step")) step.setAttribute("aria-expanded", String(step.parentElement.classList.contains("open")));
    for (const card of article.querySelectorAll("details.card, details.thinking")) {
      if (isFolded && card.open) {
        card.dataset.wasOpen = "";
        card.open = false;
      } else if (!isFolded && "wasOpen" in card.dataset) {
        delete card.dataset.wasOpen;
        card.open = true;
      }
    }
  }

  #onClick(event) {
    const fold = event.target.closest(".turn-fold");
    if (fold) this.toggleTurn(Number(fold.parentElement.dataset.turn));
    const step = event.target.closest(".step");
    if (step) step.setAttribute("aria-expanded", String(step.parentElement.classList.toggle("open")));
  }

  #update() {
    this.root.classList.toggle("show-meta", this.on.meta);
    this.root.dataset.density = this.density;
    for (const [name, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", this.on[name]);
    for (const choice of this.choices) choice.checked = choice.value === this.density;
  }
}

function readDensity() {
  const density = readPreference("density");
  return DENSITIES.includes(density) ? density : "reading";
}
