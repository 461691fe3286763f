// What the sessions of this machine are doing, asked for every few seconds while the page can be seen. The chip beside
// the title and the dots of the rail show the same answer, which is also that of the live page.

import { json } from "../fragment.js";

const POLL_MS = 15_000;
const COLUMN_WORDS = { needs: "Needs you", working: "Working now", idle: "Open" };

export class LiveState {
  constructor() {
    this.listeners = [];
    document.addEventListener("visibilitychange", () => this.#poll());
    this.#poll();
  }

  /** Call a function with the live sessions by reference, now if they are known, and whenever they are asked for. */
  subscribe(listener) {
    this.listeners.push(listener);
    if (this.rows) listener(this.rows);
  }

  async #poll() {
    clearTimeout(this.timer);
    if (document.hidden) return;
    try {
      this.rows = new Map((await json("/api/live")).sessions.map((row) => [row.ref, row]));
      for (const listener of this.listeners) listener(this.rows);
    } catch {
      // Without the board, there is nothing to show.
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#poll(), POLL_MS);
  }
}

/** Show in a chip that a session needs the reader, works, or is open in a client; hide it otherwise. */
export function showLiveChip(chip, row) {
  const isLive = row && row.column in COLUMN_WORDS && (row.column !== "idle" || row.state.is_open);
  chip.hidden = !isLive;
  chip.textContent = isLive ? COLUMN_WORDS[row.column] : "";
  chip.title = isLive ? row.state.words : "";
}
