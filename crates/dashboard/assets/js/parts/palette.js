// The colours of the style sheet for canvases, which cannot read them by themselves.

const NAMES = ['paper', 'card', 'raised', 'line', 'ink', 'quiet', 'accent', 'good', 'busy', 'warn', 'bad', 'empty'];

/** The colours in force: name → colour. A probe resolves what custom properties leave unresolved. */
export function palette() {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const found = {};
  for (const name of NAMES) {
    probe.style.setProperty('color', `var(--${name})`);
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}

/** Calls back when other colours or another density of pixels are in force; gives back what ends that. */
export function onLook(changed) {
  const ending = new AbortController();
  const observer = new MutationObserver(() => changed());
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => changed(), { signal: ending.signal });
  const watchDensity = () => matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener('change', () => { changed(); watchDensity(); }, { once: true, signal: ending.signal });
  watchDensity();
  return () => { observer.disconnect(); ending.abort(); };
}
