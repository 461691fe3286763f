// The list as a virtual table: one <tbody> for each page of rows. Pages far from the view are empty but keep their
// height, so that a list of 50,000 sessions scrolls like a short one and the scroll bar tells the truth.
import { load } from "../fragment.js";

const NEAR_PX = 1200;
const FAR_PX = 5000;
const SETTLE_MS = 40;

export class ListPages {
  /** `address(page)` returns where to load a page; `onRows(tbody)` is called for every page that appears. */
  constructor(table, address, onRows) {
    this.table = table;
    this.size = Number(table.dataset.pageSize);
    this.address = address;
    this.onRows = onRows;
    this.running = new AbortController();
    this.near = new Set();
    this.isLoading = false;
    this.isPressed = false;
    this.originals = new WeakMap(); // a copy of each page as the server sent it, before scripts changed it
    this.rowHeight = 0;
    addEventListener("pointerdown", () => (this.isPressed = true), true);
    for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => (this.isPressed = false), true);
    const options = (margin) => ({ rootMargin: `${margin}px 0px` });
    this.nearObserver = new IntersectionObserver((entries) => this.noteNear(entries), options(NEAR_PX));
    this.farObserver = new IntersectionObserver((entries) => this.emptyFar(entries), options(FAR_PX));
    this.adopt(table.tBodies[0]);
  }

  get bodies() {
    return [...this.table.tBodies];
  }

  get loaded() {
    return this.bodies.filter((body) => !body.dataset.empty);
  }

  /** Replace the whole list by a freshly loaded page and placeholders for all others. */
  adopt(body) {
    this.running.abort();
    this.running = new AbortController();
    this.near.clear();
    this.nearObserver.disconnect();
    this.farObserver.disconnect();
    this.total = Number(body.dataset.total);
    const at = Number(body.dataset.page);
    this.show(body, () => {
      for (const old of this.bodies) old.remove();
      this.table.append(body);
    });
    const pages = Math.max(Math.ceil(this.total / this.size), 1);
    const before = document.createDocumentFragment();
    const after = document.createDocumentFragment();
    for (let page = 0; page < pages; page += 1) {
      if (page !== at) (page < at ? before : after).append(this.createPlaceholder(page));
    }
    body.before(before);
    body.after(after);
    for (const item of this.bodies) this.observe(item);
  }

  createPlaceholder(page, height = 0) {
    const body = document.createElement("tbody");
    const rows = Math.min(this.size, this.total - page * this.size);
    body.dataset.page = page;
    body.dataset.empty = "true";
    body.setAttribute("aria-hidden", "true");
    const cell = body.insertRow().insertCell();
    cell.className = "filler";
    cell.style.height = `${height || rows * this.rowHeight}px`;
    return body;
  }

  observe(body) {
    this.nearObserver.observe(body);
    this.farObserver.observe(body);
  }

  /** Put a loaded page into the table, and keep what is in view where it is. */
  show(body, insert) {
    this.originals.set(body, body.cloneNode(true));
    insert();
    const height = body.getBoundingClientRect().height;
    const rows = body.rows.length;
    if (rows >= Math.min(this.size, 10)) this.rowHeight = height / rows;
    else this.rowHeight ||= height / Math.max(rows, 1);
    this.onRows(body);
  }

  swap(old, body) {
    const before = old.getBoundingClientRect();
    this.near.delete(old);
    this.nearObserver.unobserve(old);
    this.farObserver.unobserve(old);
    this.show(body, () => old.replaceWith(body));
    const growth = body.getBoundingClientRect().height - before.height;
    if (before.bottom < 0 && growth) scrollBy({ top: growth, behavior: "instant" });
    this.observe(body);
  }

  noteNear(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && target.dataset.empty) this.near.add(target);
      else this.near.delete(target);
    }
    this.loadNear();
  }

  async loadNear() {
    if (this.isLoading) return;
    this.isLoading = true;
    // Somebody who drags the scroll bar passes hundreds of pages; only those where it comes to rest are loaded.
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    while (this.near.size) {
      const middle = innerHeight / 2;
      const distance = (body) => Math.abs(body.getBoundingClientRect().top - middle);
      const next = [...this.near].reduce((best, body) => (distance(body) < distance(best) ? body : best));
      this.near.delete(next);
      if (!next.isConnected) continue;
      try {
        await this.fill(next);
      } catch (error) {
        if (error.name !== "AbortError") next.rows[0].cells[0].textContent = error.message;
      }
    }
    this.isLoading = false;
  }

  async fill(placeholder) {
    const { signal } = this.running;
    const body = await this.fetch(Number(placeholder.dataset.page), signal);
    if (signal.aborted || !placeholder.isConnected) return;
    this.swap(placeholder, body);
  }

  async fetch(page, signal, hasHead = false) {
    const content = await load(this.address(page, hasHead), { signal });
    return content.querySelector("tbody");
  }

  emptyFar(entries) {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      if (isIntersecting || target.dataset.empty || !target.isConnected || target.contains(document.activeElement)) continue;
      this.nearObserver.unobserve(target);
      this.farObserver.unobserve(target);
      const placeholder = this.createPlaceholder(Number(target.dataset.page), boundingClientRect.height);
      target.replaceWith(placeholder);
      this.observe(placeholder);
    }
  }

  /** Load a page now, unless it is there. */
  async reveal(page) {
    const body = this.bodies[Math.min(page, this.bodies.length - 1)];
    if (body?.dataset.empty) await this.fill(body);
  }

  /** Load the pages in view again after the index has changed; the first row in view stays where it is. */
  async refresh() {
    const { signal } = this.running;
    const anchor = this.findAnchor();
    const focused = document.activeElement?.closest?.("tr.session")?.dataset.ref;
    const pages = this.loaded.map((body) => Number(body.dataset.page));
    const fresh = await Promise.all(pages.map((page, number) => this.fetch(page, signal, number === 0)));
    // A row that is replaced between pressing and releasing the button would not be clicked.
    while (this.isPressed && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    if (signal.aborted) return null;
    const total = Number(fresh[0]?.dataset.total ?? this.total);
    if (total !== this.total) this.resize(total);
    for (const body of fresh) {
      const old = this.bodies[Number(body.dataset.page)];
      if (old && !body.isEqualNode(this.originals.get(old) ?? null)) this.swap(old, body);
    }
    this.restoreAnchor(anchor);
    if (focused) this.findRow(focused)?.querySelector("a.title")?.focus({ preventScroll: true });
    return fresh[0];
  }

  resize(total) {
    this.total = total;
    const pages = Math.max(Math.ceil(total / this.size), 1);
    while (this.table.tBodies.length > pages) this.table.tBodies[this.table.tBodies.length - 1].remove();
    for (let page = this.table.tBodies.length; page < pages; page += 1) {
      const placeholder = this.createPlaceholder(page);
      this.table.append(placeholder);
      this.observe(placeholder);
    }
    const last = this.bodies[pages - 1];
    if (last.dataset.empty) last.rows[0].cells[0].style.height = `${(total - (pages - 1) * this.size) * this.rowHeight}px`;
  }

  findRow(ref) {
    return this.table.querySelector(`tr.session[data-ref="${CSS.escape(ref)}"]`);
  }

  /** Return the first row in view: its session, page and distance from the top. */
  findAnchor() {
    // The cells of the head stick to the top of the window; the head itself scrolls away.
    const head = Math.max(this.table.tHead.rows[0].cells[0].getBoundingClientRect().bottom, 0);
    for (const body of this.loaded) {
      if (body.getBoundingClientRect().bottom <= head) continue;
      for (const row of body.querySelectorAll("tr.session")) {
        const { top, bottom } = row.getBoundingClientRect();
        if (bottom > head) return { ref: row.dataset.ref, page: Number(body.dataset.page), top };
      }
    }
    return null;
  }

  restoreAnchor(anchor) {
    if (!anchor || scrollY === 0) return;
    const row = this.findRow(anchor.ref);
    if (row) scrollBy({ top: row.getBoundingClientRect().top - anchor.top, behavior: "instant" });
  }
}
