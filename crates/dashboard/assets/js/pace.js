// Keeps to a pace that eyes can follow.

/** A function that has `act` done soon, at most once per `ms`, however often it is called; until `signal` ends it. */
export function atMostEvery(ms, act, signal) {
  let timer = null;
  let last = -Infinity;
  const run = () => {
    timer = null;
    last = performance.now();
    act();
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return () => {
    if (timer === null && !signal.aborted) timer = setTimeout(run, Math.max(0, last + ms - performance.now()));
  };
}
