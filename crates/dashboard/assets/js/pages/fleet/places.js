// Where devices stand on the wall, and which are looked for. Pure: no elements, no network.

/** Places of one grid: ten by ten, drawn whether they are taken or not. */
export const COLUMNS = 10;
export const PLACES = 100;

/** How many grids so many devices take; a node without devices has one, too. */
export const gridsFor = (count) => Math.max(1, Math.ceil(count / PLACES));

/** The place under a point of a grid whose places are `cell` wide; null beside it. */
export function placeAt(x, y, cell) {
  const column = Math.floor(x / cell);
  const row = Math.floor(y / cell);
  return column >= 0 && column < COLUMNS && row >= 0 && row < PLACES / COLUMNS ? row * COLUMNS + column : null;
}

/** The place that a key leads to; the same one at an edge, null for keys that lead nowhere. */
export function placeAfter(place, key) {
  const column = place % COLUMNS;
  const row = Math.floor(place / COLUMNS);
  const last = PLACES / COLUMNS - 1;
  const steps = {
    ArrowLeft: () => place - Math.min(1, column),
    ArrowRight: () => place + Math.min(1, COLUMNS - 1 - column),
    ArrowUp: () => place - (row > 0 ? COLUMNS : 0),
    ArrowDown: () => place + (row < last ? COLUMNS : 0),
    Home: () => row * COLUMNS,
    End: () => row * COLUMNS + COLUMNS - 1,
  };
  return steps[key]?.() ?? null;
}

/** Whether a device is looked for; empty wishes let all pass. */
export const isWanted = ({ id, state, node }, wish) =>
  (!wish.text || id.toLowerCase().includes(wish.text.toLowerCase())) && (!wish.state || state === wish.state) && (!wish.node || node.id === wish.node);

/** Whether anything is looked for at all. */
export const isWish = ({ text, state, node }) => Boolean(text || state || node);

/** What a place shows: the state of its device, `-` behind it for one that is not looked for, or `empty`. */
export const signOf = (device, wish) => (device ? device.state + (isWanted(device, wish) ? '' : '-') : 'empty');

/** Devices by state. */
export function countStates(devices) {
  const counts = { idle: 0, running: 0, offline: 0, error: 0 };
  for (const { state } of devices) counts[state]++;
  return counts;
}
