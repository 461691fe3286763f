// The parts of every page: keys, actions, and the state of the index.
import "./actions.js";
import "./keys.js";
import "./notifications.js";
import "./palette.js";
import "./theme_button.js";
import { watchState } from "./state.js";

watchState(document.getElementById("state"));

// On a narrow screen, the pages scroll sideways.
const pages = document.querySelector("nav.pages");
const here = pages?.querySelector("[aria-current]");
if (here && pages.scrollWidth > pages.clientWidth) {
  const first = pages.querySelector("a").getBoundingClientRect();
  const { left, width } = here.getBoundingClientRect();
  pages.scrollLeft = left - first.left - (pages.clientWidth - width) / 2;
}
