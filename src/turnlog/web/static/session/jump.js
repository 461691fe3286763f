// Moves to a place in the transcript: an item by key or number, a turn, the next or previous one.

import { findReadBlock, listItems } from "./windows.js";

export class Jump {
  constructor({ windows, api, head, notify }) {
    this.windows = windows;
    this.api = api;
    this.head = head;
    this.notify = notify;
    this.current = null;
    this.latest = 0;
  }

  // Windows load at their own pace: a jump that finishes after a later one has started must not move the page.
  #begin() {
    const number = ++this.latest;
    return () => number === this.latest;
  }

  // Go to an item by its key; an item on another branch is on another page.
  async toKey(key, { focus = true } = {}) {
    const here = document.getElementById(`i-${key}`);
    if (here) {
      this.#begin();
      return this.#show(here, focus);
    }
    const isLatest = this.#begin();
    const found = await this.api("locate", { key });
    if (!isLatest()) return null;
    if (!found) return this.notify("That message is not in this session.");
    if (found.position === null) return location.assign(found.address);
    return this.toPosition(found.position, { focus });
  }

  /** Go to an element that is on the page. */
  toElement(element) {
    this.#begin();
    return this.#show(element, true);
  }

  async toPosition(position, { focus = true } = {}) {
    const isLatest = this.#begin();
    const article = await this.windows.at(position);
    return article && isLatest() ? this.#show(article, focus) : null;
  }

  async toTurn(number) {
    const isLatest = this.#begin();
    const { numbers, positions } = await this.head();
    const place = numbers.indexOf(number);
    if (place < 0) return this.notify(`This branch has no turn ${number}.`);
    const article = await this.windows.at(positions[place]);
    if (!article || !isLatest()) return null;
    const heading = article?.parentElement.querySelector(`:scope > #t-${number}`);
    return this.#show(heading ?? article, true);
  }

  async toEnd() {
    const isLatest = this.#begin();
    const article = await this.windows.at(this.windows.count * this.windows.size - 1);
    if (!article || !isLatest()) return;
    this.#show(findLastVisible(article), true, "end");
    document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight;
  }

  toStart() {
    this.#begin();
    document.scrollingElement.scrollTop = 0;
    this.current = null;
  }

  // The item that keys act on: the target of the last jump while it is visible, otherwise the one being read.
  item() {
    const block = this.block();
    if (!block || block.matches("article.item")) return block;
    let next = block.nextElementSibling;
    while (next && !next.matches("article.item")) next = next.nextElementSibling;
    return next ?? this.#neighbour(block.closest("section.window"), 1);
  }

  block() {
    if (this.current?.isConnected) {
      const box = this.current.getBoundingClientRect();
      if (box.bottom > 0 && box.top < innerHeight) return this.current;
    }
    const block = findReadBlock();
    return block?.matches("section.window") ? null : block;
  }

  async step(direction) {
    let article = this.item();
    if (!article) return;
    // From a heading, the next item is the one directly below it.
    if (direction > 0 && this.block() !== article && this.block()?.matches(".turn-head")) return this.#show(article, true);
    const isLatest = this.#begin();
    do article = await this.#beside(article, direction);
    while (article && !article.checkVisibility());
    if (!isLatest()) return;
    if (article) this.#show(article, true);
    else this.notify(direction > 0 ? "This is the last message." : "This is the first message.");
  }

  async #beside(article, direction) {
    const section = article.closest("section.window");
    const all = listItems(section);
    const next = all[all.indexOf(article) + direction];
    if (next) return next;
    const n = Number(section.dataset.n) + direction;
    if (n < 0 || n >= this.windows.count) return null;
    const other = listItems(await this.windows.load(n, { isRequired: true }));
    return direction > 0 ? other[0] : other.at(-1);
  }

  #neighbour(section, direction) {
    const other = this.windows.sections[Number(section?.dataset.n) + direction];
    return other ? (listItems(other)[0] ?? null) : null;
  }

  async turn(direction) {
    const { numbers, positions } = await this.head();
    const article = this.item();
    if (!article || !numbers.length) return;
    const block = this.block();
    const position = this.windows.position(article);
    let place = positions.findLastIndex((start) => start <= position);
    const isStart = block?.matches(".turn-head") || positions[place] === position;
    if (direction > 0) place += 1;
    else if (isStart) place -= 1;
    if (place < 0) return this.notify("This is the first turn.");
    if (place >= numbers.length) return this.notify("This is the last turn.");
    await this.toTurn(numbers[place]);
  }

  async error(direction) {
    const article = this.item();
    const from = article ? this.windows.position(article) : 0;
    const found = await this.api("errors", { from, direction });
    if (!found || found.position === null) return this.notify(direction > 0 ? "No later error." : "No earlier error.");
    const target = await this.toPosition(found.position);
    const failure = target?.querySelector(".card.outcome-error, .card.outcome-denied, .card.outcome-interrupted");
    if (failure) failure.open = true;
  }

  #show(element, focus, block = "start") {
    this.current?.classList?.remove("current");
    this.current = element;
    element.classList.add("current");
    for (let up = element.parentElement?.closest("details"); up; up = up.parentElement?.closest("details")) up.open = true;
    element.scrollIntoView({ block, behavior: "instant" });
    if (focus) {
      element.tabIndex = -1;
      element.focus({ preventScroll: true });
    }
    element.dispatchEvent(new CustomEvent("jumped", { bubbles: true }));
    return element;
  }
}

function findLastVisible(article) {
  while (article && !article.checkVisibility() && article.previousElementSibling) article = article.previousElementSibling;
  return article;
}
