// Draws a state of the world on a canvas of 320 x 200 pixels. It only draws: what is drawn follows from the state.

import { HEIGHT, WIDTH } from "./art.js";
import { drawCast } from "./cast.js";
import { drawBackdrop, drawForeground } from "./scenery.js";
import { drawShows } from "./shows.js";
import { drawSigns, drawWaitShade } from "./signs.js";

/** Draw a frame. `calm` is for people who want less motion: nothing scrolls, flashes or shakes, and poses replace animations. */
export function draw(context, state, art, { calm = false, isEmpty = state.party.length === 0 } = {}) {
  context.imageSmoothingEnabled = false;
  context.globalAlpha = 1;
  drawBackdrop(context, state, art, calm);
  drawWaitShade(context, state);
  drawCast(context, state, art, calm);
  drawForeground(context, state, art, calm);
  drawShows(context, state, art, calm);
  drawSigns(context, state, art, calm);
  if (isEmpty) drawEmpty(context, art);
}

function drawEmpty(context, art) {
  art.write(context, "No session is active.", WIDTH / 2, HEIGHT / 2 - 22, "#ffffff", { edge: "#1b1325", align: "center" });
  art.write(context, "A hero appears as soon as one is.", WIDTH / 2, HEIGHT / 2 - 10, "#d4d4de", { edge: "#1b1325", align: "center" });
}
