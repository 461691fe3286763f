// Find in the session: the server searches all of it, the page lists the hits and steps through them.

import { findReadBlock, topLine } from "./windows.js";

const INPUT_DELAY_MS = 250;
const MAX_HIGHLIGHTS = 500;

export class Find {
  constructor(form, { api, jump, windows }) {
    this.form = form;
    this.field = form.querySelector("input");
    this.panel = document.getElementById("find-results");
    this.list = this.panel.querySelector("ol");
    this.status = form.querySelector("output");
    this.api = api;
    this.jump = jump;
    this.windows = windows;
    this.hits = [];
    this.place = -1;
    this.field.addEventListener("input", () => this.#onInput());
    this.field.addEventListener("keydown", (event) => this.#onKeyDown(event));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.querySelector(".find-close").addEventListener("click", () => this.close());
    this.panel.querySelector(".find-more").addEventListener("click", () => this.#more());
    this.list.addEventListener("click", (event) => this.#onClick(event));
    document.addEventListener("window-loaded", () => this.#highlight());
  }

  open() {
    this.form.classList.add("open");
    this.field.focus();
    this.field.select();
  }

  close() {
    this.form.classList.remove("open");
    this.stop?.abort();
    this.field.value = "";
    this.#clear();
    this.field.blur();
  }

  #clear() {
    this.hits = [];
    this.place = -1;
    this.query = "";
    this.panel.hidden = true;
    this.list.replaceChildren();
    this.status.textContent = "";
    CSS.highlights?.clear();
  }

  #onInput() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), INPUT_DELAY_MS);
  }

  #onKeyDown(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      this.close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (this.field.value.trim() !== this.query) this.look().then(() => this.step(1));
      else this.step(event.shiftKey ? -1 : 1);
    }
  }

  async look() {
    clearTimeout(this.timer);
    const query = this.field.value.trim();
    if (query === this.query) return;
    this.#clear();
    if (!query) return;
    this.query = query;
    // Start with the first hit at or below the reader's position.
    const article = this.jump.item() ?? findReadBlock();
    this.from = article?.matches("article.item") ? this.windows.position(article) : 0;
    await this.#loadHits({});
  }

  async #more() {
    await this.#loadHits({ start: this.next });
  }

  async #loadHits(options) {
    this.stop?.abort();
    this.stop = new AbortController();
    this.status.textContent = "searching …";
    try {
      const found = await this.api("find", { q: this.query, ...options }, { signal: this.stop.signal });
      this.next = found.next;
      this.hits.push(...found.hits);
      this.list.append(...found.hits.map((hit, place) => this.#row(hit, this.hits.length - found.hits.length + place)));
    } catch (error) {
      if (error.name !== "AbortError") this.status.textContent = error.message;
      return;
    }
    this.panel.hidden = !this.hits.length;
    this.panel.querySelector(".find-more").hidden = this.next === null;
    this.#showStatus();
    this.#highlight();
  }

  #showStatus() {
    const total = `${this.hits.length.toLocaleString("en")}${this.next === null ? "" : "+"}`;
    if (!this.hits.length) this.status.textContent = "nothing found";
    else this.status.textContent = this.place < 0 ? `${total} found` : `${this.place + 1} of ${total}`;
  }

  async step(direction) {
    if (!this.hits.length) return;
    if (this.place < 0) {
      const below = this.hits.findIndex((hit) => hit.position !== null && !hit.agent && hit.position >= this.from);
      this.place = direction > 0 ? Math.max(below, 0) : (below > 0 ? below : this.hits.length) - 1;
    } else {
      this.place = (this.place + direction + this.hits.length) % this.hits.length;
    }
    await this.#show();
  }

  async #show() {
    const hit = this.hits[this.place];
    this.#showStatus();
    this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const row = this.list.children[this.place]?.firstElementChild;
    row?.setAttribute("aria-current", "true");
    row?.scrollIntoView({ block: "nearest" });
    if (hit.agent || hit.position === null) return;
    const article = await this.jump.toPosition(hit.position, { focus: false });
    this.#highlight();
    this.#reveal(article);
  }

  #onClick(event) {
    const link = event.target.closest("a[data-place]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const place = Number(link.dataset.place);
    const hit = this.hits[place];
    if (hit.agent || hit.position === null) return;
    event.preventDefault();
    this.place = place;
    this.#show();
  }

  #row(hit, place) {
    const link = document.createElement("a");
    link.href = hit.address;
    link.dataset.place = place;
    const where = document.createElement("span");
    where.className = "hit-kind";
    where.textContent = [hit.agent ? "sub-agent" : "", hit.kind, hit.turn ? `turn ${hit.turn}` : "", hit.position === null && !hit.agent ? "other branch" : ""]
      .filter(Boolean)
      .join(" · ");
    const text = document.createElement("span");
    text.className = "hit-text";
    let reached = 0;
    const letters = Array.from(hit.text);
    for (const [start, end] of hit.ranges) {
      const mark = document.createElement("mark");
      mark.textContent = letters.slice(start, end).join("");
      text.append(letters.slice(reached, start).join(""), mark);
      reached = end;
    }
    text.append(letters.slice(reached).join(""));
    link.append(where, text);
    const row = document.createElement("li");
    row.append(link);
    return row;
  }

  // Highlight the query in the loaded windows without changing their elements.
  #highlight() {
    if (!CSS.highlights || !this.query) return;
    const ranges = [];
    for (const n of this.windows.loaded) {
      for (const range of findRanges(this.windows.sections[n], this.query, MAX_HIGHLIGHTS - ranges.length)) ranges.push(range);
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  // Unfold what hides the query in an item, and scroll to its first occurrence.
  #reveal(article) {
    const [first] = article ? findRanges(article, this.query, 1) : [];
    if (!first) return;
    for (let up = first.startContainer.parentElement.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    CSS.highlights?.set("found-here", new Highlight(first));
    const box = first.getBoundingClientRect();
    // On a small screen, the list of hits covers the transcript.
    const panel = this.panel.getBoundingClientRect();
    const line = panel.width > innerWidth / 2 ? panel.bottom : topLine();
    if (box.top < line + 20 || box.bottom > innerHeight - 40) {
      scrollBy({ top: box.top - line - (innerHeight - line) / 3, behavior: "instant" });
    }
  }
}

// Find a text in an element, ignoring case, also across the borders of inner elements.
export function findRanges(element, query, most) {
  const texts = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let all = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    texts.push([all.length, node]);
    all += node.data;
  }
  // If lower case changes the length, offsets would no longer match.
  const folded = all.toLowerCase().length === all.length ? all.toLowerCase() : all;
  const needle = query.toLowerCase();
  const found = [];
  for (let at = folded.indexOf(needle); at >= 0 && found.length < most; at = folded.indexOf(needle, at + needle.length)) {
    const range = new Range();
    range.setStart(...locate(texts, at));
    range.setEnd(...locate(texts, at + needle.length - 1, 1));
    found.push(range);
  }
  return found;
}

function locate(texts, at, after = 0) {
  let low = 0;
  let high = texts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (texts[middle][0] <= at) low = middle;
    else high = middle - 1;
  }
  return [texts[low][1], at - texts[low][0] + after];
}
