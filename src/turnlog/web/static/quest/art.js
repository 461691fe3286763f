// Loads the sheets, and prepares what is drawn again and again: recoloured heroes, letters, words.

export const WIDTH = 320;
export const HEIGHT = 200;
const MAX_WORDS = 400;
const RETRY_MS = 3000;
const FALLBACK_FONT = "9px system-ui, sans-serif";

/** What the first frame needs; other sheets are loaded once something asks for them. */
const FIRST_SHEETS = ["hero.png", "companion.png", "font.png"];

/** Load the layout and the sheets that every scene needs. */
export async function loadArt(base) {
  const [answer, ...loaded] = await Promise.all([fetch(`${base}/sheets.json`), ...FIRST_SHEETS.map((name) => loadImage(`${base}/${name}`))]);
  return new Art(base, await answer.json(), new Map(FIRST_SHEETS.map((name, place) => [name, loaded[place]])));
}

async function loadImage(address) {
  const image = new Image();
  image.src = address;
  await image.decode();
  return image;
}

export function createCanvas(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, width);
  canvas.height = Math.max(1, height);
  return canvas;
}

/** A number from 0 to 2^32 - 1 that depends on a text alone. */
export function hash(text) {
  let value = 2166136261;
  for (const letter of text) value = Math.imul(value ^ letter.codePointAt(0), 16777619);
  return (value ^ (value >>> 15)) >>> 0;
}

export class Art {
  constructor(base, layout, images) {
    this.base = base;
    this.layout = layout;
    this.images = images;
    /** Called when a sheet has arrived that a picture lacked. */
    this.onLoad = () => {};
    this.memory = new Map();
    this.words = new Map();
    this.inks = new Map();
    this.heroes = layout.variants.hero.map(() => null);
    this.companions = layout.variants.companion.map(() => null);
    this.clothes = new Map();
    this.glyphs = new Map();
    const { first, signs, places } = layout.font;
    const letters = Array.from({ length: 127 - first }, (_, number) => String.fromCharCode(first + number));
    [...letters, ...signs].forEach((letter, number) => this.glyphs.set(letter, [places[number], places[number + 1]]));
  }

  /** A sheet by the name of its file, or null while it is still being loaded. */
  sheet(name) {
    if (!this.images.has(name)) {
      this.images.set(name, null);
      loadImage(`${this.base}/${name}`).then(
        (image) => {
          this.images.set(name, image);
          this.onLoad();
        },
        () =>
          setTimeout(() => {
            this.images.delete(name);
            this.onLoad();
          }, RETRY_MS),
      );
    }
    return this.images.get(name);
  }

  /** The layers of a biome, or null while they are still being loaded. */
  scene(number) {
    return this.sheet(this.layout.biomes[number].file);
  }

  /** Load everything there is, and wait for it: for pictures, and for people who draw. */
  async loadAll() {
    await this.loadFiles([...Object.values(this.layout.sheets), ...this.layout.biomes].map((one) => one.file));
  }

  /** Load what can be worn, and chests, and wait for it: a portrait is drawn only once. */
  async loadItems() {
    await this.loadFiles(["hat", "face", "aura", "trail", "chest"].map((name) => this.layout.sheets[name].file));
  }

  async loadFiles(names) {
    const missing = names.filter((name) => !this.images.get(name));
    await Promise.all(missing.map(async (name) => this.images.set(name, await loadImage(`${this.base}/${name}`))));
  }

  /** Something that is costly to prepare and worth keeping. */
  keep(key, prepare) {
    if (!this.memory.has(key)) {
      if (this.memory.size > 60) this.memory.delete(this.memory.keys().next().value);
      this.memory.set(key, prepare());
    }
    return this.memory.get(key);
  }

  /** The sheet of a hero; every session of a party has clothes of its own, as long as there are enough. */
  heroSheet(session) {
    if (!this.clothes.has(session)) this.clothes.set(session, this.clothes.size % this.heroes.length);
    const number = this.clothes.get(session);
    return (this.heroes[number] ??= recolour(this.images.get("hero.png"), this.layout.variants.hero[number]));
  }

  /** The sheet of a companion, by its type. */
  companionSheet(type) {
    const number = hash(type) % this.companions.length;
    return (this.companions[number] ??= recolour(this.images.get("companion.png"), this.layout.variants.companion[number]));
  }

  /** Draw a frame of a sheet's row. */
  drawFrame(context, sheet, row, frame, x, y, image = null) {
    const { file, width, height, rows } = this.layout.sheets[sheet];
    const place = rows[row];
    const source = image ?? this.sheet(file);
    if (!source) return;
    context.drawImage(source, (frame % place.frames) * width, place.row * height, width, height, Math.round(x), Math.round(y), width, height);
  }

