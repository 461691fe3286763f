// The same events as lines of text, for screen readers and for everyone who'd rather read.

const MAX_TEXT_CHARS = 160;
const MAX_LINES = 200;
const REFILL_EVENTS = 40;

const LINES = {
  enter: (event) => (event.project ? `enters the scene, from ${nameFolder(event.project)}` : "enters the scene"),
  leave: () => "leaves",
  quest: (event) => `sets out on a quest${LEVELS[event.level] ?? ""}: ${event.text}`,
  read: (event) => `reads with ${event.tool}${target(event)}`,
  write: (event) => `writes with ${event.tool}${target(event)}`,
  bash: (event) => `strikes with ${event.tool}${target(event)}`,
  web: (event) => `casts ${event.tool}${target(event)}`,
  tool: (event) => `uses ${event.tool}${target(event)}`,
  result: (event) => describeResult(event),
  think: (event) => (event.text ? `thinks: ${event.text}` : "thinks"),
  text: (event) => (event.text ? `says: ${event.text}` : ""),
  agent_start: (event) => `is joined by a companion: ${[event.agent_type, event.description].filter(Boolean).join(", ")}`,
  agent_finish: (event) => `sees a companion off${event.outcome && event.outcome !== "ok" ? ` (${event.outcome})` : ""}`,
  todos: (event) => `has done ${event.items.filter((item) => item.status === "completed").length} of ${event.items.length} tasks`,
  question: (event) => `WAITS FOR YOU and asks: ${event.text ?? ""}`,
  plan: (event) => `WAITS FOR YOU and shows a plan: ${event.text ?? ""}`,
  permission: (event) => `WAITS FOR YOU and needs permission: ${[event.tool, event.title].filter(Boolean).join(" ")}`,
  answered: (event) => (event.reason ? "is at work" : "has your answer"),
  error: (event) => `is attacked by ${event.source === "api" ? "an API error" : "a bug"}: ${event.text ?? ""}`,
  turn_finish: () => "has finished: victory!",
  interrupt: () => "is interrupted",
  compact_start: () => "makes camp and rests (compaction)",
  compact_end: () => "wakes up with a fresh mind",
  ship: (event) => (event.kind === "push" ? "has SHIPPED: pushed" : `has SHIPPED: pull request ${event.url ?? ""}`),
  idle: () => "stands still",
  level_up: (event) => `reaches level ${event.level}`,
  chest: () => "finds a bonus chest",
};
const LEVELS = { think: " (think)", hard: " (think hard)", harder: " (think harder)", ultra: " (ultrathink)" };

/** A result is worth a line if something came of it. */
function describeResult(event) {
  if (event.outcome === "ok") return event.xp?.length ? `succeeds (${event.category})` : "";
  return `gets ${event.outcome} (${event.category})`;
}

function nameFolder(path) {
  return path.split(/[\\/]/u).filter(Boolean).at(-1) ?? path;
}

function target(event) {
  return event.target ? `: ${event.target}` : "";
}

/** Describe an event in one line, or "" if it isn't worth one. `state` is the world after it. */
export function describeEvent(event, state) {
  const line = LINES[event.game]?.(event);
  if (!line) return "";
  const gains = (event.xp ?? []).map((gain) => `+${gain.amount} XP`).join(", ");
  return `${nameActor(event, state)} ${shorten(line)}${gains ? ` (${gains})` : ""}`;
}

function nameActor(event, state) {
  const hero = state.party.find((one) => one.session === event.session);
  const name = shorten(hero?.title || hero?.project || "The hero", 60);
  if (!event.actor || event.actor === "main") return name;
  const companion = hero?.companions.find((one) => one.agent === event.actor);
  return `${companion?.type || "A companion"} of ${name}`;
}

function shorten(text, limit = MAX_TEXT_CHARS) {
  const line = text.replace(/\s+/gu, " ").trim();
  const letters = Array.from(line.slice(0, 2 * limit + 2));
  return letters.length > limit ? `${letters.slice(0, limit - 1).join("")}…` : line;
}

/** A list of lines in a box that is a live region; the oldest are dropped. */
export class Twin {
  constructor(box) {
    this.box = box;
    this.list = box.querySelector("ol");
  }

  add(event, state) {
    const text = describeEvent(event, state);
    if (!text) return;
    const item = document.createElement("li");
    item.textContent = text;
    if (text.includes("WAITS FOR YOU")) item.className = "urgent";
    const { scrollHeight, scrollTop, clientHeight } = this.box;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < 30;
    this.list.append(item);
    while (this.list.childElementCount > MAX_LINES) this.list.firstElementChild.remove();
    if (isAtEnd) this.box.scrollTop = this.box.scrollHeight;
  }

  /** After a jump: show the latest lines, without reading them out. */
  refill(events, state) {
    this.box.setAttribute("aria-live", "off");
    this.list.replaceChildren();
    for (const event of events.slice(-REFILL_EVENTS)) this.add(event, state);
    setTimeout(() => this.box.setAttribute("aria-live", "polite"), 100);
  }
}
