// Loads again: when something changed, but not too often, and only while somebody looks.

/**
 * Calls `load` now (unless `atOnce` is false) and after each `touch()`, at most once per `leastMs`; with `everyMs` also as time goes by.
 * A hidden tab loads when it is looked at again. A load that fails is tried again; `failed` is told, but for what was broken off.
 */
export function refresher(load, { everyMs, leastMs = 1000, atOnce = true, failed = () => {} } = {}) {
  let timer;
  let due = Infinity;
  let isLoading = false;
  let isClosed = false;

  const plan = (inMs) => {
    due = Math.min(due, Date.now() + inMs);
    clearTimeout(timer);
    if (!isClosed && !isLoading && !document.hidden && due < Infinity) timer = setTimeout(run, Math.max(0, due - Date.now()));
  };
  const run = async () => {
    due = Infinity;
    isLoading = true;
    let isFine = true;
    try {
      await load();
    } catch (error) {
      isFine = false;
      if (error.name !== 'AbortError' && !isClosed) failed(error);
    }
    isLoading = false;
    if (due < Infinity) due = Math.max(due, Date.now() + leastMs);
    plan(everyMs ?? (isFine ? Infinity : AGAIN_MS));
  };
  const seen = () => plan(due === Infinity ? Infinity : 0);

  document.addEventListener('visibilitychange', seen);
  plan(atOnce ? 0 : everyMs ?? Infinity);
  return {
    touch: () => plan(leastMs),
    now: () => plan(0),
    close: () => { isClosed = true; clearTimeout(timer); document.removeEventListener('visibilitychange', seen); },
  };
}

const AGAIN_MS = 5000;
