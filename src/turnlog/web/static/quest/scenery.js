// The sky, the layers of a biome that go by at different speeds, what floats in the air, and the weather.

import { HEIGHT, WIDTH, createCanvas } from "./art.js";

const BAYER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
const SKY_HEIGHT = 160;
const STARS = 70;
const FLOATERS = 26;
const DROPS = 70;
/** Percent of darkness for each of the 200 steps of a storm. */
const MAX_GLOOM = 0.24;
/** When each light begins, in minutes of the day; between two, one changes into the other. */
const LIGHTS = [
  [0, "night"],
  [300, "night"],
  [380, "dawn"],
  [470, "day"],
  [1040, "day"],
  [1140, "dusk"],
  [1250, "night"],
  [1440, "night"],
];
const AIR = {
  leaves: { colours: ["#9be07a", "#e8c85a", "#ff9a5a"], fall: 14, drift: -16, sway: 9, size: 2 },
  snow: { colours: ["#ffffff", "#dfe9ff"], fall: 22, drift: -8, sway: 6, size: 1 },
  fireflies: { colours: ["#d8ff7a", "#7ef2ff"], fall: 0, drift: 3, sway: 16, size: 1, glows: true },
  seeds: { colours: ["#ffffff", "#fff3b0"], fall: -5, drift: -14, sway: 7, size: 1 },
  motes: { colours: ["#ffe9a0", "#d8b0ff"], fall: -4, drift: 2, sway: 8, size: 1, glows: true },
};

/** Pseudo-random, and always the same for a number. */
export function scatter(number) {
  const value = Math.sin(number * 127.1 + 311.7) * 43758.5453;
  return value - Math.floor(value);
}

/** Draw the sky of the hour, without a landscape. */
export function drawSky(context, state, art, calm) {
  const light = lightOf(art, {}, state.minute);
  context.drawImage(skyOf(art, light), 0, 0, WIDTH, HEIGHT);
  drawHeavens(context, state, light, calm, 1);
  context.globalAlpha = 1;
}

/** Draw everything that is behind the heroes. */
export function drawBackdrop(context, state, art, calm) {
  const biome = state.biome ?? 0;
  drawScene(context, state, art, biome, calm, 1);
  if (state.former !== null && state.fade > 0) drawScene(context, state, art, state.former, calm, state.fade / 100);
  if (state.storm > 0) {
    context.fillStyle = `rgb(16 18 44 / ${Math.round(state.storm * MAX_GLOOM)}%)`;
    context.fillRect(0, 0, WIDTH, HEIGHT);
  }
}

function drawScene(context, state, art, number, calm, alpha) {
  const biome = art.layout.biomes[number];
  const light = lightOf(art, biome, state.minute);
  context.globalAlpha = alpha;
  context.drawImage(skyOf(art, light), 0, 0);
  drawHeavens(context, state, light, calm, alpha);
  const image = art.scene(number);
  const scroll = calm ? 0 : state.scroll / 10;
  if (image) for (const layer of biome.layers) if (layer.name !== "front") drawLayer(context, image, layer, scroll);
  context.globalAlpha = 1;
  if (!biome.only) tint(context, light, alpha);
  drawAir(context, state, AIR[biome.air], scroll, calm, alpha);
}

/** Draw what is in front of the heroes: grass, rain, lightning. */
export function drawForeground(context, state, art, calm) {
  const number = state.biome ?? 0;
  const biome = art.layout.biomes[number];
  const image = art.scene(number);
  const layer = biome.layers.find((one) => one.name === "front");
  if (image) drawLayer(context, image, layer, calm ? 0 : state.scroll / 10);
  if (state.storm > 0) drawStorm(context, state, calm);
}

function drawLayer(context, image, layer, scroll) {
  const left = Math.floor(scroll * layer.factor) % WIDTH;
  context.drawImage(image, left, layer.top, WIDTH - left, layer.height, 0, layer.y, WIDTH - left, layer.height);
  if (left > 0) context.drawImage(image, 0, layer.top, left, layer.height, WIDTH - left, layer.y, left, layer.height);
}

// -- light

/** The light at a minute of the day: two names and how far one has become the other, in eighths. */
function lightOf(art, biome, minute) {
  if (biome.only) return { from: biome.only, to: biome.only, share: 0, art };
  let place = 0;
  while (LIGHTS[place + 1][0] <= minute) place += 1;
  const [start, from] = LIGHTS[place];
  const [end, to] = LIGHTS[place + 1];
  return { from, to, share: Math.floor(((minute - start) / (end - start)) * 8) / 8, art };
}

