// Shows the theme before the first paint, which is why it is not a module. The server has written the remembered theme
// into the page; this only adds a choice that the server has not confirmed yet (see preferences.js).
(() => {
  try {
    const theme = JSON.parse(sessionStorage.getItem("turnlog-pending-preferences") ?? "{}").theme;
    if (["auto", "light", "dark"].includes(theme)) document.documentElement.dataset.theme = theme;
  } catch {
    // Without storage there is nothing to add.
  }
})();
