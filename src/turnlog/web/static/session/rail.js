// The rail of sessions: loaded when it is first shown, filtered by the server, with a dot for sessions that are live.

import { load } from "../fragment.js";
import { readPreference, savePreference } from "../preferences.js";

const INPUT_DELAY_MS = 150;
const LIVE_WORDS = { needs: "needs you", working: "working" };

export class Rail {
  constructor(panel, { ref, notify, liveState }) {
    this.panel = panel;
    this.ref = ref;
    this.notify = notify;
    this.list = panel.querySelector(".rail-list");
    this.words = panel.querySelector("[name=words]");
    this.group = panel.querySelector("[name=group]");
    this.group.value = readPreference("rail-group") === "project" ? "project" : "day";
    panel.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
    this.words.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#reload(), INPUT_DELAY_MS);
    });
    this.words.addEventListener("keydown", (event) => event.key === "Enter" && this.#links()[0]?.click());
    this.group.addEventListener("change", () => {
      savePreference("rail-group", this.group.value);
      this.#reload();
    });
    this.list.addEventListener("click", (event) => event.target.closest(".more") && this.#more(event.target.closest(".more")));
    document.addEventListener("turnlog:indexed", () => this.loaded && this.#reload());
    liveState.subscribe((rows) => {
      this.live = rows;
      this.#mark();
    });
  }

  /** Load the sessions around the current one, once. */
  async show() {
    this.loaded ??= this.#reload();
    return this.loaded;
  }

  #links() {
    return [...this.list.querySelectorAll("a[data-ref]")];
  }

  #address(values) {
    return `/rail?${new URLSearchParams({ ref: this.ref, q: this.words.value.trim(), group: this.group.value, ...values })}`;
  }

  async #reload() {
    const number = (this.number = (this.number ?? 0) + 1);
    try {
      const content = await load(this.#address({}));
      if (number !== this.number) return;
      const rows = content.querySelector("ol");
      const parts = [rows];
      const first = Number(rows.dataset.first);
      const total = Number(rows.dataset.total);
      const last = first + rows.querySelectorAll("a").length;
      if (first > 0) parts.unshift(button(`${first.toLocaleString("en")} newer`, Math.max(0, first - 200)));
      if (last < total) parts.push(button(`${(total - last).toLocaleString("en")} older`, last));
      this.list.replaceChildren(...parts);
      this.#center();
      this.#mark();
    } catch (error) {
      this.list.textContent = error.message;
    }
  }

  // Bring the current session into the middle of the list. The page itself must not move, as with scrollIntoView.
  #center() {
    const row = this.list.querySelector("[aria-current]")?.getBoundingClientRect();
    const box = this.list.getBoundingClientRect();
    if (row) this.list.scrollTop += row.top + row.height / 2 - box.top - box.height / 2;
  }

  async #more(pressed) {
    const first = Number(pressed.dataset.first);
    const content = await load(this.#address({ first }));
    const rows = content.querySelector("ol");
    const last = first + rows.querySelectorAll("a").length;
    const known = new Set(this.#links().map((link) => link.dataset.ref));
    for (const link of rows.querySelectorAll("a")) if (known.has(link.dataset.ref)) link.parentElement.remove();
    const isBefore = pressed.nextElementSibling !== null;
    if (isBefore && first > 0) rows.prepend(button(`${first.toLocaleString("en")} newer`, Math.max(0, first - 200)));
    if (!isBefore && last < Number(rows.dataset.total)) {
      rows.append(button(`${(Number(rows.dataset.total) - last).toLocaleString("en")} older`, last));
    }
    pressed.replaceWith(rows);
    this.#mark();
  }

  /** Go to the session before or after this one. */
  async step(direction) {
    await this.show();
    const links = this.#links();
    const here = links.findIndex((link) => link.dataset.ref === this.ref);
    const target = links[here + direction];
    if (target) location.assign(target.href);
    else this.notify(direction > 0 ? "This is the oldest session here." : "This is the newest session.");
  }

  #mark() {
    for (const link of this.#links()) {
      const row = this.live?.get(link.dataset.ref);
      const words = row && LIVE_WORDS[row.column];
      const dot = link.querySelector(".rail-dot");
      dot.hidden = !words;
      dot.className = `rail-dot ${row?.column ?? ""}`;
      dot.title = words ? `${words}: ${row.state.words}` : "";
      dot.textContent = "";
      if (words) link.setAttribute("aria-description", words);
      else link.removeAttribute("aria-description");
    }
  }
}

function button(text, first) {
  const element = document.createElement("button");
  element.type = "button";
  element.className = "more";
  element.dataset.first = first;
  element.textContent = text;
  return element;
}
