// The signs of the wall: a colour and a shape for each state, so that neither is needed alone.

import { s } from '../../dom.js';

const ROUND = 0.2;

/** Paints the sign of a place into a square at x, y; `sign` as `signOf` gives it. */
export function paintSign(canvas, sign, { x, y, size, colours }) {
  const isFaded = sign.endsWith('-');
  canvas.clearRect(x, y, size, size);
  canvas.globalAlpha = isFaded ? 0.15 : 1;
  const gap = Math.max(1, size * 0.08);
  SHAPES[isFaded ? sign.slice(0, -1) : sign](canvas, { x: x + gap, y: y + gap, size: size - 2 * gap, colours });
  canvas.globalAlpha = 1;
}

const SHAPES = {
  empty(canvas, { x, y, size, colours }) {
    canvas.fillStyle = colours.empty;
    box(canvas, x, y, size);
    canvas.fill();
  },
  running(canvas, { x, y, size, colours }) {
    canvas.fillStyle = colours.busy;
    box(canvas, x, y, size);
    canvas.fill();
  },
  idle(canvas, { x, y, size, colours }) {
    tint(canvas, { x, y, size }, colours.good);
    canvas.beginPath();
    canvas.arc(x + size / 2, y + size / 2, size * 0.21, 0, 2 * Math.PI);
    canvas.fill();
  },
  error(canvas, { x, y, size, colours }) {
    tint(canvas, { x, y, size }, colours.bad);
    const inner = size * 0.26;
    canvas.strokeStyle = colours.bad;
    canvas.lineWidth = Math.max(1.5, size * 0.15);
    canvas.beginPath();
    canvas.moveTo(x + inner, y + inner);
    canvas.lineTo(x + size - inner, y + size - inner);
    canvas.moveTo(x + size - inner, y + inner);
    canvas.lineTo(x + inner, y + size - inner);
    canvas.stroke();
  },
  offline(canvas, { x, y, size, colours }) {
    canvas.strokeStyle = colours.quiet;
    canvas.lineWidth = Math.max(1, size * 0.09);
    box(canvas, x + canvas.lineWidth / 2, y + canvas.lineWidth / 2, size - canvas.lineWidth);
    canvas.stroke();
  },
};

function box(canvas, x, y, size) {
  canvas.beginPath();
  canvas.roundRect(x, y, size, size, size * ROUND);
}

/** A field in a thin shade of a colour, which is then the one to draw with. */
function tint(canvas, { x, y, size }, colour) {
  const alpha = canvas.globalAlpha;
  canvas.fillStyle = colour;
  canvas.globalAlpha = alpha * 0.2;
  box(canvas, x, y, size);
  canvas.fill();
  canvas.globalAlpha = alpha;
}

/** The same sign as a small picture for legends and counts. */
export const signPicture = (state) => s('svg', { class: `sign sign-${state}`, viewBox: '0 0 12 12', width: 12, height: 12, 'aria-hidden': 'true' }, PICTURES[state]());

const PICTURES = {
  running: () => s('rect', { x: 1, y: 1, width: 10, height: 10, rx: 2, class: 'full' }),
  idle: () => [s('rect', { x: 1, y: 1, width: 10, height: 10, rx: 2, class: 'thin' }), s('circle', { cx: 6, cy: 6, r: 2.2, class: 'full' })],
  error: () => [s('rect', { x: 1, y: 1, width: 10, height: 10, rx: 2, class: 'thin' }), s('path', { d: 'M3.6 3.6 8.4 8.4M8.4 3.6 3.6 8.4', class: 'stroke' })],
  offline: () => s('rect', { x: 1.5, y: 1.5, width: 9, height: 9, rx: 2, class: 'stroke' }),
};
