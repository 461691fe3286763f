// The page of prompts: copies texts and commands, filters on a change of a control, and has keys.
import { on, step } from "./keys.js";
import { watchCopies } from "./session/copy.js";

const form = document.getElementById("filters");
const list = document.getElementById("prompts");
const output = document.getElementById("copied");
const links = () => [...list.querySelectorAll("a.open")];

watchCopies(list, {
  notify: (words) => (output.textContent = words),
  copyItem: () => false,
});
form.querySelector("select").addEventListener("change", () => form.requestSubmit());
on("j", () => step(links(), true));
on("k", () => step(links(), false));
on("f", () => document.getElementById("filter").focus());
