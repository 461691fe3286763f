// How far the server is with its index; asked now and then while the page is looked at.
import { json } from "./fragment.js";

const OFTEN = 1000;
const SELDOM = 15_000;

/** Show the state in an element for as long as the page is open; tell the page when the index has changed. */
export function watch(element) {
  let before = null;
  let timer = 0;

  async function look() {
    clearTimeout(timer);
    if (document.hidden) return;
    let wait = SELDOM;
    try {
      const state = await json("/api/state");
      say(element, state.words);
      if (before !== null && before !== state.generation) {
        document.dispatchEvent(new CustomEvent("turnlog:indexed", { detail: state }));
      }
      before = state.generation;
      if (state.is_busy) wait = OFTEN;
    } catch (error) {
      say(element, error.message);
    }
    timer = setTimeout(look, wait);
  }

  document.addEventListener("visibilitychange", look);
  look();
}

function say(element, words) {
  if (element.textContent !== words) element.textContent = words;
  element.hidden = !words;
}
