// Find in the session: the server searches all of it, the page lists the hits and steps through them.

import { readPreference, savePreference } from "../preferences.js";
import { formatCount } from "./amounts.js";
import { findReadBlock, keepPosition, topLine } from "./windows.js";

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
    this.kinds = this.panel.querySelector(".find-kinds");
    this.hidden = this.panel.querySelector(".find-hidden");
    this.kind = "";
    this.kinds.addEventListener("click", (event) => this.#chooseKind(event.target.closest("button")));
    this.hidden.querySelector("input").checked = readPreference("find-hidden", true);
    this.hidden.querySelector("input").addEventListener("change", (event) => {
      savePreference("find-hidden", event.target.checked);
      this.#showStatus();
    });
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
    this.kind = "";
    this.#unmark();
    this.query = "";
    this.#showPanel(false);
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
    this.#showPanel(this.hits.length > 0);
    this.panel.querySelector(".find-more").hidden = this.next === null;
    this.#showKinds();
    this.#showStatus();
    this.#highlight();
  }

  // The list takes the place of the rail.
  #showPanel(isVisible) {
    if (this.panel.hidden !== isVisible) return;
    keepPosition(() => {
      this.panel.hidden = !isVisible;
      this.panel.closest(".session").classList.toggle("finding", isVisible);
    });
  }

  // The counts of each kind; a press limits list and steps to that kind.
  #showKinds() {
    const counts = new Map();
    for (const hit of this.hits) counts.set(hit.kind, (counts.get(hit.kind) ?? 0) + 1);
    const rest = this.next === null ? "" : "+";
    const buttons = [...counts].map(([kind, count]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.kind = kind;
      button.setAttribute("aria-pressed", String(kind === this.kind));
      button.textContent = `${kind} ${count.toLocaleString("en")}${rest}`;
      return button;
    });
    this.kinds.replaceChildren(...(buttons.length > 1 ? buttons : []));
    const hidden = this.hits.filter((hit) => hit.hidden).length;
    this.hidden.hidden = !hidden;
    this.hidden.querySelector("span").textContent = `show ${formatCount(hidden, "hit")} in bookkeeping, which is hidden`;
    for (const [place, row] of [...this.list.children].entries()) row.hidden = !this.#isOfKind(this.hits[place]);
  }

  #chooseKind(button) {
    if (!button) return;
    this.kind = this.kind === button.dataset.kind ? "" : button.dataset.kind;
    this.place = -1;
    this.#showKinds();
    this.#showStatus();
  }

  #isOfKind(hit) {
    return !this.kind || hit.kind === this.kind;
  }

  // Steps go to the hits on this page; those in sub-agents and on other branches are links in the list.
  #canShow(hit) {
    return this.#isOfKind(hit) && !hit.agent && hit.position !== null && (!hit.hidden || this.hidden.querySelector("input").checked);
  }

  #showStatus() {
    const places = this.hits.map((hit, place) => (this.#canShow(hit) ? place : -1)).filter((place) => place >= 0);
    const all = this.hits.filter((hit) => this.#isOfKind(hit));
    const more = this.next === null ? "" : "+";
    const total = `${places.length.toLocaleString("en")}${more}`;
    const others = all.length - places.length;
    const elsewhere = others ? `, ${others.toLocaleString("en")} elsewhere` : "";
    if (!this.hits.length) this.status.textContent = "nothing found";
    else if (!places.length) this.status.textContent = `${others.toLocaleString("en")}${more} elsewhere`;
    else if (this.place < 0) this.status.textContent = `${total} found${elsewhere}`;
    else this.status.textContent = `${places.indexOf(this.place) + 1} of ${total}${elsewhere}`;
    this.status.title = others ? "Elsewhere: in sub-agents, on other branches, or in hidden bookkeeping; the list has links" : "";
  }

  async step(direction) {
    const places = this.hits.map((hit, place) => (this.#canShow(hit) ? place : -1)).filter((place) => place >= 0);
    if (!places.length) return;
    if (this.place < 0) {
      const below = places.findIndex((place) => this.hits[place].position >= this.from);
      const first = direction > 0 ? Math.max(below, 0) : (below > 0 ? below : places.length) - 1;
      this.place = places[first];
    } else {
      this.place = places[(places.indexOf(this.place) + direction + places.length) % places.length];
    }
    await this.#show();
  }

  async #show() {
    const place = this.place;
    const hit = this.hits[place];
    this.#showStatus();
    this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const row = this.list.children[place]?.firstElementChild;
    row?.setAttribute("aria-current", "true");
    row?.scrollIntoView({ block: "nearest" });
    const article = await this.jump.toPosition(hit.position, { focus: false });
    if (!article || this.place !== place) return;
    this.#highlight();
    this.#reveal(article);
  }

  #unmark() {
    for (const article of document.querySelectorAll(".item.found-here")) article.classList.remove("found-here");
    for (const article of document.querySelectorAll(".item.revealed")) article.classList.remove("revealed");
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
    where.textContent = [hit.agent ? "sub-agent" : "", hit.kind, hit.hidden ? "bookkeeping" : "", hit.turn ? `turn ${hit.turn}` : "", hit.position === null && !hit.agent ? "other branch" : ""]
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
    this.#unmark();
    article.classList.add("found-here");
    if (!article.checkVisibility()) article.classList.add("revealed");
    for (const details of article.querySelectorAll(":scope.meta details")) details.open = true;
    const [first] = findRanges(article, this.query, 1);
    if (!first) {
      CSS.highlights?.delete("found-here");
      article.scrollIntoView({ block: "center", behavior: "instant" });
      return;
    }
    first.startContainer.parentElement.closest(".said")?.classList.add("open");
    for (let up = first.startContainer.parentElement.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    const highlight = new Highlight(first);
    highlight.priority = 1; // above the other hits, whose colour would hide the current one
    CSS.highlights?.set("found-here", highlight);
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
  // The row that stands for an answer repeats its first words.
  const accept = (node) => (node.parentElement.closest(".step, .foot") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT, accept);
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
