// Reads server-sent events from text that comes in pieces. Pure: no network, no clock.

/** A reader; each call takes a piece and gives the events that it completed: `{id, event, data}`. */
export function eventReader() {
  let rest = '';
  let current = blank();
  return (piece) => {
    const found = [];
    const lines = (rest + piece).split('\n');
    rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line !== '') {
        take(current, line);
        continue;
      }
      if (current.data !== null) found.push(current);
      current = blank();
    }
    return found;
  };
}

const blank = () => ({ id: null, event: 'message', data: null });

function take(current, line) {
  const colon = line.indexOf(':');
  if (colon === 0) return;
  const name = colon < 0 ? line : line.slice(0, colon);
  const from = line[colon + 1] === ' ' ? colon + 2 : colon + 1;
  const value = colon < 0 ? '' : line.slice(from);
  if (name === 'data') current.data = current.data === null ? value : `${current.data}\n${value}`;
  else if (name === 'id') current.id = value;
  else if (name === 'event') current.event = value;
}
