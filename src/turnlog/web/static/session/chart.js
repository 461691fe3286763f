// The chart of the context window: drawn by the server, by messages or by time; a click leads to the place.

import { load } from "../fragment.js";

export class Chart {
  constructor(place, { go, address }) {
    this.place = place;
    this.body = place.querySelector(".chart-body");
    this.go = go;
    this.address = address;
    place.addEventListener("toggle", () => this.show());
    for (const choice of place.querySelectorAll("input[name=by]")) choice.addEventListener("change", () => this.show(true));
    this.body.addEventListener("click", (event) => this.#clicked(event));
    this.body.addEventListener("pointermove", (event) => this.#hover(event));
    this.body.addEventListener("pointerleave", () => this.#hover(null));
    this.show();
  }

  async show(isOther = false) {
    if (!this.place.open || (this.isShown && !isOther)) return;
    this.isShown = true;
    const by = this.place.querySelector("input[name=by]:checked")?.value ?? "messages";
    try {
      this.body.replaceChildren(await load(this.address(by)));
    } catch (error) {
      this.body.textContent = error.message;
      this.isShown = false;
    }
    this.points = this.body.querySelector("svg[data-points]")?.dataset.points.split(" ").map((pair) => pair.split(",").map(Number));
  }

  // The item whose point is nearest to where the pointer is.
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
    const told = this.body.querySelector(".chart-told");
    if (told) told.textContent = `message ${(point[1] + 1).toLocaleString("en")}: ${point[2].toLocaleString("en")} tokens in the window`;
  }

  #clicked(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest("a[data-position]");
    const point = link ? null : this.#nearest(event);
    if (!link && !point) return;
    event.preventDefault();
    this.go(link ? Number(link.dataset.position) : point[1]);
  }
}
