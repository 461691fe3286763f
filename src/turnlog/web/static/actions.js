// Actions on a session: a dialog that says what would be done before it is done.
import { post } from "./fragment.js";

const PAUSE = 350;
const dialog = document.getElementById("action");
const find = (selector) => dialog.querySelector(selector);
const form = find("form.options");
const confirm = find(".confirm");

let wish = null; // { verb, ref, item }: what the dialog is about
let running = null; // the AbortController of what was asked last
let timer = 0;

function values() {
  const found = {};
  for (const field of form.elements) {
    if (field.type === "checkbox") {
      if (field.checked) found[field.name] = true;
    } else if (field.name && field.value.trim()) {
      const text = field.value.trim();
      found[field.name] = "many" in field.dataset ? text.split(/[\s,]+/).filter(Boolean) : text;
    }
  }
  if (wish.item) found.item = wish.item;
  return found;
}

function show(selector, text) {
  const element = find(selector);
  element.textContent = text;
  element.hidden = !text;
}

async function ask(isReal) {
  running?.abort();
  running = new AbortController();
  confirm.disabled = true;
  dialog.setAttribute("aria-busy", "true");
  try {
    const body = { options: values(), dry_run: !isReal };
    const address = `/api/s/${wish.ref}/actions/${wish.verb}`;
    return await post(address, body, { signal: running.signal });
  } finally {
    dialog.removeAttribute("aria-busy");
  }
}

function told(answer) {
  show(".failed", "");
  show(".words", [answer.words, answer.notes].filter(Boolean).join("\n"));
  find(".command").textContent = answer.command;
}

function failed(error) {
  if (error.name === "AbortError") return;
  show(".failed", error.message);
  show(".words", "");
}

async function rehearse() {
  clearTimeout(timer);
  if (wish.verb === "fork" && !values().at && !wish.item) return;
  if (!form.checkValidity()) {
    confirm.disabled = true;
    return;
  }
  try {
    told(await ask(false));
    confirm.disabled = false;
  } catch (error) {
    failed(error);
  }
}

async function perform(event) {
  event.preventDefault();
  if (confirm.disabled) return;
  clearTimeout(timer);
  form.inert = true; // a change now would call back what is being done
  try {
    done(await ask(true));
  } catch (error) {
    failed(error);
  } finally {
    form.inert = false;
  }
}

function done(answer) {
  told(answer);
  form.hidden = true;
  confirm.hidden = true;
  find(".cancel").textContent = "Close";
  const words = find(".made");
  words.replaceChildren();
  if (answer.made) link(words, `/s/${answer.made.ref}`, answer.made.title);
  if (answer.download) {
    const made = link(words, answer.download, "Save the file");
    made.download = "";
    made.click();
  }
  if (!answer.made && !answer.download) words.textContent = "Done.";
  words.hidden = false;
  document.dispatchEvent(new CustomEvent("turnlog:done", { detail: { ...wish, answer } }));
}

function link(parent, address, words) {
  const made = document.createElement("a");
  made.href = address;
  made.textContent = words;
  parent.append("Done: ", made);
  return made;
}

/** Open the dialog of an action. */
export function open(verb, ref, item = "") {
  const template = document.getElementById(`action-${verb}`);
  wish = { verb, ref, item };
  form.replaceChildren(template.content.cloneNode(true));
  form.hidden = false;
  if (item) form.querySelector(".point")?.remove();
  show("#action-title", template.dataset.title);
  show(".hint", template.dataset.hint);
  for (const selector of [".failed", ".words", ".made"]) show(selector, "");
  find(".command").textContent = "";
  confirm.textContent = template.dataset.confirm;
  confirm.hidden = false;
  confirm.disabled = true;
  find(".cancel").textContent = "Cancel";
  dialog.showModal();
  form.elements[0]?.focus();
  rehearse();
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  running?.abort(); // what it says would be of the form as it was
  confirm.disabled = true;
  timer = setTimeout(rehearse, PAUSE);
});
form.addEventListener("submit", perform);
find(".cancel").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => running?.abort());
document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-verb]") : null;
  const ref = button?.closest("[data-ref]")?.dataset.ref;
  if (!ref) return;
  button.closest("details.menu")?.removeAttribute("open");
  open(button.dataset.verb, ref, button.dataset.item);
});
