// Runs all specs against a server: `MUSTER_URL=… MUSTER_TOKEN=… node run.mjs [parts of names]`.

import { readdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { chromiumPath } from './environment.mjs';
import { openScene } from './scene.mjs';
import { forgetTokens } from './server.mjs';
import { tests } from './suite.mjs';

const LIMIT_MS = 120_000;
const here = new URL('.', import.meta.url);

async function main(wanted) {
  for (const file of readdirSync(here).filter((name) => name.endsWith('.spec.mjs')).sort()) await import(new URL(file, here));
  const chosen = tests.filter(({ name, options }) => options.when !== false && (wanted.length === 0 || wanted.some((part) => name.includes(part))));
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  let failed = 0;
  try {
    for (const test of chosen) failed += (await runOne(browser, test)) ? 0 : 1;
  } finally {
    await browser.close();
    await forgetTokens();
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
