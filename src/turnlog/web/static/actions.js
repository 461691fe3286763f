// Actions on a session: a dialog that previews the change before it is made.
import { post } from "./fragment.js";

const INPUT_DELAY_MS = 350;
const dialog = document.getElementById("action");
const find = (selector) => dialog.querySelector(selector);
const form = find("form.options");
const confirm = find(".confirm");

let action = null; // { verb, ref, item }: the action in the dialog
let controller = null; // the AbortController of the last request
let timer = 0;

function readOptions() {
  const options = {};
  for (const field of form.elements) {
    if (field.type === "checkbox") {
      if (field.checked) options[field.name] = true;
    } else if (field.name && field.value.trim()) {
      const text = field.value.trim();
      options[field.name] = "many" in field.dataset ? text.split(/[\s,]+/).filter(Boolean) : text;
    }
  }
  if (action.item) options.item = action.item;
  return options;
}

function show(selector, text) {
  const element = find(selector);
  element.textContent = text;
  element.hidden = !text;
}

async function sendAction(isReal) {
  controller?.abort();
  controller = new AbortController();
  confirm.disabled = true;
  dialog.setAttribute("aria-busy", "true");
  try {
    const body = { options: readOptions(), dry_run: !isReal };
    const address = `/api/s/${action.ref}/actions/${action.verb}`;
    return await post(address, body, { signal: controller.signal });
  } finally {
    dialog.removeAttribute("aria-busy");
  }
}

function showAnswer(answer) {
  show(".failed", "");
  show(".words", [answer.words, answer.notes].filter(Boolean).join("\n"));
  find(".command").textContent = answer.command;
}

function showFailure(error) {
  if (error.name === "AbortError") return;
  show(".failed", error.message);
  show(".words", "");
}

async function preview() {
  clearTimeout(timer);
  if (action.verb === "fork" && !readOptions().at && !action.item) return;
  if (!form.checkValidity()) {
    confirm.disabled = true;
    return;
  }
  try {
    showAnswer(await sendAction(false));
    confirm.disabled = false;
  } catch (error) {
    showFailure(error);
  }
}

async function runAction(event) {
  event.preventDefault();
  if (confirm.disabled) return;
  clearTimeout(timer);
  form.inert = true; // an edit now would abort the request
  try {
    showResult(await sendAction(true));
  } catch (error) {
    showFailure(error);
  } finally {
    form.inert = false;
  }
}

function showResult(answer) {
  showAnswer(answer);
  form.hidden = true;
  confirm.hidden = true;
  find(".cancel").textContent = "Close";
  const line = find(".made");
  line.replaceChildren();
  if (answer.made) appendLink(line, `/s/${answer.made.ref}`, answer.made.title);
  if (answer.download) {
    const anchor = appendLink(line, answer.download, "Save the file");
    anchor.download = "";
    anchor.click();
  }
  if (action.verb === "delete") appendLink(line, "/", "All sessions");
  else if (!answer.made && !answer.download) line.textContent = "Done.";
  line.hidden = false;
  document.dispatchEvent(new CustomEvent("turnlog:done", { detail: { ...action, answer } }));
}

function appendLink(parent, address, text) {
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.textContent = text;
  parent.append("Done: ", anchor);
  return anchor;
}

/** Open the dialog of an action. */
export function open(verb, ref, item = "") {
  const template = document.getElementById(`action-${verb}`);
  action = { verb, ref, item };
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
  preview();
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  controller?.abort(); // its answer would describe the old options
  confirm.disabled = true;
  timer = setTimeout(preview, INPUT_DELAY_MS);
});
form.addEventListener("submit", runAction);
find(".cancel").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => controller?.abort());
document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-verb]") : null;
  const ref = button?.closest("[data-ref]")?.dataset.ref;
  if (!ref) return;
  button.closest("details.menu")?.removeAttribute("open");
  open(button.dataset.verb, ref, button.dataset.item);
});
