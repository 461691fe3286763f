// What covers the whole screen for a moment: fireworks, the SHIPPED banner, a new level.

import { WIDTH } from "./art.js";
import { LIFE } from "./world.js";

const RAINBOW = ["#ff4d57", "#ff9d3b", "#ffe36e", "#6ee07a", "#5ab8ff", "#b07aff"];
const ROCKET_TICKS = 36;
const SPARKS = 26;
const EDGE = "#1b1325";
const SHIP_WORDS = { push: "pushed", "pull-request": "pull request opened" };

export function drawShows(context, state, art, calm) {
  for (const rocket of state.fireworks) drawFirework(context, rocket, calm);
  if (state.celebration) drawLevel(context, state, art, calm);
  if (state.banner) drawBanner(context, state, art, calm);
}

function drawFirework(context, rocket, calm) {
  if (rocket.age < 0) return;
  const colour = RAINBOW[rocket.colour % RAINBOW.length];
  if (rocket.age < ROCKET_TICKS && !calm) {
    const share = rocket.age / ROCKET_TICKS;
    const y = 170 + (rocket.y - 170) * (1 - (1 - share) ** 2);
    context.fillStyle = "#fff3b0";
    context.fillRect(rocket.x, Math.round(y), 1, 3);
    context.fillStyle = colour;
    context.fillRect(rocket.x, Math.round(y) + 3, 1, 5);
    return;
  }
  const share = calm ? 0.5 : (rocket.age - ROCKET_TICKS) / (LIFE.firework - ROCKET_TICKS);
  context.globalAlpha = Math.min(1, (1 - share) * 1.6);
  for (let number = 0; number < SPARKS; number += 1) {
    const [dx, dy] = spark(rocket.shape, number / SPARKS);
    const reach = 26 * (1 - (1 - share) ** 3);
    const x = Math.round(rocket.x + dx * reach);
    const y = Math.round(rocket.y + dy * reach + share * share * 14);
    context.fillStyle = number % 4 === 0 ? "#ffffff" : colour;
    context.fillRect(x, y, share < 0.5 ? 2 : 1, share < 0.5 ? 2 : 1);
    if (number % 2) {
      context.fillStyle = colour;
      context.fillRect(Math.round(rocket.x + dx * reach * 0.6), Math.round(rocket.y + dy * reach * 0.6 + share * share * 9), 1, 1);
    }
  }
  context.globalAlpha = 1;
}

/** Where a spark flies: a ring, a heart, a star, or two rings. */
function spark(shape, share) {
  const turn = share * Math.PI * 2;
  if (shape === 1) {
    const x = Math.sin(turn) ** 3;
    const y = -(13 * Math.cos(turn) - 5 * Math.cos(2 * turn) - 2 * Math.cos(3 * turn) - Math.cos(4 * turn)) / 16;
    return [x, y];
  }
  const reach = shape === 2 ? 0.55 + 0.45 * Math.abs(Math.cos(turn * 2.5)) : shape === 3 ? (Math.round(share * SPARKS) % 2 ? 1 : 0.55) : 1;
  return [Math.cos(turn) * reach, Math.sin(turn) * reach];
}

function writeRainbow(context, art, text, y, scale, clock, calm) {
  const letters = [...text];
  const widths = letters.map((letter) => (art.measure(letter) + 1) * scale);
  let x = (WIDTH - widths.reduce((sum, width) => sum + width, 0)) / 2;
  letters.forEach((letter, number) => {
    const wave = calm ? 0 : Math.sin(clock / 14 + number * 0.7) * 3;
    const colour = RAINBOW[(number + (calm ? 0 : Math.floor(clock / 12))) % RAINBOW.length];
    art.write(context, letter, x, y + wave, colour, { edge: EDGE, scale });
    x += widths[number];
  });
}

function drawBanner(context, state, art, calm) {
  const { age, kind } = state.banner;
  const share = calm ? 1 : Math.min(1, age / 30, (LIFE.banner - age) / 30);
  const half = Math.round(19 * share);
  context.fillStyle = "rgb(27 19 37 / 85%)";
  context.fillRect(0, 100 - half, WIDTH, half * 2);
  RAINBOW.forEach((colour, number) => {
    context.fillStyle = colour;
    const shift = calm ? 0 : Math.floor(state.clock / 2);
    for (let x = -((shift + number * 9) % 54); x < WIDTH; x += 54) {
      context.fillRect(x + number * 9, 100 - half - 2, 9, 2);
      context.fillRect(x + number * 9, 100 + half, 9, 2);
    }
  });
  if (share < 1) return;
  writeRainbow(context, art, "SHIPPED!", 86, 3, state.clock, calm);
  art.write(context, SHIP_WORDS[kind] ?? "shipped", WIDTH / 2, 110, "#ffffff", { align: "center" });
}

function drawLevel(context, state, art, calm) {
  const { age, level } = state.celebration;
  const share = Math.min(1, age / 25, (LIFE.levelUp - age) / 25);
  context.globalAlpha = share;
  context.fillStyle = "rgb(255 227 110 / 20%)";
  for (let number = 0; number < 12; number += 1) {
    const turn = (number / 12) * Math.PI * 2 + (calm ? 0 : state.clock / 160);
    context.beginPath();
    context.moveTo(WIDTH / 2, 92);
    context.lineTo(WIDTH / 2 + Math.cos(turn) * 190, 92 + Math.sin(turn) * 190);
    context.lineTo(WIDTH / 2 + Math.cos(turn + 0.22) * 190, 92 + Math.sin(turn + 0.22) * 190);
    context.fill();
  }
  writeRainbow(context, art, `LEVEL ${level}!`, 80, 3, state.clock, calm);
  context.globalAlpha = 1;
}
