// Copying: a block of code, a command, a link, an item as Markdown.

export async function copy(text, tell, words = "Copied.") {
  try {
    await navigator.clipboard.writeText(text);
    tell(words);
    return true;
  } catch {
    tell("The browser does not let this page copy.");
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
