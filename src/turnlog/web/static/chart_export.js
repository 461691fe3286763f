// Saves the figures of a panel as CSV, and its chart as SVG or PNG.

const STYLES = ["fill", "stroke", "stroke-width", "font-family", "font-size", "opacity"];

/** Add the buttons to every panel that has something to save. */
export function addExports(within) {
  for (const panel of within.querySelectorAll("section.panel")) {
    if (panel.querySelector(".exports")) continue;
    const table = panel.querySelector("table");
    const plots = [...panel.querySelectorAll("svg.plot")];
    if (!table && !plots.length) continue;
    const box = document.createElement("p");
    box.className = "exports";
    if (table) box.append(createButton("CSV", () => save(panel, "csv", new Blob([toCsv(table)], { type: "text/csv" }))));
    if (plots.length) {
      box.append(createButton("SVG", () => savePlots(panel, plots, saveSvg)));
      box.append(createButton("PNG", () => savePlots(panel, plots, savePng)));
    }
    panel.append(box);
  }
}

function createButton(name, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = name;
  button.title = `Save as ${name}`;
  button.addEventListener("click", act);
  return button;
}

function save(panel, ending, blob, number = 0) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `turnlog-${panel.id}${number ? `-${number + 1}` : ""}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function toCsv(table) {
  const lines = [];
  for (const row of table.rows) {
    const cells = [...row.cells].filter((cell) => !cell.classList.contains("bar"));
    lines.push(cells.map((cell) => quote(cell.title && /^[\d,]+$/.test(cell.title) ? cell.title : cell.textContent)).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** Quote a cell; one that a spreadsheet would take for a formula becomes text. */
function quote(text) {
  const plain = text.trim().replace(/^\$?([\d,]+(?:\.\d+)?)$/, (_, number) => number.replaceAll(",", ""));
  const safe = /^[=+\-@\t\r]/.test(plain) && Number.isNaN(Number(plain)) ? `'${plain}` : plain;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function savePlots(panel, plots, act) {
  plots.forEach((plot, number) => act(panel, plot, number));
}

/** Copy a plot with the axis beside it and the colours it has on the page. */
function copyPlot(plot) {
  const axis = plot.closest(".chart").querySelector("svg.axis");
  const box = plot.getBoundingClientRect();
  const side = axis ? axis.getBoundingClientRect().width : 0;
  const [width, height] = [Math.ceil(box.width + side), Math.ceil(box.height + 4)];
  const whole = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` })) {
    whole.setAttribute(name, value);
  }
  const ground = document.createElementNS(whole.namespaceURI, "rect");
  for (const [name, value] of Object.entries({ width, height, fill: getComputedStyle(plot.closest(".panel")).backgroundColor })) {
    ground.setAttribute(name, value);
  }
  whole.append(ground);
  if (axis) whole.append(copyStyled(axis, 0, side));
  whole.append(copyStyled(plot, side, box.width));
  return { markup: new XMLSerializer().serializeToString(whole), width, height };
}

function copyStyled(source, x, width) {
  const copy = source.cloneNode(true);
  const [from, to] = [source.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((element, number) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) to[number].setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("x", x);
  copy.setAttribute("width", width);
  copy.setAttribute("overflow", "visible");
  return copy;
}

function saveSvg(panel, plot, number) {
  save(panel, "svg", new Blob([copyPlot(plot).markup], { type: "image/svg+xml" }), number);
}

function savePng(panel, plot, number) {
  const { markup, width, height } = copyPlot(plot);
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * 2, height * 2];
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    canvas.toBlob((blob) => save(panel, "png", blob, number), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(markup)}`;
}
