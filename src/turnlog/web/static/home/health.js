// The health of the rows in view, requested one after the other.
import { json } from "../fragment.js";

const PAUSE_MS = 220;

const waiting = new Set();
const visible = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) waiting.add(target);
    else waiting.delete(target);
  }
  loadAll();
});
let isLoading = false;

/** Load the health of a page's rows as they come into view. */
export function watchHealth(body) {
  for (const row of body.querySelectorAll("tr[data-unread]")) visible.observe(row);
}

async function loadAll() {
  if (isLoading) return;
  isLoading = true;
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  for (const row of waiting) {
    waiting.delete(row);
    visible.unobserve(row);
    if (row.isConnected && !row.hidden) await loadHealth(row, "");
  }
  isLoading = false;
}

async function loadHealth(row, query) {
  try {
    const answer = await json(`/api/s/${row.dataset.ref}/health${query}`);
    delete row.dataset.unread;
    if (answer.state === "large") offerHealth(row);
    else showHealth(row, answer.health);
  } catch (error) {
    row.querySelector("td.health").replaceChildren(badge("", "?", error.message));
  }
}

function badge(kind, text, title = "") {
  const span = document.createElement("span");
  span.className = `badge ${kind}`;
  span.textContent = text;
  if (title) span.title = title;
  return span;
}

function offerHealth(row) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "check";
  button.title = "This session is large: click to read it";
  button.addEventListener("click", () => loadHealth(row, "?now=1"));
  row.querySelector("td.health").replaceChildren(button);
}

function showHealth(row, health) {
  if (!health) return;
  row.querySelector(".turn-count").textContent = health.turns;
  row.querySelector(".turns .unit").textContent = health.turns === 1 ? " turn" : " turns";
  const number = health.errors || health.warnings;
  const cell = row.querySelector("td.health");
  const kind = { error: "bad", warning: "warn", healthy: "good" }[health.verdict];
  const words = health.verdict === "healthy" ? "healthy" : `${number} ${health.verdict}${number === 1 ? "" : "s"}`;
  cell.replaceChildren(badge(kind, words, health.words.join("\n")));
  if (health.branches) cell.append(" ", badge("", health.branches === 1 ? "1 branch" : `${health.branches} branches`));
}
