// Where everybody stands: places on the screen that follow from the state alone.

export const FEET = 30;
const CENTRE = 132;
const MAX_GAP = 68;
const PARTY_WIDTH = 262;
const COMPANION_GAP = 13;
const MAX_COMPANION_GAP = 34;
const SMALL_FEET = 15;

/** The upper left corner of a hero of 32 x 32 pixels; the first of the party leads. */
export function placeHero(state, index) {
  const count = state.party.length;
  const gap = Math.min(MAX_GAP, PARTY_WIDTH / Math.max(1, count));
  const x = CENTRE + ((count - 1) / 2 - index) * gap;
  const foot = count === 1 ? 181 : index % 2 ? 173 : 184;
  return { x: Math.round(x), y: foot - FEET };
}

/** The upper left corner of a companion of 16 x 16 pixels: behind its hero, in two rows. */
export function placeCompanion(state, index, number) {
  const hero = placeHero(state, index);
  const count = state.party[index].companions.length;
  const rows = count > 12 ? 3 : 2;
  const column = Math.floor(number / rows);
  const row = number % rows;
  const wide = state.party.length === 1 ? Math.min(MAX_COMPANION_GAP, Math.floor(hero.x / Math.ceil(count / rows))) : 0;
  const gap = state.party.length > 4 ? 10 : Math.max(COMPANION_GAP, wide);
  const foot = [194, 170, 183][row] + (state.party.length === 1 ? 0 : (index % 2) * -3);
  return { x: Math.round(hero.x + 2 - (column + 1) * gap - row * 4), y: foot - SMALL_FEET };
}

/** The middle of an actor, or null if it has gone. */
export function findPlace(state, session, actor) {
  const index = state.party.findIndex((hero) => hero.session === session);
  if (index < 0) return null;
  const hero = state.party[index];
  if (actor === "main") {
    const place = placeHero(state, index);
    return { x: place.x + 16, y: place.y + 16, size: 32 };
  }
  const number = hero.companions.findIndex((one) => one.agent === actor);
  if (number < 0) return null;
  const place = placeCompanion(state, index, number);
  return { x: place.x + 8, y: place.y + 8, size: 16 };
}

/** The hero at a point of the screen, or null. */
export function findHeroAt(state, x, y) {
  for (let index = state.party.length - 1; index >= 0; index -= 1) {
    const place = placeHero(state, index);
    if (x >= place.x && x < place.x + 32 && y >= place.y && y < place.y + 32) return state.party[index];
  }
  return null;
}
