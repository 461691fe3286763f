// Find in the session: the server looks through all of it, the page lists what it found and steps through.

import { reading, topLine } from "./windows.js";

const WAIT = 250;
const MARKED = 500;

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
    this.field.addEventListener("input", () => this.#typed());
    this.field.addEventListener("keydown", (event) => this.#key(event));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.querySelector(".find-close").addEventListener("click", () => this.close());
    this.panel.querySelector(".find-more").addEventListener("click", () => this.#more());
    this.list.addEventListener("click", (event) => this.#clicked(event));
    document.addEventListener("window-loaded", () => this.#mark());
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

  #typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), WAIT);
  }

  #key(event) {
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
    // The first hit to show is the first at or below what is read.
    const article = this.jump.item() ?? reading();
    this.from = article?.matches("article.item") ? this.windows.position(article) : 0;
    await this.#ask({});
  }

  async #more() {
    await this.#ask({ start: this.next });
  }

  async #ask(further) {
    this.stop?.abort();
    this.stop = new AbortController();
    this.status.textContent = "looking …";
    try {
      const found = await this.api("find", { q: this.query, ...further }, { signal: this.stop.signal });
      this.next = found.next;
      this.hits.push(...found.hits);
      this.list.append(...found.hits.map((hit, place) => this.#row(hit, this.hits.length - found.hits.length + place)));
    } catch (error) {
      if (error.name !== "AbortError") this.status.textContent = error.message;
      return;
    }
    this.panel.hidden = !this.hits.length;
    this.panel.querySelector(".find-more").hidden = this.next === null;
    this.#tell();
    this.#mark();
  }

  #tell() {
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
    this.#tell();
    this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const row = this.list.children[this.place]?.firstElementChild;
    row?.setAttribute("aria-current", "true");
    row?.scrollIntoView({ block: "nearest" });
    if (hit.agent || hit.position === null) return;
    const article = await this.jump.toPosition(hit.position, { focus: false });
    this.#mark();
    this.#reveal(article);
  }

  #clicked(event) {
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
    let done = 0;
    const letters = Array.from(hit.text);
    for (const [start, end] of hit.ranges) {
      const mark = document.createElement("mark");
      mark.textContent = letters.slice(start, end).join("");
      text.append(letters.slice(done, start).join(""), mark);
      done = end;
    }
    text.append(letters.slice(done).join(""));
    link.append(where, text);
    const row = document.createElement("li");
    row.append(link);
    return row;
  }

  // Mark the words in what is loaded, without touching the page's elements.
  #mark() {
    if (!CSS.highlights || !this.query) return;
    const ranges = [];
    for (const n of this.windows.loaded) {
      for (const range of matches(this.windows.sections[n], this.query, MARKED - ranges.length)) ranges.push(range);
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  // Unfold what hides the words in an item, and bring the first of them into sight.
  #reveal(article) {
    const [first] = article ? matches(article, this.query, 1) : [];
    if (!first) return;
    for (let up = first.startContainer.parentElement.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    CSS.highlights?.set("found-here", new Highlight(first));
    const box = first.getBoundingClientRect();
    // On a small screen the list of what was found lies over the transcript.
    const panel = this.panel.getBoundingClientRect();
    const line = panel.width > innerWidth / 2 ? panel.bottom : topLine();
    if (box.top < line + 20 || box.bottom > innerHeight - 40) {
      scrollBy({ top: box.top - line - (innerHeight - line) / 3, behavior: "instant" });
    }
  }
}

// Where a text stands in an element, in whatever case, also over the borders of inner elements.
export function matches(element, query, most) {
  const texts = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let all = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    texts.push([all.length, node]);
    all += node.data;
  }
  // A letter for a letter, or places would not fit.
  const folded = all.toLowerCase().length === all.length ? all.toLowerCase() : all;
  const wanted = query.toLowerCase();
  const found = [];
  for (let at = folded.indexOf(wanted); at >= 0 && found.length < most; at = folded.indexOf(wanted, at + wanted.length)) {
    const range = new Range();
    range.setStart(...spot(texts, at));
    range.setEnd(...spot(texts, at + wanted.length - 1, 1));
    found.push(range);
  }
  return found;
}

function spot(texts, at, after = 0) {
  let low = 0;
  let high = texts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (texts[middle][0] <= at) low = middle;
    else high = middle - 1;
  }
  return [texts[low][1], at - texts[low][0] + after];
}
