// How much of the transcript is shown: the density, turns folded to their steps, and switches for thinking, bookkeeping
// and calls. Everything also applies to windows that load later.

import { onPreference, readPreference, savePreference } from "../preferences.js";
import { keepPosition, topLine } from "./windows.js";

const FOLDS = { thinking: "details.thinking", cards: "details.card, .item details:not(.agent):not(.thinking)" };
const PARTS = ".window > article.item, .window > .turn-head";
const STEP_FOLDS = 150;
export const DENSITIES = ["reading", "steps", "everything"];

export class Folds {
  constructor(root, buttons, choices = []) {
    this.root = root;
    this.buttons = buttons;
    this.choices = choices;
    this.density = choices.length ? readDensity() : "reading";
    this.change = 0; // counts the changes, so that a later one ends an earlier one
    this.turns = new Map(); // turns whose fold differs from the density
    const isEverything = this.density === "everything";
    this.on = { thinking: isEverything, cards: isEverything, meta: isEverything || readPreference("meta", false) };
    for (const [name, button] of Object.entries(buttons)) button.addEventListener("click", () => this.toggle(name));
    for (const choice of choices) choice.addEventListener("change", () => choice.checked && this.setDensity(choice.value));
    document.addEventListener("window-loaded", (event) => this.#meet(event.target));
    root.addEventListener("click", (event) => this.#onClick(event));
    if (choices.length) onPreference("density", () => this.#showDensity(readDensity()));
    this.#meet(root);
    this.#update();
  }

  toggle(name) {
    this.on[name] = !this.on[name];
    this.#update();
    if (name in FOLDS) this.#changeAll((part) => setOpen(part, FOLDS[name], this.on[name]));
    if (name === "meta") savePreference("meta", this.on.meta);
  }

  // Change what is in view at once, and the rest in steps: the windows that are loaded may hold thousands of cards.
  #changeAll(change) {
    const latest = ++this.change;
    const parts = [...this.root.querySelectorAll(PARTS)].filter((part) => !part.parentElement.closest(PARTS));
    const [visible, others] = [[], []];
    for (const part of parts) (isInView(part) ? visible : others).push(part);
    keepPosition(() => visible.forEach(change));
    const proceed = () => {
      if (latest !== this.change || !others.length) return;
      keepPosition(() => {
        let folds = 0;
        while (others.length && folds < STEP_FOLDS) {
          const part = others.shift();
          folds += 1 + part.getElementsByTagName("details").length;
          change(part);
        }
      });
      next();
    };
    // Each step is laid out before the next one.
    const next = () => requestAnimationFrame(() => setTimeout(proceed));
    next();
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
    const isOn = density === "everything";
    const isOther = isOn || this.density === "everything";
    this.density = density;
    this.turns.clear();
    if (isOther) this.on = { thinking: isOn, cards: isOn, meta: isOn || readPreference("meta", false) };
    keepPosition(() => this.#update());
    this.#changeAll((part) => {
      if (isOther) for (const selector of Object.values(FOLDS)) setOpen(part, selector, isOn, true);
      this.#apply(part);
    });
  }

  /** Fold a turn to its steps, or unfold it. */
  toggleTurn(turn) {
    if (!turn) return;
    this.turns.set(turn, !this.isFolded(turn));
    this.#changeAll((part) => Number(part.dataset.turn) === turn && this.#apply(part));
  }

  isFolded(turn) {
    return this.turns.get(turn) ?? this.density === "steps";
  }

  // A new window: note what the server has sent open.
  #meet(root) {
    for (const details of root.querySelectorAll("details[open]")) details.dataset.isOpenAtFirst = "";
    this.#apply(root);
  }

  #apply(root) {
    for (const [name, selector] of Object.entries(FOLDS)) {
      if (this.on[name]) for (const details of root.querySelectorAll(selector)) details.open = true;
    }
    if (!this.choices.length) return;
    for (const article of withSelf(root, ".window > article.item[data-turn]")) {
      if (!article.closest(".nested")) this.#foldItem(article, this.isFolded(Number(article.dataset.turn)));
    }
    for (const head of withSelf(root, ".turn-head")) {
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

function isInView(part) {
  const { top, bottom } = part.getBoundingClientRect();
  return bottom > topLine() && top < innerHeight;
}

// Folding may leave open what the server has sent open, such as changes of files.
function setOpen(part, selector, isOpen, isReset = false) {
  for (const details of part.querySelectorAll(selector)) details.open = isOpen || (isReset && "isOpenAtFirst" in details.dataset);
}

function withSelf(root, selector) {
  const inside = [...root.querySelectorAll(selector)];
  return root.matches?.(selector) ? [root, ...inside] : inside;
}

function readDensity() {
  const density = readPreference("density");
  return DENSITIES.includes(density) ? density : "reading";
}
