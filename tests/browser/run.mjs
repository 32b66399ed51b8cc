// Runs specs against a server: `MUSTER_URL=… MUSTER_TOKEN=… node run.mjs [files of specs] [parts of names]`.

import { readdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { chromiumPath } from './environment.mjs';
import { openScene } from './scene.mjs';
import { forgetTokens } from './server.mjs';
import { leaveStage } from './stage.mjs';
import { tests } from './suite.mjs';
import { tidy } from './work.mjs';

const SPEC = '.spec.mjs';
const LIMIT_MS = 300_000;
const here = new URL('.', import.meta.url);

async function main(words) {
  const files = words.filter((word) => word.endsWith(SPEC));
  const wanted = words.filter((word) => !word.endsWith(SPEC));
  for (const file of files.length ? files : readdirSync(here).filter((name) => name.endsWith(SPEC)).sort()) await import(new URL(file, here));
  const chosen = tests.filter(({ name, options }) => options.when !== false && (wanted.length === 0 || wanted.some((part) => name.includes(part))));
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  let failed = 0;
  try {
    // Each once: what goes well the second time only has a race, in the page or in its test.
    for (const test of chosen) failed += (await runOne(browser, test)) ? 0 : 1;
  } finally {
    await browser.close();
    await forgetTokens();
    leaveStage();
  }
  console.log(`${chosen.length - failed} of ${chosen.length} passed`);
  return failed === 0 && chosen.length > 0 ? 0 : 1;
}

async function runOne(browser, { name, options, run }) {
  const began = Date.now();
  let scene;
  try {
    scene = await openScene(browser, options);
    await limited(run(scene));
    scene.checkFaults();
    console.log(`ok      ${name} (${Date.now() - began} ms)`);
    return true;
  } catch (error) {
    console.log(`FAILED  ${name}\n${indent(error.stack ?? String(error))}`);
    if (scene?.faults.length) console.log(indent(scene.faults.join('\n')));
    await scene?.shot(`failed ${name.replace(/[^\w ()-]/g, '_')}`).catch(() => {});
    await tidy().catch((trouble) => console.log(indent(`and tidying up: ${trouble.message}`)));
    return false;
  } finally {
    await scene?.close();
  }
}

function limited(work) {
  let timer;
  const end = new Promise((_, refuse) => { timer = setTimeout(() => refuse(new Error(`not done after ${LIMIT_MS} ms`)), LIMIT_MS); });
  return Promise.race([work, end]).finally(() => clearTimeout(timer));
}

const indent = (text) => text.replace(/^/gm, '        ');

process.exitCode = await main(process.argv.slice(2));
