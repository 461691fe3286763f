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

/** Switch between the turns and the sub-agents of the outline. */
export function watchTabs(panel) {
  const tabs = [...panel.querySelectorAll("[role=tab]")];
  function choose(tab) {
    for (const other of tabs) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
    }
  }
  for (const [place, tab] of tabs.entries()) {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const next = tabs[(place + (event.key === "ArrowRight" ? 1 : tabs.length - 1)) % tabs.length];
      choose(next);
      next.focus();
    });
  }
  panel.addEventListener("click", async (event) => {
    const button = event.target.closest(".more-agents button");
    if (!button) return;
    button.disabled = true;
    try {
      addAgents(panel.querySelector(".agents"), await load(button.dataset.address));
    } catch (error) {
      button.disabled = false;
      button.nextElementSibling.textContent = error.message;
    }
  });
  return (name) => choose(tabs.find((tab) => tab.getAttribute("aria-controls") === name));
}

// The next page of sub-agents: each goes below the one that started it, which an earlier page may have listed.
function addAgents(place, content) {
  const tree = place.querySelector(".agent-tree");
  for (const row of content.querySelectorAll(".agent-tree > li")) {
    const parent = row.dataset.parent && tree.querySelector(`li[data-agent="${CSS.escape(row.dataset.parent)}"]`);
    if (!parent) {
      tree.append(row);
      continue;
    }
    const list = parent.querySelector(":scope > ul") ?? parent.appendChild(document.createElement("ul"));
    list.append(row);
  }
  const more = content.querySelector(".more-agents");
  place.querySelector(".more-agents").remove();
  if (more) place.append(more);
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
