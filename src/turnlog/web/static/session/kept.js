// What a reader chose, for the next page: in the browser's storage, or for this page alone where there is none.

export function kept(name) {
  try {
    return localStorage.getItem(`turnlog-${name}`);
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`turnlog-${name}`, value);
  } catch {
    // It holds until the page is left, then.
  }
}
