// The board: keeps every session in its column while the page is visible.

import { follow } from "./follow.js";
import { fragment } from "./fragment.js";
import { startClock, writeAges } from "./live/since.js";

const root = document.querySelector(".board");
const lists = Object.fromEntries([...root.querySelectorAll("[data-column]")].map((one) => [one.dataset.column, one]));

function findCard(ref) {
  return root.querySelector(`article[data-ref="${CSS.escape(ref)}"]`);
}

function placeCard({ session, html }) {
  const card = fragment(html).querySelector("article");
  const old = findCard(session.ref);
  const list = lists[session.column].querySelector(".cards");
  if (old && old.parentElement === list) {
    const hadFocus = old.contains(document.activeElement);
    old.replaceWith(card);
    if (hadFocus) card.querySelector("a").focus();
  } else {
    old?.remove();
    list.prepend(card);
  }
}

function updateCounts() {
  for (const list of Object.values(lists)) {
    const cards = list.querySelectorAll("article").length;
    list.querySelector(".count").textContent = cards;
    list.classList.toggle("empty", !cards);
  }
  writeAges(root);
  const waiting = lists.needs.querySelectorAll("article").length;
  document.title = waiting ? `(${waiting}) Live · turnlog` : "Live · turnlog";
}

follow("/api/live/updates", {
  handlers: {
    board({ sessions }) {
      for (const list of Object.values(lists)) list.querySelector(".cards").replaceChildren();
      for (const one of sessions.toReversed()) placeCard(one);
      updateCounts();
    },
    row(one) {
      placeCard(one);
      updateCounts();
    },
    gone({ ref }) {
      findCard(ref)?.remove();
      updateCounts();
    },
  },
  onStatus: (isConnected) => {
    const link = root.querySelector(".link");
    link.dataset.connected = isConnected;
    link.textContent = isConnected ? "following" : "reconnecting …";
  },
});
startClock(root);
