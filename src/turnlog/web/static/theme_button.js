// The button that switches between the system's colours, light and dark.

import { onPreference, readPreference, savePreference } from "./preferences.js";

const WORDS = { auto: "system", light: "light", dark: "dark" };
const NAMES = Object.keys(WORDS);
const button = document.getElementById("theme");

function readTheme() {
  const name = readPreference("theme");
  return NAMES.includes(name) ? name : "auto";
}

function showTheme() {
  const name = readTheme();
  document.documentElement.dataset.theme = name;
  button.title = `Colours: ${WORDS[name]}`;
  button.setAttribute("aria-label", button.title);
}

/** Switch to the next theme. */
export function changeTheme() {
  savePreference("theme", NAMES[(NAMES.indexOf(readTheme()) + 1) % NAMES.length]);
}

button.addEventListener("click", changeTheme);
onPreference("theme", showTheme);
showTheme();
