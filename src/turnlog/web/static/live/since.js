// How long something has been going on, counted on every second.

export function lasted(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export function write(root) {
  for (const element of root.querySelectorAll("[data-since]")) {
    const moment = Date.parse(element.dataset.since);
    const words = Number.isNaN(moment) ? "" : lasted((Date.now() - moment) / 1000);
    if (element.textContent !== words) element.textContent = words;
  }
}

export function count(root) {
  write(root);
  setInterval(() => document.hidden || write(root), 1000);
}