function darkness(light) {
  const { skies } = light.art.layout;
  return skies[light.from].share * (1 - light.share) + skies[light.to].share * light.share;
}

function skyOf(art, light) {
  return art.keep(`sky ${light.from} ${light.to} ${light.share}`, () => {
    const { skies } = art.layout;
    const colours = skies[light.from].sky.map((colour, place) => blend(colour, skies[light.to].sky[place], light.share));
    return paintSky(colours);
  });
}

/** Paint bands of colour that run into each other in a pattern of dots. */
function paintSky([top, middle, bottom]) {
  const canvas = createCanvas(WIDTH, SKY_HEIGHT);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(WIDTH, SKY_HEIGHT);
  for (let y = 0; y < SKY_HEIGHT; y += 1) {
    for (let x = 0; x < WIDTH; x += 1) {
      const level = Math.min(14, Math.floor((y / SKY_HEIGHT) * 14 + BAYER[(y % 4) * 4 + (x % 4)] / 16));
      const share = level / 14;
      const colour = share < 0.5 ? blend(top, middle, share * 2) : blend(middle, bottom, share * 2 - 1);
      pixels.data.set([...colour, 255], (y * WIDTH + x) * 4);
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

function blend(first, second, share) {
  const [a, b] = [first, second].map((colour) => (typeof colour === "string" ? readColour(colour) : colour));
  return a.map((value, place) => Math.round(value + (b[place] - value) * share));
}

function readColour(text) {
  return [0, 2, 4].map((place) => parseInt(text.slice(place, place + 2), 16));
}

/** Lay the colour of the light over what has been drawn. */
function tint(context, light, alpha) {
  const { skies } = light.art.layout;
  const share = darkness(light) * alpha;
  if (share < 0.02) return;
  const colour = blend(skies[light.from].tint || "ffffff", skies[light.to].tint || "ffffff", light.share);
  const [r, g, b] = blend("ffffff", colour, share);
  context.globalCompositeOperation = "multiply";
  context.fillStyle = `rgb(${r} ${g} ${b})`;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.globalCompositeOperation = "source-over";
}

// -- sun, moon, stars, clouds

function drawHeavens(context, state, light, calm, alpha) {
  const night = Math.min(1, darkness(light) / 0.5);
  if (night > 0.2) drawStars(context, state, night * alpha, calm);
  const isNight = light.from === "night" && (light.to === "night" || light.share < 0.5);
  const minute = state.minute;
  const way = isNight ? ((minute + 240) % 1440) / 600 : (minute - 330) / 840;
  const x = isNight && light.art.layout && light.from === light.to ? 40 + 240 * Math.min(1, Math.max(0, way)) : 20 + 280 * way;
  const y = 74 - Math.sin(Math.min(1, Math.max(0, way)) * Math.PI) * 52;
  if (isNight) drawMoon(context, x, y);
  else drawSun(context, x, y);
  context.globalAlpha = alpha * (0.9 - night * 0.6);
  const clouds = light.art.keep("clouds", paintClouds);
  const drift = calm ? 0 : (state.clock / 40 + state.scroll / 200) % 480;
  for (let number = 0; number < 4; number += 1) {
    const left = ((number * 137 + 480 - drift) % 480) - 80;
    context.drawImage(clouds, 0, (number % 3) * 24, 72, 24, Math.round(left), 14 + number * 11, 72, 24);
  }
  context.globalAlpha = alpha;
}

function drawStars(context, state, alpha, calm) {
  for (let number = 0; number < STARS; number += 1) {
    const twinkle = calm ? 0.8 : 0.55 + 0.45 * Math.sin(state.clock / 60 + number * 2.4);
    context.globalAlpha = alpha * twinkle;
    context.fillStyle = number % 7 ? "#ffffff" : "#ffe9a0";
    const x = Math.floor(scatter(number) * WIDTH);
    const y = Math.floor(scatter(number + 500) ** 1.4 * 118);
    context.fillRect(x, y, 1, 1);
    if (number % 9 === 0) {
      context.fillRect(x - 1, y, 3, 1);
      context.fillRect(x, y - 1, 1, 3);
    }
  }
  context.globalAlpha = alpha;
}

function drawDisc(context, x, y, radius, colour) {
  context.fillStyle = colour;
  for (let row = -radius; row <= radius; row += 1) {
    const half = Math.floor(Math.sqrt(radius * radius - row * row + radius * 0.8));
    context.fillRect(Math.round(x) - half, Math.round(y) + row, half * 2 + 1, 1);
  }
}

function drawMoon(context, x, y) {
  drawDisc(context, x, y, 17, "rgb(216 220 255 / 9%)");
  drawDisc(context, x, y, 13, "rgb(216 220 255 / 14%)");
  drawDisc(context, x, y, 10, "#f2efe0");
  drawDisc(context, x - 3, y - 2, 2, "#d6d2c4");
  drawDisc(context, x + 4, y + 3, 3, "#dcd8ca");
  drawDisc(context, x + 3, y - 5, 1, "#d6d2c4");
}

function drawSun(context, x, y) {
  drawDisc(context, x, y, 19, "rgb(255 243 176 / 16%)");
  drawDisc(context, x, y, 14, "rgb(255 243 176 / 28%)");
  drawDisc(context, x, y, 10, "#fff0a8");
  drawDisc(context, x - 1, y - 1, 7, "#fffbe0");
}

function paintClouds() {
  const canvas = createCanvas(72, 72);
  const context = canvas.getContext("2d");
  const puffs = [
    [[14, 15, 8], [26, 10, 10], [40, 12, 9], [52, 16, 6]],
    [[12, 16, 5], [24, 13, 8], [36, 16, 6]],
    [[18, 16, 6], [30, 11, 9], [44, 9, 10], [58, 15, 7]],
  ];
  puffs.forEach((cloud, row) => {
    context.save();
    context.beginPath();
    context.rect(0, row * 24, 72, 19);
    context.clip();
    for (const [x, y, radius] of cloud) drawDisc(context, x, y + row * 24 + 2, radius, "#d9e6f4");
    for (const [x, y, radius] of cloud) drawDisc(context, x - 1, y + row * 24, radius - 1, "#ffffff");
    context.restore();
  });
  return canvas;
}

// -- air and weather

function drawAir(context, state, air, scroll, calm, alpha) {
  if (calm) return;
  const seconds = state.clock / 100;
  for (let number = 0; number < FLOATERS; number += 1) {
    const sway = Math.sin(seconds * 0.8 + number * 1.7) * air.sway;
    const x = wrap(scatter(number + 40) * WIDTH + seconds * air.drift * (0.6 + scatter(number)) - scroll * 0.6 + sway, WIDTH);
    const y = wrap(scatter(number + 90) * 170 + seconds * air.fall * (0.6 + scatter(number + 7)), 170);
    context.globalAlpha = alpha * (air.glows ? 0.25 + 0.75 * Math.max(0, Math.sin(seconds * 1.3 + number * 2.1)) : 0.85);
    context.fillStyle = air.colours[number % air.colours.length];
    context.fillRect(Math.floor(x), Math.floor(y) + 8, air.size, air.glows || number % 2 ? air.size : 1);
  }
  context.globalAlpha = 1;
}

function wrap(value, span) {
  return ((value % span) + span) % span;
}

function drawStorm(context, state, calm) {
  const share = state.storm / 200;
  context.fillStyle = "rgb(170 200 255 / 55%)";
  const seconds = calm ? 0 : state.clock / 100;
  for (let number = 0; number < DROPS * share; number += 1) {
    const y = wrap(scatter(number + 20) * HEIGHT + seconds * (260 + 90 * scatter(number)), HEIGHT + 20) - 10;
    const x = wrap(scatter(number + 60) * WIDTH - seconds * 70 + y * -0.25, WIDTH);
    context.fillRect(Math.floor(x), Math.floor(y), 1, 5);
  }
  const moment = state.clock % 420;
  if (!calm && share > 0.6 && moment < 22) drawLightning(context, Math.floor(state.clock / 420), moment);
}

function drawLightning(context, number, moment) {
  if (moment < 4) {
    context.fillStyle = "rgb(220 230 255 / 30%)";
    context.fillRect(0, 0, WIDTH, HEIGHT);
  }
  context.fillStyle = moment % 6 < 4 ? "#ffffff" : "#c8d8ff";
  let x = 40 + scatter(number + 3) * 240;
  for (let y = 0; y < 120; y += 4) {
    const next = x + (scatter(number * 31 + y) - 0.5) * 14;
    const left = Math.min(x, next);
    context.fillRect(Math.floor(left), y, Math.max(2, Math.floor(Math.abs(next - x))), 2);
    context.fillRect(Math.floor(next), y, 2, 4);
    x = next;
  }
}
