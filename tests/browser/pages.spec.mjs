// Every page, in every language, both themes and on every screen: clean, accessible, and photographed.

import { hasCourt } from './environment.mjs';
import { viewports } from './scene.mjs';
import { test } from './suite.mjs';
import { languages } from './words.mjs';

const PAGES = ['overview', 'fleet', 'runs', 'sessions', 'jobs', 'why', 'court', 'schedules', 'audit', 'users', 'settings'];

for (const page of PAGES) {
  const refusals = page === 'court' && !hasCourt ? [404] : [];
  for (const viewport of Object.keys(viewports)) test(`pages: ${page} on a ${viewport}`, { viewport, refusals, path: `#/${page}` }, visit(page, viewport));
}

function visit(page, viewport) {
  return async (scene) => {
    for (const theme of ['light', 'dark']) {
      for (const language of viewport === 'wall' ? ['en'] : languages) {
        await scene.dress(language, theme);
        await look(scene, page);
        // How large something is matters, what it says does not: one language will do where the screen alone differs.
        if (viewport === 'desktop' || language === 'en') await scene.checkAccess();
        await scene.shot(`${page} ${viewport} ${theme} ${language}`);
      }
    }
  };
}

async function look(scene, page) {
  await scene.heading(`nav.${page}`).first().waitFor();
  const current = scene.page.getByRole('navigation').locator('[aria-current=page]');
  await current.getByText(scene.t(`nav.${page}`), { exact: true }).waitFor();
  // Charts and live lists have drawn something by then; nothing is asserted about it.
  await scene.page.waitForTimeout(300);
  await scene.checkWidth();
}
