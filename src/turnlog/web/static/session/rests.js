// What the page leaves out of a message at first: further blocks of one with hundreds of them, and the end of long texts.

import { load } from "../fragment.js";

/** Load what a link stands for, and put it in its place. */
export async function showRest(link) {
  const markup = await load(link.href);
  const place = link.closest(".item-rest");
  const article = place.previousElementSibling;
  const [whole, chunk, links] = ["article.item", ".chunk[data-part]", ".item-rest"].map((name) => markup.querySelector(name));
  if (whole) {
    article.replaceWith(whole);
    if (links) place.replaceWith(links);
    else place.remove();
    return;
  }
  const known = article.querySelector(`.chunk[data-part="${chunk.dataset.part}"]`);
  if (known) known.replaceWith(chunk);
  else article.querySelector(".body").append(chunk);
  link.replaceWith(...(links?.childNodes ?? []));
  if (!place.querySelector("a")) place.remove();
  chunk.querySelector("summary, a, button")?.focus({ preventScroll: true });
}

/** Load further parts of a message until it contains the element with an id; return the element, if there is one. */
export async function findInRests(article, id) {
  let element = document.getElementById(id);
  while (!element) {
    const link = article?.nextElementSibling?.querySelector("[data-rest=blocks]");
    if (!link) return null;
    await showRest(link);
    element = document.getElementById(id);
  }
  return element;
}

export function watchRests(root, { showError }) {
  root.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-rest]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.ariaBusy) return;
    link.ariaBusy = "true";
    showRest(link).catch((error) => {
      link.ariaBusy = null;
      showError(error);
    });
  });
}
