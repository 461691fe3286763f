// Shows times in the reader's time zone, as dates or as ages.

import { readPreference, savePreference } from "../preferences.js";

const UNITS = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function ago(moment, now = Date.now()) {
  const seconds = (moment - now) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", 60];
  return Math.abs(seconds) < 60 ? "just now" : relative.format(Math.trunc(seconds / size), unit);
}

export class Times {
  constructor(root, button) {
    this.root = root;
    this.button = button;
    this.isRelative = readPreference("times") === "relative";
    button?.addEventListener("click", () => this.toggle());
    document.addEventListener("window-loaded", (event) => this.#write(event.target));
    this.#write(root);
  }

  toggle() {
    this.isRelative = !this.isRelative;
    savePreference("times", this.isRelative ? "relative" : "absolute");
    this.#write(this.root);
  }

  #write(root) {
    this.button?.setAttribute("aria-pressed", this.isRelative);
    for (const time of root.querySelectorAll("time[datetime]")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      // A time of day stays one, but in the reader's time zone.
      time.dataset.form ??= /^\d\d:\d\d(:\d\d)?$/.test(time.textContent) ? "hour" : "date";
      const full = date(moment);
      time.textContent = this.isRelative ? ago(moment) : time.dataset.form === "hour" ? full.slice(11) : full.slice(0, 16);
      time.title = this.isRelative ? full : `${full}, ${ago(moment)}`;
    }
  }
}

function date(moment) {
  const two = (number) => String(number).padStart(2, "0");
  const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
  return `${day} ${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":")}`;
}
