// Polls the state of the server's index while the page is visible.
import { json } from "./fragment.js";

const STARTING_POLL_MS = 200;
const BUSY_POLL_MS = 1000;
const IDLE_POLL_MS = 15_000;

/** Show the state in an element while the page is open; send `turnlog:state` with every state, and
 * `turnlog:indexed` when the index has changed. */
export function watchState(element) {
  let before = null;
  let timer = 0;

  async function poll() {
    clearTimeout(timer);
    if (document.hidden) return;
    let wait = IDLE_POLL_MS;
    try {
      const state = await json("/api/state");
      showState(element, state.words);
      if (before !== null && before !== state.generation) {
        document.dispatchEvent(new CustomEvent("turnlog:indexed", { detail: state }));
      }
      before = state.generation;
      document.dispatchEvent(new CustomEvent("turnlog:state", { detail: state }));
      if (state.is_busy) wait = state.phase === "starting" ? STARTING_POLL_MS : BUSY_POLL_MS;
    } catch (error) {
      showState(element, error.message);
    }
    timer = setTimeout(poll, wait);
  }

  document.addEventListener("visibilitychange", poll);
  poll();
}

function showState(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = !text;
}
