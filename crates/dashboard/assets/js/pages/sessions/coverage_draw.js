// One cell of the coverage map: shape and colour say the same.

const COLOUR = { completed: 'good', running: 'busy', assigned: 'busy', pending: 'quiet', lost: 'warn', failed: 'bad', cancelled: 'quiet' };

/** Draws a cell with its upper left corner at x, y. */
export function drawCell(pen, { cell, x, y, size, colours, isHere }) {
  const inner = size - 2;
  const colour = colours[COLOUR[cell.standing] ?? 'bad'];
  pen.fillStyle = colours.empty;
  pen.fillRect(x + 1, y + 1, inner, inner);
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  SHAPES[cell.standing]?.(pen, x + 1, y + 1, inner);
  // A failed frame was tried before, always: the cross says enough.
  if (cell.standing === 'failed') cross(pen, { x: x + 1, y: y + 1, size: inner, colour: colours.card });
  else if (cell.replayed) hatch(pen, { x: x + 1, y: y + 1, size: inner, colour: colours.card });
  if (cell.dropped) spot(pen, { x, y, size, colours });
  if (isHere) {
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2;
    pen.strokeRect(x + 1, y + 1, inner, inner);
  }
}

const SHAPES = {
  completed: (pen, x, y, size) => pen.fillRect(x, y, size, size),
  running: (pen, x, y, size) => pen.fillRect(x, y + size / 3, size, (2 * size) / 3),
  assigned: (pen, x, y, size) => { pen.fillRect(x, y + size * 0.7, size, size * 0.3); },
  lost: (pen, x, y, size) => { pen.fillRect(x, y, size, size); pen.clearRect(x + size * 0.4, y + size * 0.15, size * 0.2, size * 0.7); },
  failed: (pen, x, y, size) => pen.fillRect(x, y, size, size),
  cancelled: (pen, x, y, size) => { pen.fillRect(x + size * 0.15, y + size * 0.4, size * 0.7, size * 0.2); },
};

function cross(pen, { x, y, size, colour }) {
  const inner = size * 0.25;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x + inner, y + inner);
  pen.lineTo(x + size - inner, y + size - inner);
  pen.moveTo(x + size - inner, y + inner);
  pen.lineTo(x + inner, y + size - inner);
  pen.stroke();
}

function hatch(pen, { x, y, size, colour }) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, size, size);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  for (let from = -size; from < size; from += 4) {
    pen.beginPath();
    pen.moveTo(x + from, y + size);
    pen.lineTo(x + from + size, y);
    pen.stroke();
  }
  pen.restore();
}

function spot(pen, { x, y, size, colours }) {
  pen.beginPath();
  pen.arc(x + size / 2, y + size / 2, size / 4, 0, 2 * Math.PI);
  pen.fillStyle = colours.warn;
  pen.fill();
  pen.strokeStyle = colours.card;
  pen.lineWidth = 1;
  pen.stroke();
}
