// Opening a chest: closed, wobble, opening, revealing, choosing, claiming, done. The rules and the offers are the server's.

import { json, post } from "../fragment.js";
import { createPortrait } from "./wardrobe.js";

const ROWS = { closed: "closed", wobble: "wobble", opening: "opening", revealing: "open", choosing: "open", claiming: "open", done: "open" };
const WORDS = {
  closed: "A treasure chest!",
  wobble: "It moves …",
  opening: "It opens …",
  revealing: "What is in it?",
  choosing: "Choose an item.",
  claiming: "It is yours!",
  done: "It is yours!",
};
const FOLLOWING = { closed: "wobble", wobble: "opening", opening: "revealing", revealing: "choosing", claiming: "done" };
const FRAME_MS = 90;

export class ChestShow {
  /** `change(profile)` is told what has been found. A demo's chests are played without the server. */
  constructor(dialog, art, { getProfile, change, notify, isCalm }) {
    Object.assign(this, { dialog, art, getProfile, change, notify, isCalm });
    this.state = "done";
    this.timer = 0;
    dialog.addEventListener("keydown", (event) => this.onKey(event));
    dialog.addEventListener("close", () => this.stop());
    dialog.querySelector("[data-act=skip]").addEventListener("click", () => this.skip());
  }

  async open(chest) {
    if (this.dialog.open) return;
    this.rules ??= await json("/quest/cosmetics");
    await this.art.loadItems();
    this.chest = chest;
    this.isLocal = chest.id.startsWith("demo-");
    this.offers = chest.offers ?? [];
    this.dialog.querySelector(".offers").replaceChildren();
    this.dialog.showModal();
    this.enter(chest.state === "choosing" ? "revealing" : "closed");
    this.animate();
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.frames);
    this.state = "done";
  }

  enter(state) {
    clearTimeout(this.timer);
    this.state = state;
    this.since = performance.now();
    this.dialog.dataset.state = state;
    this.dialog.querySelector(".chest-words").textContent = WORDS[state];
    this.dialog.querySelector("[data-act=skip]").hidden = state === "claiming" || state === "done";
    if (state === "choosing") this.showOffers();
    if (state === "done") this.dialog.close();
    const seconds = this.rules.chest_seconds[state];
    if (FOLLOWING[state]) this.timer = setTimeout(() => this.proceed(), (this.isCalm() ? 0.1 : seconds ?? 0.5) * 1000);
  }

  async proceed() {
    const next = FOLLOWING[this.state];
    if (!next) return;
    if (next !== "choosing") return this.enter(next);
    try {
      if (!this.isLocal) {
        const profile = await post(`/quest/chests/${encodeURIComponent(this.chest.id)}`, { action: "open" });
        this.offers = profile.chests.find((one) => one.id === this.chest.id)?.offers ?? [];
        this.change(profile);
      }
      if (this.offers.length === 0) return this.skip();
      if (this.offers.length === 1) return this.claim(this.offers[0]);
      this.enter("choosing");
    } catch (error) {
      this.fail(error);
    }
  }

  showOffers() {
    const buttons = this.offers.map((id) => {
      const item = this.rules.items.find((one) => one.id === id);
      const button = document.createElement("button");
      button.type = "button";
      button.append(createPortrait(this.art, { [item.slot]: id }), item.name);
      button.addEventListener("click", () => this.claim(id));
      return button;
    });
    this.dialog.querySelector(".offers").replaceChildren(...buttons);
    buttons[0].focus();
  }

  async claim(id) {
    const item = this.rules.items.find((one) => one.id === id);
    try {
      const profile = this.isLocal ? this.claimLocally(id) : await post(`/quest/chests/${encodeURIComponent(this.chest.id)}`, { action: "claim", item: id });
      this.change(profile);
      this.dialog.querySelector(".offers").replaceChildren(createPortrait(this.art, { [item.slot]: id }));
      this.enter("claiming");
      this.dialog.querySelector(".chest-words").textContent = `${item.name}: it is yours!`;
    } catch (error) {
      this.fail(error);
    }
  }

  claimLocally(id) {
    const profile = this.getProfile();
    const chests = profile.chests.filter((one) => one.id !== this.chest.id);
    return { ...profile, chests, unlocked: [...(profile.unlocked ?? []), id], worn: { ...profile.worn, [id.slice(0, id.indexOf("-"))]: id } };
  }

  async skip() {
    try {
      const profile = this.getProfile();
      const chests = profile.chests.map((one) => (one.id === this.chest.id ? { ...one, skipped: true } : one));
      this.change(this.isLocal ? { ...profile, chests } : await post(`/quest/chests/${encodeURIComponent(this.chest.id)}`, { action: "skip" }));
    } catch (error) {
      this.notify(error.message);
    }
    this.dialog.close();
  }

  fail(error) {
    this.notify(error.message);
    this.dialog.close();
  }

  /** Enter and Space hurry the ceremony on; arrows go from offer to offer. */
  onKey(event) {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const buttons = [...this.dialog.querySelectorAll(".offers button")];
      const at = buttons.indexOf(document.activeElement);
      buttons[(at + (event.key === "ArrowRight" ? 1 : buttons.length - 1)) % buttons.length]?.focus();
      event.preventDefault();
    } else if ((event.key === "Enter" || event.key === " ") && FOLLOWING[this.state] && !(document.activeElement instanceof HTMLButtonElement)) {
      event.preventDefault();
      clearTimeout(this.timer);
      this.proceed();
    }
  }

  animate() {
    const canvas = this.dialog.querySelector("canvas");
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, canvas.width, canvas.height);
    const kind = this.chest.kind === "bonus" ? "bonus" : "level";
    const seconds = this.rules.chest_seconds[this.state] ?? 0.8;
    const age = (performance.now() - this.since) / 1000;
    const frame = ROWS[this.state] === "opening" ? Math.min(7, Math.floor((age / seconds) * 8)) : Math.floor(age * 11) % 8;
    this.art.drawFrame(context, "chest", `${kind}-${ROWS[this.state]}`, this.isCalm() ? 4 : frame, 0, 0);
    if (this.dialog.open) this.frames = setTimeout(() => this.animate(), FRAME_MS);
  }
}
