// Light, dark, or as the system has it. Not a module: it runs before anything is painted.
(() => {
  const KEY = "turnlog-theme";
  const NAMES = ["auto", "light", "dark"];
  const WORDS = { auto: "as the system has them", light: "light", dark: "dark" };
  const SIGNS = { auto: "◐", light: "○", dark: "●" };

  function kept() {
    try {
      const name = localStorage.getItem(KEY);
      return NAMES.includes(name) ? name : "auto";
    } catch {
      return "auto";
    }
  }

  function show(name) {
    document.documentElement.dataset.theme = name;
    const button = document.getElementById("theme");
    if (!button) return;
    button.textContent = SIGNS[name];
    button.title = `Colours: ${WORDS[name]}`;
    button.setAttribute("aria-label", button.title);
  }

  function next() {
    const name = NAMES[(NAMES.indexOf(kept()) + 1) % NAMES.length];
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // Kept for this page alone, then.
    }
    show(name);
  }

  show(kept());
  document.addEventListener("DOMContentLoaded", () => {
    show(kept());
    document.getElementById("theme").addEventListener("click", next);
  });
  window.addEventListener("storage", (event) => event.key === KEY && show(kept()));
})();
