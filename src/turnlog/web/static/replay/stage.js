// Shows the items of a transcript up to one of them. Later windows and items are hidden; earlier windows load and
// unload as on the session page, so a session of any length needs only a few of them at a time.

import { listItems } from "../session/windows.js";

export class Stage {
  constructor(windows) {
    this.windows = windows;
    this.shown = windows.sections.length - 1;
    this.position = -1;
    this.parts = 1;
    this.latest = 0;
    document.addEventListener("window-loaded", (event) => {
      if (windows.has(event.target)) this.#hideRest(event.target);
    });
  }

  // Show everything up to an item; `share` is the part of its blocks to show. Returns what was added last, or null
  // if a later call has replaced this one.
  async show(position, share = 1) {
    const number = ++this.latest;
    const n = Math.floor(Math.max(0, position) / this.windows.size);
    if (!this.windows.loaded.has(n)) await this.windows.load(n, { isRequired: true });
    if (number !== this.latest) return null;
    this.position = position;
    this.#showSections(n);
    const section = this.windows.sections[n];
    const article = this.#hideRest(section);
    const block = article && this.#showBlocks(article, share);
    if (position % this.windows.size > this.windows.size / 2 && n + 1 < this.windows.count) this.windows.load(n + 1).catch(() => {});
    return block ?? article ?? null;
  }

  #showSections(n) {
    const { sections } = this.windows;
    for (let at = Math.min(n, this.shown) + 1; at <= Math.max(n, this.shown); at++) sections[at].hidden = at > n;
    for (let at = Math.min(n, this.shown); at < n; at++) if (this.windows.loaded.has(at)) this.#hideRest(sections[at]);
    sections[n].hidden = false;
    this.shown = n;
  }

  // Hide what comes after the current item, with the headings that belong to it. Returns the last visible item.
  #hideRest(section) {
    const limit = this.position - Number(section.dataset.n) * this.windows.size;
    let place = -1;
    let last = null;
    for (const child of section.children) {
      const isItem = child.matches("article.item");
      if (isItem) place += 1;
      child.hidden = (isItem || child.matches(".item-rest") ? place : place + 1) > limit;
      if (isItem && place < limit) this.#showBlocks(child, 1);
      if (isItem && place === limit) last = child;
    }
    return last;
  }

  // Show the first blocks of an answer; returns the last of them.
  #showBlocks(article, share) {
    const blocks = [...(article.querySelector(":scope > .body")?.children ?? [])];
    const count = share >= 1 ? blocks.length : Math.max(1, Math.ceil(blocks.length * share));
    blocks.forEach((block, place) => (block.hidden = place >= count));
    return blocks[count - 1] ?? null;
  }

  get items() {
    return this.windows.sections.flatMap((section) => (section.hidden ? [] : listItems(section))).filter((item) => !item.hidden);
  }
}
