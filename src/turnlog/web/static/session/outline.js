// The outline: every turn of the branch as one row, of which only those in sight are in the page, and those
// around them in memory.

import { counted, lasted, money } from "./words.js";

const ROW = 46;
const SPARE = 8;
const PAGE = 200;
const KEPT = 8;
const TALLEST = 30_000_000;

export class Outline {
  // `ask` gets turns from the server: those that fit a filter, from a place on.
  constructor(panel, { go, ask }) {
    this.go = go;
    this.ask = ask;
    this.list = panel.querySelector(".outline-list");
    this.rows = this.list.querySelector("ol");
    this.words = panel.querySelector("[name=words]");
    this.failed = panel.querySelector("[name=failed]");
    this.file = panel.querySelector("[name=file]");
    this.count = panel.querySelector(".outline-count");
    this.current = 0;
    this.numbers = [];
    this.list.addEventListener("scroll", () => this.#draw(), { passive: true });
    new ResizeObserver(() => this.#draw()).observe(this.list);
    this.words.addEventListener("input", () => this.#soon());
    for (const field of [this.failed, this.file]) field.addEventListener("input", () => this.filter());
    this.rows.addEventListener("click", (event) => this.#clicked(event));
    panel.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  }

  async fill({ numbers }) {
    this.numbers = numbers;
    await this.filter();
    this.rows.classList.add("windowed");
    this.#draw(true);
  }

  #soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.filter(), 120);
  }

  // Begin anew with what is asked for now.
  async filter() {
    const wish = { words: this.words.value.trim() };
    if (this.failed.checked) wish.failed = 1;
    if (this.file.value) wish.file = this.file.value;
    this.wish = wish;
    const found = await this.ask({ ...wish, first: 0 });
    if (this.wish !== wish) return;
    this.pages = new Map([[0, found.turns]]);
    this.total = found.total;
    const all = this.numbers.length;
    this.count.textContent = found.total === all ? counted(all, "turn") : `${found.total.toLocaleString("en")} of ${counted(all, "turn")}`;
    // What is taller, browsers cut.
    this.rows.style.height = `${Math.min(found.total * ROW, TALLEST)}px`;
    this.list.scrollTop = 0;
    this.#draw(true);
  }

  get isFiltered() {
    return Boolean(this.wish?.words || this.wish?.failed || this.wish?.file);
  }

  // Mark the turn that is read, and keep it in sight.
  mark(number) {
    if (number === this.current) return;
    this.current = number;
    const place = this.isFiltered ? -1 : this.numbers.indexOf(number);
    if (place >= 0 && !this.list.matches(":hover, :focus-within")) {
      const top = place * ROW;
      const { scrollTop, clientHeight } = this.list;
      if (top < scrollTop || top + ROW > scrollTop + clientHeight) this.list.scrollTop = top - clientHeight / 3;
    }
    this.#draw(true);
  }

  #draw(isNew = false) {
    if (!this.pages || !this.rows.classList.contains("windowed")) return;
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - SPARE);
    const last = Math.min(this.total, first + Math.ceil(this.list.clientHeight / ROW) + 2 * SPARE);
    if (!isNew && first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const focused = this.rows.contains(document.activeElement) ? document.activeElement.dataset.turn : null;
    const rows = [];
    for (let place = first; place < last; place++) {
      const turn = this.#turn(place);
      if (turn) rows.push(this.#row(turn, place));
    }
    this.rows.replaceChildren(...rows);
    if (focused) this.rows.querySelector(`[data-turn="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  // A turn by its place among those that are shown; one that is not there yet is asked for.
  #turn(place) {
    const page = Math.floor(place / PAGE);
    const known = this.pages.get(page);
    if (known === undefined) this.#load(page);
    return known?.[place - page * PAGE];
  }

  async #load(page) {
    const { wish, pages } = this;
    pages.set(page, null);
    try {
      const found = await this.ask({ ...wish, first: page * PAGE });
      pages.set(page, found.turns);
      if (pages.size > KEPT) pages.delete([...pages.keys()].find((other) => Math.abs(other - page) > 2));
      if (this.pages === pages) this.#draw(true);
    } catch {
      pages.delete(page);
    }
  }

  #row(turn, place) {
    const row = document.createElement("li");
    row.style.top = `${place * ROW}px`;
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", this.total);
    const link = document.createElement("a");
    link.href = `#t-${turn.number}`;
    link.dataset.turn = turn.number;
    if (turn.number === this.current) link.setAttribute("aria-current", "true");
    link.append(part("turn-number", turn.number), part("turn-title", turn.title || `(${turn.kind})`), facts(turn));
    row.append(link);
    return row;
  }

  #clicked(event) {
    const link = event.target.closest("a[data-turn]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go(Number(link.dataset.turn));
  }
}

function facts(turn) {
  const line = part("turn-facts", "");
  const told = [
    turn.duration_ms === null ? "" : lasted(turn.duration_ms),
    turn.calls ? counted(turn.calls, "call") : "",
    turn.cost_usd ? money(turn.cost_usd) : "",
  ].filter(Boolean);
  line.append(told.join(" · "));
  if (turn.errors) line.append(" ", part("turn-errors", counted(turn.errors, "error")));
  if (turn.outcome && turn.outcome !== "finished") line.append(" ", part(`turn-outcome ${turn.outcome}`, turn.outcome));
  return line;
}

function part(name, text) {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
}
