// The theme: light, dark or the system's. Not a module, because it must run before the first paint.
(() => {
  const KEY = "turnlog-theme";
  const NAMES = ["auto", "light", "dark"];
  const WORDS = { auto: "system", light: "light", dark: "dark" };
  const SIGNS = { auto: "◐", light: "○", dark: "●" };

  function readTheme() {
    try {
      const name = localStorage.getItem(KEY);
      return NAMES.includes(name) ? name : "auto";
    } catch {
      return "auto";
    }
  }

  function showTheme(name) {
    document.documentElement.dataset.theme = name;
    const button = document.getElementById("theme");
    if (!button) return;
    button.textContent = SIGNS[name];
    button.title = `Colours: ${WORDS[name]}`;
    button.setAttribute("aria-label", button.title);
  }

  function changeTheme() {
    const name = NAMES[(NAMES.indexOf(readTheme()) + 1) % NAMES.length];
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // Without storage, the choice lasts until the page is left.
    }
    showTheme(name);
  }

  showTheme(readTheme());
  document.addEventListener("DOMContentLoaded", () => {
    showTheme(readTheme());
    document.getElementById("theme").addEventListener("click", changeTheme);
  });
  window.addEventListener("storage", (event) => event.key === KEY && showTheme(readTheme()));
})();