  /** Draw a cell of a sheet without rows: a hat or a face. */
  drawCell(context, sheet, column, x, y) {
    const { file, width, height } = this.layout.sheets[sheet];
    const source = this.sheet(file);
    if (!source) return;
    context.drawImage(source, column * width, 0, width, height, Math.round(x), Math.round(y), width, height);
  }

  // -- letters

  measure(text) {
    let width = 0;
    for (const letter of text) {
      const place = this.glyphs.get(letter);
      width += (place ? place[1] - place[0] : 8) + 1;
    }
    return Math.max(0, width - 1);
  }

  /** Shorten a text to a width in pixels. */
  fit(text, width) {
    if (this.measure(text) <= width) return text;
    let short = "";
    for (const letter of text) {
      if (this.measure(`${short}${letter}..`) > width) break;
      short += letter;
    }
    return `${short.trimEnd()}..`;
  }

  /** Break a text into at most some lines of a width. */
  wrap(text, width, count) {
    return this.keep(`wrap ${width} ${count} ${text}`, () => this.breakLines(text, width, count));
  }

  breakLines(text, width, count) {
    const lines = [];
    let line = "";
    const words = text.slice(0, 2000).split(/\s+/u).filter(Boolean);
    for (const [place, word] of words.entries()) {
      const longer = line ? `${line} ${word}` : word;
      if (this.measure(longer) <= width || !line) {
        line = longer;
        continue;
      }
      if (lines.length === count - 1) {
        lines.push(this.fit(`${line} ${words.slice(place, place + 20).join(" ")}`, width));
        return lines;
      }
      lines.push(this.fit(line, width));
      line = word;
    }
    if (line) lines.push(this.fit(line, width));
    return lines;
  }

  /** Draw a line of text; with an edge, it can be read on anything. */
  write(context, text, x, y, colour, { edge = "", scale = 1, align = "left" } = {}) {
    const image = this.word(text, colour, edge);
    const width = image.width * scale;
    const left = align === "center" ? x - width / 2 : align === "right" ? x - width : x;
    context.drawImage(image, Math.round(left) - (edge ? scale : 0), Math.round(y) - (edge ? scale : 0), width, image.height * scale);
  }

  word(text, colour, edge) {
    const key = `${colour}${edge} ${text}`;
    let image = this.words.get(key);
    if (!image) {
      image = this.spell(text, colour, edge);
      this.words.set(key, image);
      if (this.words.size > MAX_WORDS) this.words.delete(this.words.keys().next().value);
    }
    return image;
  }

  spell(text, colour, edge) {
    const width = this.measure(text);
    const { height } = this.layout.font;
    if (!edge) {
      const canvas = createCanvas(width, height);
      this.stamp(canvas.getContext("2d"), text, 0, 0, colour);
      return canvas;
    }
    const shadow = this.spell(text, edge, "");
    const canvas = createCanvas(width + 2, height + 2);
    const context = canvas.getContext("2d");
    for (let place = 0; place < 9; place += 1) if (place !== 4) context.drawImage(shadow, place % 3, Math.floor(place / 3));
    this.stamp(context, text, 1, 1, colour);
    return canvas;
  }

  stamp(context, text, x, y, colour) {
    const ink = this.ink(colour);
    const { height } = this.layout.font;
    let left = x;
    for (const letter of text) {
      const place = this.glyphs.get(letter);
      if (place) {
        const width = place[1] - place[0];
        context.drawImage(ink, place[0], 0, width, height, left, y, width, height);
        left += width + 1;
      } else {
        context.font = FALLBACK_FONT;
        context.textBaseline = "top";
        context.fillStyle = colour;
        context.fillText(letter, left, y - 1, 8);
        left += 9;
      }
    }
  }

  /** All letters in a colour. */
  ink(colour) {
    if (!this.inks.has(colour)) {
      const source = this.images.get(this.layout.font.file);
      const canvas = createCanvas(source.width, source.height);
      const context = canvas.getContext("2d");
      context.drawImage(source, 0, 0);
      context.globalCompositeOperation = "source-in";
      context.fillStyle = colour;
      context.fillRect(0, 0, canvas.width, canvas.height);
      this.inks.set(colour, canvas);
    }
    return this.inks.get(colour);
  }
}

/** Replace some colours of a sheet. */
function recolour(image, swaps) {
  if (swaps.length === 0) return image;
  const canvas = createCanvas(image.width, image.height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
  const table = new Map(swaps.map(([from, to]) => [parseInt(from, 16), parseInt(to, 16)]));
  const { data } = pixels;
  for (let place = 0; place < data.length; place += 4) {
    if (data[place + 3] === 0) continue;
    const other = table.get((data[place] << 16) | (data[place + 1] << 8) | data[place + 2]);
    if (other === undefined) continue;
    data[place] = other >> 16;
    data[place + 1] = (other >> 8) & 255;
    data[place + 2] = other & 255;
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}
