// The boxes that words stand in.

import { WIDTH } from "./art.js";

const EDGE = "#1b1325";

/** A dark box for meters and lists. */
export function drawPanel(context, x, y, width, height) {
  context.fillStyle = "rgb(27 19 37 / 72%)";
  context.fillRect(x + 1, y, width - 2, height);
  context.fillRect(x, y + 1, width, height - 2);
  context.fillStyle = "rgb(160 150 210 / 40%)";
  context.fillRect(x + 2, y, width - 4, 1);
  context.fillRect(x + 2, y + height - 1, width - 4, 1);
}

/** A bubble of lines above a point; it never leaves the screen. */
export function drawBubble(context, art, lines, x, y, { fill, ink, head = ink, dots = false, tail = 6 }) {
  const width = Math.max(...lines.map((line) => art.measure(line)), 10) + 12;
  const height = lines.length * 9 + 7;
  const left = Math.round(Math.max(3, Math.min(WIDTH - width - 3, x - width / 3)));
  const top = Math.round(Math.max(3, y - height - 7));
  fillRound(context, left - 1, top - 1, width + 2, height + 2, EDGE);
  fillRound(context, left, top, width, height, fill);
  drawTail(context, Math.round(Math.max(left + 5, Math.min(left + width - 9, x))), top + height, fill, dots, tail);
  lines.forEach((line, row) => art.write(context, line, left + 6, top + 4 + row * 9, row ? ink : head));
}

function fillRound(context, x, y, width, height, colour) {
  context.fillStyle = colour;
  context.fillRect(x + 2, y, width - 4, height);
  context.fillRect(x, y + 2, width, height - 4);
  context.fillRect(x + 1, y + 1, width - 2, height - 2);
}

function drawTail(context, x, y, fill, dots, length) {
  if (dots) {
    for (const [dx, dy, size] of [[0, 2, 4], [-3, 7, 2]]) {
      fillRound(context, x + dx - 1, y + dy - 1, size + 2, size + 2, EDGE);
      context.fillStyle = fill;
      context.fillRect(x + dx, y + dy, size, size);
    }
    return;
  }
  for (let row = 0; row < length; row += 1) {
    const width = Math.max(1, Math.round(6 * (1 - row / length)));
    context.fillStyle = EDGE;
    context.fillRect(x - 1, y + row, width + 2, 1);
    context.fillStyle = fill;
    context.fillRect(x, y + row - 1, width, 1);
  }
}
