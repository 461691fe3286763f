// The windows of a transcript: one section for every forty items. Windows near the viewport are loaded, only a few stay
// loaded, and the text being read stays in place while the windows around it load and unload.

import { load } from "../fragment.js";

const MAX_LOADED = 6;
const MARGIN_PX = 2500;
// Browsers cut elements taller than about 33 million pixels.
const MAX_HEIGHT_PX = 24_000_000;
const BLOCK_SELECTOR = "article.item, .turn-head, .fork";

export class Windows {
  // `holder` already has one section; `address(n)` returns the address of another one.
  constructor(holder, { count, size, address }) {
    this.holder = holder;
    this.count = count;
    this.size = size;
    this.address = address;
    this.loading = new Map();
    this.near = new Set();
    this.loaded = new Set();
    this.heights = new Map();
    this.openIds = new Map();
    this.sections = [];
    this.observer = new IntersectionObserver((entries) => this.#onIntersect(entries), { rootMargin: `${MARGIN_PX}px 0px` });
    this.#build();
  }

  #build() {
    const served = new Map([...this.holder.querySelectorAll(":scope > section.window")].map((s) => [Number(s.dataset.n), s]));
    for (const [n, section] of served) {
      this.loaded.add(n);
      this.heights.set(n, section.offsetHeight);
    }
    const [first] = served.keys();
    keepPosition(() => {
      const before = document.createDocumentFragment();
      const after = document.createDocumentFragment();
      for (let n = 0; n < this.count; n++) {
        const section = served.get(n) ?? this.#placeholder(n);
        this.sections.push(section);
        if (n < first) before.append(section);
        else if (n > first) after.append(section);
      }
      served.get(first)?.before(before);
      served.get(first)?.after(after);
    });
    for (const section of this.sections) this.observer.observe(section);
  }

  #placeholder(n) {
    const section = document.createElement("section");
    section.className = "window empty";
    section.dataset.n = n;
    section.style.height = `${this.#guess(n)}px`;
    return section;
  }

  #guess(n) {
    const known = [...this.heights.values()];
    const usual = known.length ? known.reduce((a, b) => a + b) / known.length : 6000;
    return Math.max(40, Math.min(this.heights.get(n) ?? usual, MAX_HEIGHT_PX / this.count));
  }

  #onIntersect(entries) {
    for (const entry of entries) {
      const n = Number(entry.target.dataset.n);
      if (entry.isIntersecting) this.near.add(n);
      else this.near.delete(n);
    }
    // Dragging the scroll bar passes hundreds of windows; only those that stay near are loaded.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#settle(), 40);
  }

  #settle() {
    for (const [n, job] of this.loading) if (!this.near.has(n) && !job.isRequired) job.stop.abort();
    for (const n of this.near) if (!this.loaded.has(n)) this.load(n).catch(() => {});
    this.#tidy();
  }

  #tidy() {
    if (this.loaded.size <= MAX_LOADED) return;
    const middle = [...this.near].sort((a, b) => a - b)[this.near.size >> 1] ?? 0;
    const far = [...this.loaded].filter((n) => !this.near.has(n)).sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    keepPosition(() => {
      for (const n of far.slice(0, this.loaded.size - MAX_LOADED)) this.#empty(n);
    });
  }

  #empty(n) {
    const section = this.sections[n];
    if (section.contains(document.activeElement)) return;
    this.heights.set(n, section.offsetHeight);
    this.openIds.set(n, [...section.querySelectorAll("details[open][id]")].map((details) => details.id));
    section.dispatchEvent(new CustomEvent("window-emptied", { bubbles: true }));
    section.replaceChildren();
    section.classList.add("empty");
    section.style.height = `${this.#guess(n)}px`;
    this.loaded.delete(n);
  }

  // Load a window and return its section.
  async load(n, { isRequired = false } = {}) {
    if (this.loaded.has(n)) return this.sections[n];
    const running = this.loading.get(n);
    if (running) {
      running.isRequired ||= isRequired;
      return running.done;
    }
    const job = { stop: new AbortController(), isRequired };
    job.done = this.#fetch(n, job).finally(() => this.loading.delete(n));
    this.loading.set(n, job);
    return job.done;
  }

  async #fetch(n, job) {
    const section = this.sections[n];
    section.setAttribute("aria-busy", "true");
    try {
      this.#fill(n, await load(this.address(n), { signal: job.stop.signal }));
    } catch (error) {
      if (error.name !== "AbortError") this.#showFailure(n);
      throw error;
    } finally {
      section.removeAttribute("aria-busy");
    }
    return section;
  }

  #fill(n, content) {
    const section = this.sections[n];
    const inner = content.querySelector("section.window");
    for (const id of this.openIds.get(n) ?? []) content.getElementById(id)?.setAttribute("open", "");
    if (inner) section.dataset.items = inner.dataset.items;
    keepPosition(() => {
      section.replaceChildren(...(inner ?? content).childNodes);
      section.classList.remove("empty");
      section.style.height = "";
      this.loaded.add(n);
      section.dispatchEvent(new CustomEvent("window-loaded", { bubbles: true, detail: { n } }));
    });
    this.heights.set(n, section.offsetHeight);
    this.#tidy();
  }

  #showFailure(n) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Loading failed. Try again";
    button.addEventListener("click", () => this.load(n).catch(() => {}));
    this.sections[n].replaceChildren(button);
  }

  // Return the article of an item by its position in the branch.
  async at(position) {
    const place = Math.max(0, Math.min(position, this.count * this.size - 1));
    const section = await this.load(Math.floor(place / this.size), { isRequired: true });
    const articles = listItems(section);
    return articles[Math.min(place % this.size, articles.length - 1)];
  }

  // Return the position of an article in the branch.
  position(article) {
    const section = article.closest("section.window");
    return Number(section.dataset.n) * this.size + listItems(section).indexOf(article);
  }

  has(section) {
    return this.sections[Number(section?.dataset.n)] === section;
  }
}

