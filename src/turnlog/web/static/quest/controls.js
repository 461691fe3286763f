// Buttons, fields and keys of the page, and what they are called.

import { on } from "../keys.js";

const BIOMES = ["project", "time", "cycle", 0, 1, 2, 3, 4];

/** Bind controls to actions: `actions` has one function for each, named as in the page. */
export function bindControls(root, actions) {
  for (const button of root.querySelectorAll("[data-act]")) {
    const act = actions[button.dataset.act];
    if (act) button.addEventListener("click", () => act(button));
  }
  root.querySelector("[name=speed]").addEventListener("change", (event) => actions.setSpeed(Number(event.target.value)));
  root.querySelector("[name=biome]").addEventListener("change", (event) => actions.setBiome(parseBiome(event.target.value)));
  root.querySelector("[name=follow]").addEventListener("change", (event) => actions.follow(event.target.value || null));
  bindKeys(root, actions);
}

function bindKeys(root, actions) {
  on(" ", (event) => (event.target instanceof HTMLButtonElement ? event.target.click() : actions.pause()));
  on("k", () => actions.pause());
  on(".", () => actions.step());
  on(",", () => actions["step-back"]());
  on("-", () => actions.changeSpeed(-1));
  on("+", () => actions.changeSpeed(1));
  on("=", () => actions.changeSpeed(1));
  on("b", () => cycleOption(root.querySelector("[name=biome]")));
  on("v", () => cycleOption(root.querySelector("[name=follow]")));
  on("m", () => actions.sound());
  on("r", () => actions.motion());
  on("f", () => actions.full());
  on("w", () => actions.wardrobe());
  on("c", () => actions.chest());
  on("Home", () => actions.jump(0));
  on("End", () => actions.jump(1));
  for (const [key, seconds] of [["ArrowLeft", -5], ["ArrowRight", 5], ["j", -10], ["l", 10]]) on(key, () => actions.skip(seconds));
}

function cycleOption(select) {
  select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
  select.dispatchEvent(new Event("change"));
}

/** Read a biome from a field or from storage; anything else is chosen by the project. */
export function parseBiome(value) {
  const biome = /^[0-4]$/u.test(String(value)) ? Number(value) : value;
  return BIOMES.includes(biome) ? biome : "project";
}

/** Show the sessions that can be followed; the first choice is everybody. */
export function showSessions(select, state) {
  const names = [["", "Whole party"], ...state.party.map((hero) => [hero.session, hero.title || hero.project || hero.session.slice(0, 8)])];
  const key = JSON.stringify(names);
  if (select.dataset.key === key) return;
  select.dataset.key = key;
  select.replaceChildren(
    ...names.map(([value, text]) => {
      const option = document.createElement("option");
      option.value = value;
      option.textContent = text;
      option.selected = value === (state.choice.follow ?? "");
      return option;
    }),
  );
}

/** Show whether a button that switches is on. */
export function press(button, isOn) {
  button.setAttribute("aria-pressed", String(isOn));
}
