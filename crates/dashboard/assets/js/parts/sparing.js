// Loads that cost much are made less often: after one that took long, the next waits a multiple of that.

const REST_FACTOR = 8;

/** A `load` that spares the server. `force` loads in any case; one that was put off is made later. Gives `{load, stop}`. */
export function sparing(load) {
  let next = 0;
  let timer;
  const run = async (given) => {
    clearTimeout(timer);
    const begin = Date.now();
    await load(given);
    next = Date.now() + (Date.now() - begin) * REST_FACTOR;
  };
  return {
    load: (given, force) => {
      if (force || Date.now() >= next) return run(given);
      clearTimeout(timer);
      timer = setTimeout(() => run(given).catch(() => {}), next - Date.now());
      return undefined;
    },
    stop: () => clearTimeout(timer),
  };
}
