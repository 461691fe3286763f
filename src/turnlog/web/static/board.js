// The board: every session where it belongs, as long as the page is looked at.

import { follow } from "./follow.js";
import { fragment } from "./fragment.js";
import { count, write } from "./live/since.js";

const root = document.querySelector(".board");
const lists = Object.fromEntries([...root.querySelectorAll("[data-column]")].map((one) => [one.dataset.column, one]));

function find(ref) {
  return root.querySelector(`article[data-ref="${CSS.escape(ref)}"]`);
}

function put({ session, html }) {
  const card = fragment(html).querySelector("article");
  const old = find(session.ref);
  const list = lists[session.column].querySelector(".cards");
  if (old && old.parentElement === list) {
    const had = old.contains(document.activeElement);
    old.replaceWith(card);
    if (had) card.querySelector("a").focus();
  } else {
    old?.remove();
    list.prepend(card);
  }
}

function tell() {
  for (const list of Object.values(lists)) {
    const cards = list.querySelectorAll("article").length;
    list.querySelector(".count").textContent = cards;
    list.classList.toggle("empty", !cards);
  }
  write(root);
  const needed = lists.needs.querySelectorAll("article").length;
  document.title = needed ? `(${needed}) Live · turnlog` : "Live · turnlog";
}

follow("/api/live/events", {
  handlers: {
    board({ sessions }) {
      for (const list of Object.values(lists)) list.querySelector(".cards").replaceChildren();
      for (const one of sessions.toReversed()) put(one);
      tell();
    },
    row(one) {
      put(one);
      tell();
    },
    gone({ ref }) {
      find(ref)?.remove();
      tell();
    },
  },
  tell: (stands) => {
    const link = root.querySelector(".link");
    link.dataset.stands = stands;
    link.textContent = stands ? "following" : "connecting again …";
  },
});
count(root);
