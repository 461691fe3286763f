// Sub-agents: opening a card loads the transcript into it, in windows like the session's own.

import { load } from "../fragment.js";
import { Windows } from "./windows.js";

export function watchAgents(root) {
  // `toggle` does not bubble.
  root.addEventListener("toggle", (event) => loadAgent(event.target), true);
  root.addEventListener("window-loaded", (event) => {
    for (const details of event.target.querySelectorAll("details.agent[open]")) loadAgent(details);
  });
}

async function loadAgent(details) {
  if (!details.matches?.("details.agent") || !details.open) return;
  const body = details.querySelector(":scope > .agent-body[data-src]");
  if (!body || body.dataset.state) return;
  body.dataset.state = "loading";
  body.setAttribute("aria-busy", "true");
  try {
    body.replaceChildren(await load(body.dataset.src));
    startWindows(body);
    body.dataset.state = "loaded";
  } catch (error) {
    body.textContent = error.message;
    delete body.dataset.state;
  }
  body.removeAttribute("aria-busy");
}

function startWindows(body) {
  const holder = body.querySelector(".nested");
  const section = holder?.querySelector(":scope > section.window");
  if (!section) return;
  const { windows, size, address } = holder.dataset;
  if (Number(windows) > 1) {
    new Windows(holder, { count: Number(windows), size: Number(size), address: (n) => address.replace("{n}", n) });
  }
  section.dispatchEvent(new CustomEvent("window-loaded", { bubbles: true, detail: { n: 0 } }));
}
