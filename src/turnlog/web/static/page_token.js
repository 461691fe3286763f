// Takes over the token that lets this page change something. It arrives once, in the fragment of the address that opened
// the browser, and is stored where no other port of this host can see it. Not a module, so that it runs before all others
// and none of them sees the fragment.
(() => {
  const START = "#turnlog-token=";
  if (!location.hash.startsWith(START)) return;
  const token = location.hash.slice(START.length);
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    localStorage.setItem("turnlog-token", token);
  } catch {
    // Without storage the pages can only be read.
  }
})();
