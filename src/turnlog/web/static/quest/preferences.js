// What a person has chosen stays chosen on this machine: biome, speed, sound, motion.

const KEY = "turnlog-quest";

export function readChoices() {
  try {
    const value = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return value && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}

export function saveChoice(name, value) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...readChoices(), [name]: value }));
  } catch {
    // Without storage, the choice lasts until the page is left.
  }
}
