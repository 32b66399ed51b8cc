// What happened before the page was opened: a short piece of the feed, read once.

import { stream } from '../../api.js';
import { eventReader } from '../../sse.js';

const PATIENCE_MS = 5000;

/** The entries up to number `seq`, at most the last `count`, oldest first; none where they are no longer kept. */
export async function entriesUpTo(seq, count, signal) {
  if (!seq) return [];
  const reading = new AbortController();
  const end = () => reading.abort();
  const timer = setTimeout(end, PATIENCE_MS);
  signal.addEventListener('abort', end, { once: true });
  const found = [];
  try {
    const response = await stream(`/api/events?after=${Math.max(0, seq - count)}`, {}, reading.signal);
    await collect(response.body, seq, found);
  } catch {
    // It is an addition: the page does without, or with as much as came.
  }
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
  end();
  return found;
}

async function collect(body, seq, found) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const events = eventReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    for (const { id, event, data } of events(value)) {
      if (id === null || Number(id) > seq) return;
      found.push({ seq: Number(id), kind: event, body: JSON.parse(data) });
      if (Number(id) === seq) return;
    }
  }
}
