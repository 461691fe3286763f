// Draws a state of the world on a canvas of 320 x 200 pixels. It only draws: what is drawn follows from the state.

import { HEIGHT, WIDTH } from "./art.js";
import { drawCast } from "./cast.js";
import { drawBackdrop, drawForeground, drawSky } from "./scenery.js";
import { drawShows } from "./shows.js";
import { drawSigns, drawWaitLight } from "./signs.js";

/**
 * Draw a frame. `calm` is for people who want less motion: nothing scrolls, flashes or shakes, and poses replace animations.
 * Until it is known who is there (`isKnown`), only the sky is shown.
 */
export function draw(context, state, art, { calm = false, isKnown = true } = {}) {
  context.imageSmoothingEnabled = false;
  context.globalAlpha = 1;
  if (!isKnown) {
    drawSky(context, state, art, calm);
    return writeLines(context, art, ["Looking for heroes .."]);
  }
  drawBackdrop(context, state, art, calm);
  drawWaitLight(context, state, calm);
  drawCast(context, state, art, calm);
  drawForeground(context, state, art, calm);
  drawShows(context, state, art, calm);
  drawSigns(context, state, art, calm);
  if (state.party.length === 0) writeLines(context, art, ["No session is active.", "A hero appears as soon as one is."]);
}

function writeLines(context, art, lines) {
  lines.forEach((line, row) => {
    const place = HEIGHT / 2 - 22 + row * 12;
    art.write(context, line, WIDTH / 2, place, row ? "#d4d4de" : "#ffffff", { edge: "#1b1325", align: "center" });
  });
}
