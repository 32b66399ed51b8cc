// What a run's devices left behind: screenshots, above all.

import { h } from '../../dom.js';
import { perform } from '../../parts/dialog.js';
import { gallery } from '../../parts/gallery.js';
import { firstOf } from '../../parts/pages.js';
import { t } from '../../text.js';

const PAGE = 60;

/** The gallery of a run; it grows as the run goes on, and by the button. */
export function artifacts(path, signal) {
  const shown = gallery({ caption: t('runs.artifacts'), signal });
  const nothing = h('p', { class: 'quiet' }, t('runs.no_artifacts'));
  const more = h('button', { hidden: true, onClick: () => { wanted += PAGE; perform(load); } }, t('shell.more'));
  const known = new Set();
  let wanted = PAGE;
  // From the beginning each time: a row that ends late stands before files that are already shown.
  const load = async () => {
    const page = await firstOf(`${path}/artifacts`, {}, { name: 'artifacts', most: wanted, signal });
    const fresh = page.items.filter((artifact) => !known.has(artifact.path));
    for (const artifact of fresh) known.add(artifact.path);
    shown.add(fresh);
    more.hidden = !page.more;
    nothing.hidden = known.size > 0;
  };
  const element = h('section', { class: 'card' }, h('h2', {}, t('runs.artifacts')), nothing, shown.element, more);
  return { element, load, stop: shown.stop };
}
