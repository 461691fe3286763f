// The context chart: rendered by the server, by message or by time; a click goes to the item.

import { load } from "../fragment.js";
import { readPreference, savePreference } from "../preferences.js";

export class Chart {
  constructor(panel, { go, address, button }) {
    this.panel = panel;
    this.button = button;
    this.body = panel.querySelector(".chart-body");
    this.go = go;
    this.address = address;
    button.addEventListener("click", () => this.toggle());
    this.#setOpen(readPreference("chart", false));
    for (const choice of panel.querySelectorAll("input[name=by]")) choice.addEventListener("change", () => this.show(true));
    this.body.addEventListener("click", (event) => this.#onClick(event));
    this.body.addEventListener("pointermove", (event) => this.#hover(event));
    this.body.addEventListener("pointerleave", () => this.#hover(null));
    this.show();
  }

  /** Show or hide the chart; the choice is remembered. */
  toggle() {
    savePreference("chart", this.panel.hidden);
    this.#setOpen(this.panel.hidden);
    if (!this.panel.hidden) this.panel.scrollIntoView({ block: "nearest" });
    this.show();
  }

  #setOpen(isOpen) {
    this.panel.hidden = !isOpen;
    this.button.setAttribute("aria-pressed", String(isOpen));
  }

  async show(isForced = false) {
    if (this.panel.hidden || (this.isLoaded && !isForced)) return;
    this.isLoaded = true;
    const by = this.panel.querySelector("input[name=by]:checked")?.value ?? "messages";
    try {
      this.body.replaceChildren(await load(this.address(by)));
    } catch (error) {
      this.body.textContent = error.message;
      this.isLoaded = false;
    }
    this.points = this.body.querySelector("svg[data-points]")?.dataset.points.split(" ").map((pair) => pair.split(",").map(Number));
  }

  // The point nearest to the pointer.
  #nearest(event) {
    const svg = this.body.querySelector("svg.plot");
    if (!svg || !this.points?.length) return null;
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 1000;
    return this.points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
  }

  #hover(event) {
    const line = this.body.querySelector(".chart-here");
    if (!line) return;
    const point = event && this.#nearest(event);
    line.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    line.setAttribute("x1", `${point[0] / 10}%`);
    line.setAttribute("x2", `${point[0] / 10}%`);
    const note = this.body.querySelector(".chart-note");
    if (note) note.textContent = `message ${(point[1] + 1).toLocaleString("en")}: ${point[2].toLocaleString("en")} tokens in the window`;
  }

  #onClick(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest("a[data-position]");
    const point = link ? null : this.#nearest(event);
    if (!link && !point) return;
    event.preventDefault();
    this.go(link ? Number(link.dataset.position) : point[1]);
  }
}
