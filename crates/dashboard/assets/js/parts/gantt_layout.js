// Where the bars of a chart over time stand. Pure: no page, no clock.

const STEPS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3, 14400e3, 21600e3, 43200e3, 86400e3];
const TICK_PX = 90;
const BAR_MIN_PX = 2;

/**
 * Places bars `[{row, from, to|null, …}]` (moments in ms; null goes on until `now`) in a width. Gives
 * `{rows: [name], bars: [{…bar, line, x, width}], ticks: [{x, after}], from, to}`; `line` counts lines from the top, and
 * bars of one row that overlap stand on lines of their own: `lines[row]` says how many it has, `first[row]` its first.
 */
export function layGantt(bars, { width, now, rows = rowsOf(bars) }) {
  const from = Math.min(...bars.map((bar) => bar.from));
  const to = Math.max(from + 1, ...bars.map((bar) => bar.to ?? now));
  const scale = width / (to - from);
  const { lines, first, lineOf } = stack(bars, rows, now);
  const placed = bars.map((bar, place) => {
    const x = (bar.from - from) * scale;
    return { ...bar, line: lineOf[place], x, width: Math.max(BAR_MIN_PX, ((bar.to ?? now) - bar.from) * scale) };
  });
  return { rows, lines, first, bars: placed, ticks: bars.length ? ticks(to - from, scale) : [], from, to };
}

/** The rows that bars name, in the order of their first mention. */
export const rowsOf = (bars) => [...new Set(bars.map((bar) => bar.row))];

function stack(bars, rows, now) {
  const byRow = new Map(rows.map((row) => [row, []]));
  bars.forEach((bar, place) => byRow.get(bar.row)?.push(place));
  const lineOf = new Array(bars.length);
  const lines = {};
  const first = {};
  let line = 0;
  for (const row of rows) {
    const ends = [];
    const places = byRow.get(row).sort((a, b) => bars[a].from - bars[b].from);
    for (const place of places) {
      const free = ends.findIndex((end) => end <= bars[place].from);
      const own = free < 0 ? ends.length : free;
      ends[own] = bars[place].to ?? now;
      lineOf[place] = line + own;
    }
    first[row] = line;
    lines[row] = Math.max(1, ends.length);
    line += lines[row];
  }
  return { lines, first, lineOf };
}

function ticks(length, scale) {
  const step = STEPS_MS.find((step) => step * scale >= TICK_PX) ?? STEPS_MS.at(-1) * Math.ceil(TICK_PX / (STEPS_MS.at(-1) * scale));
  const found = [];
  for (let after = 0; after <= length; after += step) found.push({ x: after * scale, after });
  return found;
}
