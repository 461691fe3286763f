// The outline: one row for each turn of the branch. Only visible rows are in the page; the rows around them are in
// memory.

import { formatCount, formatDuration, formatMoney } from "./amounts.js";

const ROW_PX = 46;
const SPARE_ROWS = 8;
const PAGE_TURNS = 200;
const MAX_PAGES = 8;
const MAX_HEIGHT_PX = 30_000_000;

export class Outline {
  // `loadTurns` requests the turns that match a filter, from a place on.
  constructor(panel, { go, loadTurns }) {
    this.go = go;
    this.loadTurns = loadTurns;
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
    this.words.addEventListener("input", () => this.#filterSoon());
    for (const field of [this.failed, this.file]) field.addEventListener("input", () => this.filter());
    this.rows.addEventListener("click", (event) => this.#onClick(event));
    panel.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  }

  async fill({ numbers, turn_total: turnTotal }) {
    this.numbers = numbers;
    this.turnTotal = turnTotal;
    await this.filter();
    this.rows.classList.add("windowed");
    this.#draw(true);
  }

  #filterSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.filter(), 120);
  }

  // Start again with the current filters.
  async filter() {
    const filters = { words: this.words.value.trim() };
    if (this.failed.checked) filters.failed = 1;
    if (this.file.value) filters.file = this.file.value;
    this.filters = filters;
    const found = await this.loadTurns({ ...filters, first: 0 });
    if (this.filters !== filters) return;
    this.pages = new Map([[0, found.turns]]);
    this.total = found.total;
    const all = formatCount(this.numbers.length, "turn") + (this.numbers.length < this.turnTotal ? " on this branch" : "");
    this.count.textContent = found.total === this.numbers.length ? all : `${found.total.toLocaleString("en")} of ${all}`;
    // Browsers cut taller elements.
    this.rows.style.height = `${Math.min(found.total * ROW_PX, MAX_HEIGHT_PX)}px`;
    this.list.scrollTop = 0;
    this.#draw(true);
  }

  get isFiltered() {
    return Boolean(this.filters?.words || this.filters?.failed || this.filters?.file);
  }

  // Mark the turn being read, and keep it visible.
  mark(number) {
    if (number === this.current) return;
    this.current = number;
    const place = this.isFiltered ? -1 : this.numbers.indexOf(number);
    if (place >= 0 && !this.list.matches(":hover, :focus-within")) {
      const top = place * ROW_PX;
      const { scrollTop, clientHeight } = this.list;
      if (top < scrollTop || top + ROW_PX > scrollTop + clientHeight) this.list.scrollTop = top - clientHeight / 3;
    }
    this.#draw(true);
  }

  #draw(isNew = false) {
    if (!this.pages || !this.rows.classList.contains("windowed")) return;
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW_PX) - SPARE_ROWS);
    const last = Math.min(this.total, first + Math.ceil(this.list.clientHeight / ROW_PX) + 2 * SPARE_ROWS);
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

  // Return a turn by its place in the list; a missing one is loaded.
  #turn(place) {
    const page = Math.floor(place / PAGE_TURNS);
    const known = this.pages.get(page);
    if (known === undefined) this.#load(page);
    return known?.[place - page * PAGE_TURNS];
  }

  async #load(page) {
    const { filters, pages } = this;
    pages.set(page, null);
    try {
      const found = await this.loadTurns({ ...filters, first: page * PAGE_TURNS });
      pages.set(page, found.turns);
      if (pages.size > MAX_PAGES) pages.delete([...pages.keys()].find((other) => Math.abs(other - page) > 2));
      if (this.pages === pages) this.#draw(true);
    } catch {
      pages.delete(page);
    }
  }

  #row(turn, place) {
    const row = document.createElement("li");
    row.style.top = `${place * ROW_PX}px`;
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

  #onClick(event) {
    const link = event.target.closest("a[data-turn]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go(Number(link.dataset.turn));
  }
}

function facts(turn) {
  const line = part("turn-facts", "");
  const cost = turn.cost_usd + turn.agents_cost_usd;
  const parts = [
    turn.duration_ms === null ? "" : formatDuration(turn.duration_ms),
    turn.calls ? formatCount(turn.calls, "call") : "",
    cost ? formatMoney(cost) : "",
  ].filter(Boolean);
  // Errors come first: the end of a long line is cut.
  if (turn.errors) line.append(part("turn-errors", formatCount(turn.errors, "error")), parts.length ? " · " : "");
  line.append(parts.join(" · "));
  if (turn.outcome && turn.outcome !== "finished") line.append(" ", part(`turn-outcome ${turn.outcome}`, turn.outcome));
  return line;
}

function part(name, text) {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
}
