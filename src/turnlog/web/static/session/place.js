// Keeps the address of the page at the message being read, so that a reload, Back and a copied address return to it.

const SETTLE_MS = 200;

export class Place {
  /** `find` returns the article being read and its turn, or null at the very start. */
  constructor({ address, branch, find }) {
    this.address = address;
    this.branch = branch;
    this.find = find;
    // Windows load after the page: the browser's own offset would lead somewhere else.
    history.scrollRestoration = "manual";
    addEventListener("scroll", () => this.#schedule(), { passive: true });
    addEventListener("pagehide", () => this.write());
  }

  #schedule() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), SETTLE_MS);
  }

  write() {
    clearTimeout(this.timer);
    const article = this.find();
    const params = new URLSearchParams(this.branch ? { branch: this.branch } : {});
    if (article) params.set("at", article.dataset.key);
    const query = params.size ? `?${params}` : "";
    const hash = article ? `#${encodeURIComponent(article.id).replaceAll("%40", "@")}` : "";
    const address = `${this.address}${query}${hash}`;
    if (address !== `${location.pathname}${location.search}${location.hash}`) history.replaceState(history.state, "", address);
  }
}
