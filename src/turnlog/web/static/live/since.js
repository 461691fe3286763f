// Shows how long something has lasted, updated every second while the server is there, and whether it is there.

export function formatElapsed(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export function writeAges(root) {
  for (const element of root.querySelectorAll("[data-since]")) {
    const moment = Date.parse(element.dataset.since);
    const text = Number.isNaN(moment) ? "" : formatElapsed((Date.now() - moment) / 1000);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** Say whether the page hears from the server; without it, nobody knows what goes on, so the page stands still. */
export function showConnection(root, isConnected) {
  const link = root.querySelector(".link");
  const wasConnected = root.dataset.connected;
  root.dataset.connected = link.dataset.connected = isConnected;
  if (isConnected) link.textContent = "following";
  else if (wasConnected !== "false") link.textContent = `not connected since ${new Date().toLocaleTimeString()}; reconnecting …`;
  if (isConnected) writeAges(root);
}

export function startClock(root) {
  writeAges(root);
  setInterval(() => document.hidden || root.dataset.connected === "false" || writeAges(root), 1000);
}
