// The reader's place in the list: kept with the entry in the browser's history, and restored on Back and on a reload.

const PAUSE_MS = 120;

/** Restore the place of this history entry, then keep it up to date. */
export async function keepPlace(pages) {
  history.scrollRestoration = "manual";
  await restore(pages, history.state?.place);
  let timer = 0;
  const save = () => {
    clearTimeout(timer);
    const anchor = scrollY > 0 ? pages.findAnchor() : null;
    const focus = document.activeElement?.closest?.("tr.session")?.dataset.ref;
    history.replaceState({ ...history.state, place: { y: scrollY, anchor, focus } }, "");
  };
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE_MS);
  });
  addEventListener("pagehide", save);
  document.addEventListener("click", save, true);
}

async function restore(pages, place) {
  if (!place) return;
  if (place.anchor) {
    await pages.reveal(place.anchor.page);
    const row = pages.findRow(place.anchor.ref);
    if (row) scrollBy({ top: row.getBoundingClientRect().top - place.anchor.top, behavior: "instant" });
    else scrollTo({ top: place.y, behavior: "instant" });
  } else {
    scrollTo({ top: place.y, behavior: "instant" });
  }
  if (place.focus) pages.findRow(place.focus)?.querySelector("a.title")?.focus({ preventScroll: true });
}
