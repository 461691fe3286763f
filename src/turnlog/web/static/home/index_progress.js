// The progress bar while the index is being built: files, bytes and time left.

const box = document.getElementById("progress");
const bar = document.getElementById("progress-bar");
const words = document.getElementById("progress-words");

/** Show the state of the index; hide the bar when the index is complete. */
export function showIndexProgress(state) {
  box.hidden = !state.is_busy;
  if (!state.is_busy) return;
  if (state.total) {
    bar.max = state.total;
    bar.value = state.done;
  } else {
    bar.removeAttribute("value");
  }
  words.textContent = describe(state);
}

function describe(state) {
  // The list may name all files before the index has begun to read them.
  if (state.phase === "starting") return document.querySelector("tr.session") ? "Reading session files …" : "Looking for session files …";
  if (!state.total) return "Another turnlog process is updating the index.";
  const count = (number) => number.toLocaleString("en");
  // The index takes up files in large steps; until the first one, only the bytes show that it moves.
  const files = state.files_read ? `${count(state.files_read)} of ${count(state.files)} files` : `${count(state.files)} files`;
  const parts = [files, `${size(state.done)} of ${size(state.total)}`];
  if (state.seconds_left !== null) parts.push(`${duration(state.seconds_left)} left`);
  return `Reading session files: ${parts.join(", ")}. All sessions are listed; search and figures cover what has been read.`;
}

function size(bytes) {
  if (bytes < 1e6) return `${Math.round(bytes / 1e3)} KB`;
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

function duration(seconds) {
  if (seconds < 10) return "a few seconds";
  if (seconds < 90) return `about ${Math.ceil(seconds / 10) * 10} s`;
  return `about ${Math.round(seconds / 60)} min`;
}
