// Copying: a block of code, a command, a link, an item as Markdown.

import { text } from "../fragment.js";

/** Copy an item, which the server writes as Markdown at an address. */
export async function copyItem(address, tell) {
  try {
    return await copy(await text(address), tell, "Copied as Markdown.");
  } catch (error) {
    tell(error.message);
    return false;
  }
}

export async function copy(words, tell, told = "Copied.") {
  try {
    await navigator.clipboard.writeText(words);
    tell(told);
    return true;
  } catch {
    tell("The browser did not allow copying.");
    return false;
  }
}

export function watchCopies(root, { tell, markdown }) {
  root.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches(".copy")) await done(button, copy(textOf(button), tell));
    else if (button.dataset.copy !== undefined) await done(button, copy(button.dataset.copy, tell));
    else if (button.dataset.copyFrom) await done(button, copy(document.getElementById(button.dataset.copyFrom).textContent, tell));
    else if (button.matches(".copy-markdown")) await done(button, markdown(button.closest("article.item")));
  });
}

async function done(button, doing) {
  if (!(await doing)) return;
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1200);
}

// The code that a button stands above, whole: what is folded away, too.
function textOf(button) {
  return [...button.closest(".code").querySelectorAll("pre.text")].map((part) => part.textContent).join("\n");
}
