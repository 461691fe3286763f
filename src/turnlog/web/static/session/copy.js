// Copies code blocks, commands, links, and items as Markdown.

import { text } from "../fragment.js";

/** Copy the Markdown of an item that an address serves. */
export async function copyItem(address, notify) {
  try {
    return await copy(await text(address), notify, "Copied as Markdown.");
  } catch (error) {
    notify(error.message);
    return false;
  }
}

export async function copy(content, notify, message = "Copied.") {
  try {
    await navigator.clipboard.writeText(content);
    notify(message);
    return true;
  } catch {
    notify("The browser did not allow copying.");
    return false;
  }
}

export function watchCopies(root, { notify, copyItem: copyMarkdown }) {
  root.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches(".copy")) await confirmCopy(button, copy(textOf(button), notify));
    else if (button.dataset.copy !== undefined) await confirmCopy(button, copy(button.dataset.copy, notify));
    else if (button.dataset.copyFrom) await confirmCopy(button, copy(document.getElementById(button.dataset.copyFrom).textContent, notify));
    else if (button.matches(".copy-markdown")) await confirmCopy(button, copyMarkdown(button.closest("article.item")));
  });
}

async function confirmCopy(button, isCopied) {
  if (!(await isCopied)) return;
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1200);
}

// The whole code below a button, including the folded part.
function textOf(button) {
  const parts = [...button.closest(".code").querySelectorAll("pre.text")];
  return parts.map((part, place) => (place && !part.closest(".continued") ? "\n" : "") + part.textContent).join("");
}
