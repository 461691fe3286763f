// The picker: what the heroes wear. Left and right choose a slot, up and down an item, Tab or Escape closes.

import { json, post } from "../fragment.js";
import { createCanvas } from "./art.js";
import { drawAura, drawTrail, dressHero } from "./cast.js";

const SLOTS = { hat: "Hat", face: "Face", aura: "Aura", trail: "Trail" };

export class Wardrobe {
  /** `change(profile)` is told what has been put on. In a demo nothing is saved. */
  constructor(dialog, art, { isDemo, getProfile, change, notify }) {
    Object.assign(this, { dialog, art, isDemo, getProfile, change, notify });
    this.items = null;
    this.slots = dialog.querySelector(".slots");
    dialog.addEventListener("keydown", (event) => this.onKey(event));
    dialog.addEventListener("close", () => this.returnFocus?.focus());
  }

  async open(returnFocus) {
    this.returnFocus = returnFocus;
    this.items ??= (await json("/quest/cosmetics")).items;
    await this.art.loadItems();
    this.render();
    this.dialog.showModal();
    this.slots.querySelector("input:checked")?.focus();
  }

  render() {
    const profile = this.getProfile();
    const owned = new Set(profile?.unlocked ?? []);
    this.slots.replaceChildren(...Object.entries(SLOTS).map(([slot, title]) => this.buildSlot(slot, title, owned, profile?.worn?.[slot] ?? "")));
    this.preview();
  }

  buildSlot(slot, title, owned, worn) {
    const group = document.createElement("fieldset");
    const legend = document.createElement("legend");
    legend.textContent = title;
    group.append(legend, this.buildChoice(slot, "", `No ${title.toLowerCase()}`, worn, null));
    for (const item of this.items.filter((one) => one.slot === slot)) {
      group.append(this.buildChoice(slot, item.id, item.name, worn, owned.has(item.id) ? null : item.level));
    }
    return group;
  }

  buildChoice(slot, id, name, worn, level) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "radio";
    input.name = `wear-${slot}`;
    input.value = id;
    input.checked = worn === id;
    input.disabled = level !== null;
    input.addEventListener("change", () => this.wear(slot, id || null));
    const words = document.createElement("span");
    words.textContent = level === null ? name : `${name} (level ${level})`;
    label.append(input, words);
    return label;
  }

  async wear(slot, item) {
    try {
      const profile = this.getProfile();
      const next = this.isDemo ? { ...profile, worn: { ...profile?.worn, [slot]: item } } : await post("/quest/profile/wear", { slot, item });
      this.change(next);
      this.preview();
    } catch (error) {
      this.notify(error.message);
      this.render();
    }
  }

  preview() {
    const canvas = this.dialog.querySelector("canvas");
    drawPortrait(canvas, this.art, this.getProfile()?.worn ?? {}, 0);
  }

  onKey(event) {
    if (event.key === "Tab") {
      event.preventDefault();
      this.dialog.close();
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      const groups = [...this.slots.children];
      const at = groups.findIndex((group) => group.contains(document.activeElement));
      const next = groups[(at + (event.key === "ArrowRight" ? 1 : groups.length - 1)) % groups.length];
      (next.querySelector("input:checked") ?? next.querySelector("input")).focus();
    }
  }
}

/** Draw a hero with an outfit in the middle of a canvas of 64 x 64 pixels. */
export function drawPortrait(canvas, art, worn, clock, anim = "idle", frame = 0) {
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.clearRect(0, 0, canvas.width, canvas.height);
  const place = { x: 16, y: 24 };
  if (worn.aura) drawAura(context, { clock }, art, worn.aura, place, false);
  if (worn.trail) drawTrail(context, { clock }, art, worn.trail, place);
  art.drawFrame(context, "hero", anim, frame, place.x, place.y);
  dressHero(context, art, { anim }, worn, place, frame);
}

/** A portrait as an element. */
export function createPortrait(art, worn) {
  const canvas = createCanvas(64, 64);
  canvas.className = "portrait";
  canvas.setAttribute("aria-hidden", "true");
  drawPortrait(canvas, art, worn, 0);
  return canvas;
}
