// What the overview counts: a snapshot, and what the feed told since. Pure: no network, no clock.

const BUCKETS = 60;
const SERIES = ['tasks_ok', 'tasks_failed', 'frames', 'jobs_ok', 'jobs_failed'];
const MINUTE_MS = 60000;

/** Whether an entry says anything that is counted. */
export const isCounted = ({ kind }) => kind === 'attempt_ended' || kind === 'range_completed' || kind === 'pool_jobs_ended';

/** Counts of the last ten minutes. `takeSnapshot` begins anew, `apply` adds an entry that came after it. */
export class Figures {
  constructor() {
    this.seq = -1;
    this.from = 0;
    this.bucketMs = 10000;
    this.series = Object.fromEntries(SERIES.map((name) => [name, new Array(BUCKETS).fill(0)]));
  }

  /** Takes an answer of `GET /api/overview`; `since` are the newest entries, of which some came after it was written. */
  takeSnapshot({ seq, throughput }, since = []) {
    // What was counted may be further than what was read before it.
    this.seq = throughput.seq ?? seq ?? -1;
    this.from = throughput.from;
    this.bucketMs = throughput.bucket_ms;
    for (const name of SERIES) this.series[name] = throughput[name].slice(-BUCKETS);
    for (const entry of since) this.apply(entry);
  }

  /** Counts an entry once; entries that the snapshot has or that were counted are left out. */
  apply({ seq, kind, body }) {
    if (seq <= this.seq) return;
    this.seq = seq;
    if (kind === 'attempt_ended') this.#add(seriesOf(body.outcome), 1, body.at);
    else if (kind === 'range_completed') this.#add('frames', framesOf(body), body.at);
    else if (kind === 'pool_jobs_ended') {
      this.#add('jobs_ok', body.completed?.length ?? 0, body.at);
      this.#add('jobs_failed', body.failed?.length ?? 0, body.at);
    }
  }

  #add(name, count, at) {
    if (!count || !name) return;
    this.advance(at);
    const bucket = Math.floor((at - this.from) / this.bucketMs);
    if (bucket >= 0 && bucket < BUCKETS) this.series[name][bucket] += count;
  }

  /** Lets time pass: the newest bucket is the one that holds `now`. */
  advance(now) {
    const behind = Math.floor((now - this.from) / this.bucketMs) - (BUCKETS - 1);
    if (behind <= 0) return;
    for (const name of SERIES) {
      const kept = this.series[name].slice(Math.min(behind, BUCKETS));
      this.series[name] = kept.concat(new Array(BUCKETS - kept.length).fill(0));
    }
    this.from += behind * this.bucketMs;
  }

  /** How many there were in the minute before `now`; of the bucket in which that minute begins, the part that lies in it. */
  perMinute(names, now) {
    this.advance(now);
    const full = MINUTE_MS / this.bucketMs;
    const into = Math.min(1, Math.max(0, (now - this.from) / this.bucketMs - (BUCKETS - 1)));
    return names.reduce((sum, name) => {
      const counts = this.series[name];
      const recent = counts.slice(BUCKETS - full).reduce((all, count) => all + count, 0);
      return sum + recent + counts[BUCKETS - 1 - full] * (1 - into);
    }, 0);
  }

  /** How many there were in all ten minutes. */
  total(name) {
    return this.series[name].reduce((sum, count) => sum + count, 0);
  }
}

/** What was stopped on request neither went well nor failed. */
function seriesOf(outcome) {
  if (outcome === 'cancelled') return null;
  return outcome === 'succeeded' ? 'tasks_ok' : 'tasks_failed';
}

const framesOf = ({ frameRange }) => (Array.isArray(frameRange) ? Math.max(0, frameRange[1] - frameRange[0]) : 0);

/** The next round number from which an axis can go down to nothing. */
export function roundUp(value) {
  if (value <= 5) return 5;
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((times) => times * step).find((round) => round >= value);
}
