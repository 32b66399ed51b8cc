// A page in the browser, opened as somebody, watched for whatever should not happen.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { base, shots } from './environment.mjs';
import { tokenFor } from './server.mjs';
import { word } from './words.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const LIMIT_MS = 15_000;

/** Screens the pages are made for. */
export const viewports = {
  desktop: { width: 1400, height: 900 },
  phone: { width: 375, height: 812 },
  wall: { width: 2560, height: 1440 },
};

/** Opens a page: see `test` for the options. */
export async function openScene(browser, { role = 'ADMIN', language = 'en', theme = 'light', viewport = 'desktop', path, refusals = [], token }) {
  const context = await browser.newContext({ viewport: viewports[viewport], locale: language, reducedMotion: 'reduce', acceptDownloads: true });
  context.setDefaultTimeout(LIMIT_MS);
  const page = await context.newPage();
  const faults = watch(page, refusals);
  const shown = role === null ? null : token ?? (await tokenFor(role));
  await page.addInitScript(prepare, { token: shown, language, theme });
  const scene = new Scene(page, language, faults);
  if (path !== undefined) await scene.open(path);
  return scene;
}

/** Runs in the page before its own modules. A second visit finds things as the first left them. */
function prepare({ token, language, theme }) {
  addEventListener('securitypolicyviolation', (event) => console.error(`policy violated: ${event.violatedDirective} by ${event.blockedURI}`));
  if (sessionStorage.getItem('test.prepared')) return;
  sessionStorage.setItem('test.prepared', 'yes');
  if (token) sessionStorage.setItem('muster.token', token);
  localStorage.setItem('muster.language', language);
  localStorage.setItem('muster.theme', theme);
}

/** Gathers errors, warnings, exceptions, and requests to anybody but the server. */
function watch(page, refusals) {
  const faults = [];
  const isMeant = (text) => refusals.some((status) => text.startsWith(`Failed to load resource: the server responded with a status of ${status}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !isMeant(message.text())) faults.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.stack}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith('blob:') && new URL(url).origin !== new URL(base).origin) faults.push(`request to another server: ${url}`);
  });
  return faults;
}

export class Scene {
  constructor(page, language, faults) {
    this.page = page;
    this.language = language;
    this.faults = faults;
  }

  /** The text of a key in the scene's language. */
  t(key, values) {
    return word(this.language, key, values);
  }

  /** Goes to a page by its address after the `/` and waits for its heading. */
  async open(path) {
    const before = await this.page.locator('main h1').first().elementHandle({ timeout: 1 }).catch(() => null);
    await this.page.goto(`${base}/${path}`);
    // A change of the hash alone is no navigation: the heading of the page before must be gone.
    if (before) await this.page.waitForFunction((heading) => !heading.isConnected, before);
    await this.page.locator('main h1').first().waitFor();
  }

  /** Shows the same page in another language and theme. */
  async dress(language, theme) {
    this.language = language;
    await this.page.evaluate(([code, colours]) => {
      localStorage.setItem('muster.language', code);
      localStorage.setItem('muster.theme', colours);
    }, [language, theme]);
    await this.page.reload();
    await this.page.locator('main h1').first().waitFor();
  }

  button(key, values) {
    return this.page.getByRole('button', { name: this.t(key, values), exact: true });
  }

  /** An input by its name. Passwords have no role, and labels of choices have the options in their text: hence several ways. */
  field(key, values) {
    const name = this.t(key, values);
    const byRole = ['textbox', 'searchbox', 'combobox', 'checkbox', 'spinbutton'].map((role) => this.page.getByRole(role, { name, exact: true }));
    return byRole.reduce((found, other) => found.or(other), this.page.locator('input, select, textarea').and(this.page.getByLabel(name, { exact: true })));
  }

  heading(key, values) {
    return this.page.getByRole('heading', { name: this.t(key, values), exact: true });
  }

  /** The row of a table that has this text in it. */
  row(text) {
    return this.page.getByRole('row').filter({ hasText: text });
  }

  /** The dialog that is open. */
  get dialog() {
    return this.page.getByRole('dialog');
  }

  /** Gives a reason in the open dialog, confirms, and waits until it is done. */
  async confirm(key, reason) {
    const open = await this.dialog.elementHandle();
    if (reason) await this.dialog.locator('textarea[name=reason]').fill(reason);
    await this.dialog.getByRole('button', { name: this.t(key), exact: true }).click();
    // Another one may open right after it, so it is this very one that must go.
    await this.page.waitForFunction((dialog) => !dialog.isConnected, open);
  }

  /** A message at the edge of the page. */
  async told(key, values) {
    await this.page.getByRole('status').getByText(this.t(key, values), { exact: true }).first().waitFor();
  }

  /** No element breaks a rule of WCAG 2 A or AA that a machine can check. */
  async checkAccess() {
    await this.page.evaluate(AXE);
    const found = await this.page.evaluate(() => globalThis.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }));
    const told = found.violations.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.slice(0, 5).map((node) => `    ${node.target} ${node.html.slice(0, 160)}`).join('\n')}`);
    assert.equal(told.length, 0, `accessibility of ${this.page.url()}:\n${told.join('\n')}`);
  }

  /** Nothing sticks out to the side. */
  async checkWidth() {
    const [wanted, there] = await this.page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(wanted <= there, `${this.page.url()} is ${wanted} pixels wide on a screen of ${there}`);
  }

  /** Keeps a picture. */
  async shot(name) {
    if (!shots) return;
    mkdirSync(shots, { recursive: true });
    await this.page.screenshot({ path: join(shots, `${name}.png`) });
  }

  /** Nothing happened that should not. */
  checkFaults() {
    assert.equal(this.faults.length, 0, `the page is not clean:\n${this.faults.join('\n')}`);
  }

  close() {
    return this.page.context().close();
  }
}
