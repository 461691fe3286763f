// An event connection that is open while the page is visible and continues exactly where it stopped: after an
// interruption, a restart of the server, or a time when the page was hidden.

const HIDDEN_MS = 20_000;
const MAX_WAIT_MS = 10_000;

/**
 * Listen to an address. `handlers` has a function for each event, which receives its data; `cursor` is where to start.
 * `onStatus` receives whether the connection is open. Returns a function that closes it.
 */
export function follow(address, { cursor = "", handlers, onStatus = () => {} }) {
  let source = null;
  let timer = 0;
  let wait = 500;

  function open() {
    clearTimeout(timer);
    if (source || document.hidden) return;
    source = new EventSource(cursor ? `${address}?${new URLSearchParams({ cursor })}` : address);
    source.addEventListener("open", () => {
      wait = 500;
      onStatus(true);
    });
    source.addEventListener("error", () => {
      onStatus(false);
      // The browser reconnects by itself unless the response was not a stream.
      if (source.readyState === EventSource.CLOSED) {
        close();
        timer = setTimeout(open, wait);
        wait = Math.min(wait * 2, MAX_WAIT_MS);
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

  // A browser allows six connections to one server, so a hidden page releases its own.
  function onVisibilityChange() {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, HIDDEN_MS);
    else open();
  }

  document.addEventListener("visibilitychange", onVisibilityChange);
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
  return () => {
    document.removeEventListener("visibilitychange", onVisibilityChange);
    removeEventListener("pagehide", close);
    removeEventListener("pageshow", open);
    clearTimeout(timer);
    close();
  };
}
