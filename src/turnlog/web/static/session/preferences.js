// The reader's choices, kept in the browser's storage for the next page.

export function readPreference(name) {
  try {
    return localStorage.getItem(`turnlog-${name}`);
  } catch {
    return null;
  }
}

export function savePreference(name, value) {
  try {
    localStorage.setItem(`turnlog-${name}`, value);
  } catch {
    // Without storage, the choice lasts until the page is left.
  }
}