// The items of a window, without those of nested transcripts.
export function listItems(section) {
  return [...section.querySelectorAll(":scope > article.item")];
}

// Find what is being read: the topmost block below the toolbar.
export function findReadBlock(line = topLine()) {
  const holder = document.querySelector(".transcript");
  if (!holder) return null;
  const box = holder.getBoundingClientRect();
  const x = Math.min(Math.max(box.left + box.width / 2, 1), innerWidth - 1);
  for (let y = Math.max(line, box.top) + 1; y < innerHeight; y += 24) {
    const found = document.elementFromPoint(x, y);
    const block = found?.closest(BLOCK_SELECTOR) ?? found?.closest("section.window.empty");
    if (block && holder.contains(block)) return outermost(block, holder);
  }
  return null;
}

function outermost(block, holder) {
  for (let up = block.parentElement; up && up !== holder; up = up.parentElement) if (up.matches?.(BLOCK_SELECTOR)) block = up;
  return block;
}

export function topLine() {
  const bar = document.querySelector(".session-bar");
  return bar ? Math.max(0, bar.getBoundingClientRect().bottom) : 0;
}

// Change the page without moving the block being read.
export function keepPosition(change) {
  const root = document.scrollingElement;
  const isEnd = root.scrollTop > 0 && root.scrollTop + innerHeight >= root.scrollHeight - 2;
  const block = root.scrollTop > 0 ? findReadBlock() : null;
  const before = block?.getBoundingClientRect();
  root.classList.add("steady");
  change();
  if (isEnd) {
    root.scrollTop = root.scrollHeight;
  } else if (block?.isConnected) {
    const after = block.getBoundingClientRect();
    const isWindow = block.matches("section.window") && before.top < topLine();
    // Inside a window that was not loaded yet: keep the same relative position.
    const share = isWindow ? (topLine() - before.top) / before.height : 0;
    const moved = isWindow ? after.top + share * after.height - topLine() : after.top - before.top;
    if (Math.abs(moved) >= 1) root.scrollTop += moved;
  }
  root.classList.remove("steady");
}
