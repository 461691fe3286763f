// Shows the raw entry of an item in a dialog: as a tree, and as bytes.

import { load } from "../fragment.js";

export function watchRaw(root, dialog) {
  const place = dialog.querySelector(".raw-body");
  root.addEventListener("click", async (event) => {
    const link = event.target.closest("a[href*='/raw/']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    await open(dialog, place, link.href);
  });
  // A click outside the dialog closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

async function open(dialog, place, href) {
  const address = new URL(href);
  address.searchParams.set("format", "html");
  place.textContent = "…";
  if (!dialog.open) dialog.showModal();
  try {
    place.replaceChildren(await load(address));
  } catch (error) {
    place.textContent = error.message;
  }
}
