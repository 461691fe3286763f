// The items of one file on a page: a new item is inserted after its predecessor, a changed one replaces its old
// version. Unfolded parts stay unfolded.

import { fragment } from "../fragment.js";

const MAX_ITEMS = 600;
const TRIMMED_ITEMS = 400;

export class Lines {
  constructor(root) {
    this.root = root;
    this.items = new Map();
    for (const article of root.querySelectorAll(":scope > article.item")) this.items.set(keyOf(article), article);
  }

  clear() {
    this.root.replaceChildren();
    this.items.clear();
  }

  /** Apply changes and return the number of new items. */
  apply({ stream, changes, gone }) {
    const prefix = stream ? `${quoteName(stream)}:` : "";
    for (const key of gone) this.#remove(prefix + key);
    let count = 0;
    for (const change of changes) {
      const article = fragment(change.html).querySelector("article.item");
      if (!article) continue;
      const old = this.items.get(prefix + change.key);
      if (old) this.#replace(old, article);
      else if (change.is_new) {
        this.#insert(article, change.after === null ? null : prefix + change.after);
        if (change.kind !== "meta") count += 1;
      } else continue; // the item is above the first one on this page
      this.items.set(prefix + change.key, article);
    }
    return count;
  }

  /** Remove the oldest items if the page is too long. */
  trim() {
    if (this.items.size <= MAX_ITEMS) return;
    for (const [key] of [...this.items].slice(0, this.items.size - TRIMMED_ITEMS)) this.#remove(key);
  }

  #insert(article, after) {
    const before = after === null ? null : this.items.get(after);
    if (before) before.after(article);
    else if (after === null) this.root.prepend(article);
    else this.root.append(article);
  }

  #replace(old, article) {
    const open = new Set([...old.querySelectorAll("details[open]")].map((one) => nameOf(old, one)));
    const shut = new Set([...old.querySelectorAll("details:not([open])")].map((one) => nameOf(old, one)));
    for (const details of article.querySelectorAll("details")) {
      const name = nameOf(article, details);
      if (open.has(name)) details.open = true;
      else if (shut.has(name)) details.open = false;
    }
    old.replaceWith(article);
  }

  #remove(key) {
    this.items.get(key)?.remove();
    this.items.delete(key);
  }
}

// The same encoding as on the server.
function quoteName(text) {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function keyOf(article) {
  return article.dataset.key;
}

// Identifies a card by its id, and other folds by their class and their number inside the nearest card.
function nameOf(article, details) {
  if (details.id) return details.id;
  const home = details.parentElement.closest("details[id]") ?? article;
  const same = [...home.querySelectorAll("details:not([id])")].filter((one) => one.className === details.className);
  return `${home.id} ${details.className} ${same.indexOf(details)}`;
}
