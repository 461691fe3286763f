// A connection that brings events for as long as a page is looked at, and goes on exactly where it ended: after an
// interruption, after the server was started again, after the page was hidden.

const HIDDEN = 20_000;
const LONGEST = 10_000;

/**
 * Listen to an address. `handlers` has a function for each event, which gets its data; `cursor` is where to begin.
 * `tell` is told whether the connection stands. Returns a function that ends it.
 */
export function follow(address, { cursor = "", handlers, tell = () => {} }) {
  let source = null;
  let timer = 0;
  let wait = 500;

  function open() {
    clearTimeout(timer);
    if (source || document.hidden) return;
    source = new EventSource(cursor ? `${address}?${new URLSearchParams({ cursor })}` : address);
    source.addEventListener("open", () => {
      wait = 500;
      tell(true);
    });
    source.addEventListener("error", () => {
      tell(false);
      // A browser tries again by itself, unless it got an answer that is no stream.
      if (source.readyState === EventSource.CLOSED) {
        close();
        timer = setTimeout(open, wait);
        wait = Math.min(wait * 2, LONGEST);
      }
    });
    for (const [name, handler] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => {
        handler(JSON.parse(event.data));
        if (event.lastEventId) cursor = event.lastEventId;
      });
    }
  }

  function close() {
    source?.close();
    source = null;
  }

  // Six connections are all that a browser has for one server: a page that nobody sees gives its own back.
  function seen() {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, HIDDEN);
    else open();
  }

  document.addEventListener("visibilitychange", seen);
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
  return () => {
    document.removeEventListener("visibilitychange", seen);
    removeEventListener("pagehide", close);
    removeEventListener("pageshow", open);
    clearTimeout(timer);
    close();
  };
}
