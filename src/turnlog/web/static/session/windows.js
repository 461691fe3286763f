// The windows of a transcript: a section for every forty items. Those near the viewport are loaded, at most a few
// are kept, and what the reader looks at stays where it is while the windows around it come and go.

import { load } from "../fragment.js";

const KEPT = 6;
const AHEAD = 2500;
// Browsers cut what is taller than about 33 million pixels.
const TALLEST = 24_000_000;
const BLOCKS = "article.item, .turn-head, .fork";

export class Windows {
  // `holder` has one section already; `address(n)` tells where another one comes from.
  constructor(holder, { count, size, address }) {
    this.holder = holder;
    this.count = count;
    this.size = size;
    this.address = address;
    this.loading = new Map();
    this.near = new Set();
    this.loaded = new Set();
    this.heights = new Map();
    this.opened = new Map();
    this.sections = [];
    this.observer = new IntersectionObserver((seen) => this.#seen(seen), { rootMargin: `${AHEAD}px 0px` });
    this.#build();
  }

  #build() {
    const served = new Map([...this.holder.querySelectorAll(":scope > section.window")].map((s) => [Number(s.dataset.n), s]));
    for (const [n, section] of served) {
      this.loaded.add(n);
      this.heights.set(n, section.offsetHeight);
    }
    const [first] = served.keys();
    steady(() => {
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
    return Math.max(40, Math.min(this.heights.get(n) ?? usual, TALLEST / this.count));
  }

  #seen(entries) {
    for (const entry of entries) {
      const n = Number(entry.target.dataset.n);
      if (entry.isIntersecting) this.near.add(n);
      else this.near.delete(n);
    }
    // While somebody drags the scroll bar, hundreds of windows pass by: only those that stay are asked for.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#settle(), 40);
  }

  #settle() {
    for (const [n, job] of this.loading) if (!this.near.has(n) && !job.wanted) job.stop.abort();
    for (const n of this.near) if (!this.loaded.has(n)) this.load(n).catch(() => {});
    this.#tidy();
  }

  #tidy() {
    if (this.loaded.size <= KEPT) return;
    const middle = [...this.near].sort((a, b) => a - b)[this.near.size >> 1] ?? 0;
    const far = [...this.loaded].filter((n) => !this.near.has(n)).sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    steady(() => {
      for (const n of far.slice(0, this.loaded.size - KEPT)) this.#empty(n);
    });
  }

  #empty(n) {
    const section = this.sections[n];
    if (section.contains(document.activeElement)) return;
    this.heights.set(n, section.offsetHeight);
    this.opened.set(n, [...section.querySelectorAll("details[open][id]")].map((details) => details.id));
    section.dispatchEvent(new CustomEvent("window-emptied", { bubbles: true }));
    section.replaceChildren();
    section.classList.add("empty");
    section.style.height = `${this.#guess(n)}px`;
    this.loaded.delete(n);
  }

  // A window's section, once it is loaded.
  async load(n, { wanted = false } = {}) {
    if (this.loaded.has(n)) return this.sections[n];
    const running = this.loading.get(n);
    if (running) {
      running.wanted ||= wanted;
      return running.done;
    }
    const job = { stop: new AbortController(), wanted };
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
      if (error.name !== "AbortError") this.#failed(n);
      throw error;
    } finally {
      section.removeAttribute("aria-busy");
    }
    return section;
  }

  #fill(n, content) {
    const section = this.sections[n];
    const inner = content.querySelector("section.window");
    for (const id of this.opened.get(n) ?? []) content.getElementById(id)?.setAttribute("open", "");
    if (inner) section.dataset.items = inner.dataset.items;
    steady(() => {
      section.replaceChildren(...(inner ?? content).childNodes);
      section.classList.remove("empty");
      section.style.height = "";
      this.loaded.add(n);
      section.dispatchEvent(new CustomEvent("window-loaded", { bubbles: true, detail: { n } }));
    });
    this.heights.set(n, section.offsetHeight);
    this.#tidy();
  }

  #failed(n) {
    const again = document.createElement("button");
    again.type = "button";
    again.textContent = "This part could not be loaded. Try again";
    again.addEventListener("click", () => this.load(n).catch(() => {}));
    this.sections[n].replaceChildren(again);
  }

  // The article of an item, by its place in the branch.
  async at(position) {
    const place = Math.max(0, Math.min(position, this.count * this.size - 1));
    const section = await this.load(Math.floor(place / this.size), { wanted: true });
    const articles = items(section);
    return articles[Math.min(place % this.size, articles.length - 1)];
  }

  // The place of an article in the branch.
  position(article) {
    const section = article.closest("section.window");
    return Number(section.dataset.n) * this.size + items(section).indexOf(article);
  }

  has(section) {
    return this.sections[Number(section?.dataset.n)] === section;
  }
}

// The items of a window, without those of transcripts inside of them.
export function items(section) {
  return [...section.querySelectorAll(":scope > article.item")];
}

// What is read now: the uppermost block below the tool bar.
export function reading(line = topLine()) {
  const holder = document.querySelector(".transcript");
  if (!holder) return null;
  const box = holder.getBoundingClientRect();
  const x = Math.min(Math.max(box.left + box.width / 2, 1), innerWidth - 1);
  for (let y = Math.max(line, box.top) + 1; y < innerHeight; y += 24) {
    const found = document.elementFromPoint(x, y);
    const block = found?.closest(BLOCKS) ?? found?.closest("section.window.empty");
    if (block && holder.contains(block)) return outermost(block, holder);
  }
  return null;
}

function outermost(block, holder) {
  for (let up = block.parentElement; up && up !== holder; up = up.parentElement) if (up.matches?.(BLOCKS)) block = up;
  return block;
}

export function topLine() {
  const bar = document.querySelector(".session-bar");
  return bar ? Math.max(0, bar.getBoundingClientRect().bottom) : 0;
}

// Change the page above or below what is read without moving it.
export function steady(change) {
  const root = document.scrollingElement;
  const isEnd = root.scrollTop > 0 && root.scrollTop + innerHeight >= root.scrollHeight - 2;
  const block = root.scrollTop > 0 ? reading() : null;
  const before = block?.getBoundingClientRect();
  root.classList.add("steady");
  change();
  if (isEnd) {
    root.scrollTop = root.scrollHeight;
  } else if (block?.isConnected) {
    const after = block.getBoundingClientRect();
    const isWindow = block.matches("section.window") && before.top < topLine();
    // Somewhere inside a window that was not there yet: the same share of it.
    const share = isWindow ? (topLine() - before.top) / before.height : 0;
    const moved = isWindow ? after.top + share * after.height - topLine() : after.top - before.top;
    if (Math.abs(moved) >= 1) root.scrollTop += moved;
  }
  root.classList.remove("steady");
}
