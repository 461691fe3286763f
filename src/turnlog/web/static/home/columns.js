// The menus above the list; the choice of columns is remembered.
import { onPreference, readPreference, savePreference } from "../preferences.js";

const NAME = "home.columns";

/** Show the chosen columns of a table, and remember changes. */
export function manageColumns(menu, table) {
  const boxes = [...menu.querySelectorAll("[data-column]")];

  function show() {
    for (const box of boxes) table.classList.toggle(`hide-${box.dataset.column}`, !box.checked);
  }

  menu.addEventListener("change", () => {
    show();
    savePreference(
      NAME,
      boxes.filter((box) => box.checked).map((box) => box.dataset.column),
    );
  });
  function choose(chosen) {
    for (const box of boxes) box.checked = chosen?.includes(box.dataset.column) ?? box.defaultChecked;
    show();
  }

  const chosen = readPreference(NAME);
  if (chosen) choose(chosen); // the server may not have received the last choice yet
  onPreference(NAME, choose);
  closeOutside(menu);
}

/** Close an open menu on a click elsewhere and on Escape. */
export function closeOutside(menu) {
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
