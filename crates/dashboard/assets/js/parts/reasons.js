// Failures by reason. Pure: no page, no network.

/** Failures over several runs, `[{failures: [{error, count}]}]`, as `[[error, count]]`, the most frequent first. */
export function sumUp(byRun) {
  const counts = new Map();
  for (const { failures } of byRun) for (const { error, count } of failures) counts.set(error, (counts.get(error) ?? 0) + count);
  return [...counts].sort(([, one], [, other]) => other - one);
}

/** Things in groups by `reasonOf`: `[[reason, things]]`, the largest group first. */
export function groupBy(things, reasonOf) {
  const groups = new Map();
  for (const thing of things) {
    const known = groups.get(reasonOf(thing));
    if (known) known.push(thing);
    else groups.set(reasonOf(thing), [thing]);
  }
  return [...groups].sort(([, one], [, other]) => other.length - one.length);
}
