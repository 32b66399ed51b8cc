// A page in the browser, opened as somebody, watched for whatever should not happen.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { base, shots } from './environment.mjs';
import { eventually, tokenFor, tokenOf } from './server.mjs';
import { sections, word } from './words.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Keys of texts that do not exist, places of texts that were not filled, values that nobody meant to show. */
const ODD = new RegExp(`\\b(${sections.join('|')})\\.[a-z]\\w+|\\{\\w+\\}|\\b(undefined|NaN|Invalid Date)\\b|\\[object `);

const LIMIT_MS = 60_000;
const QUIET_MS = 100;

/** Screens the pages are made for. */
export const viewports = {
  desktop: { width: 1400, height: 900 },
  phone: { width: 375, height: 812 },
  wall: { width: 2560, height: 1440 },
};

/** Opens a page: see `test` for the options. */
export async function openScene(browser, { role = 'ADMIN', language = 'en', theme = 'light', viewport = 'desktop', path, refusals = [], user, mayBreak = false }) {
  const context = await browser.newContext({ viewport: viewports[viewport], locale: language, reducedMotion: 'reduce', acceptDownloads: true });
  context.setDefaultTimeout(LIMIT_MS);
  const page = await context.newPage();
  const faults = watch(page, { refusals, mayBreak });
  const shown = role === null ? null : user ? await tokenOf(user) : await tokenFor(role);
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
function watch(page, { refusals, mayBreak }) {
  const faults = [];
  const isMeant = (text) => (mayBreak && /^Failed to load resource: net::ERR_/.test(text))
    || refusals.some((status) => text.startsWith(`Failed to load resource: the server responded with a status of ${status}`));
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

/** Which requests are on their way, and when there was one last. */
function trafficOf(page) {
  const traffic = { open: new Set(), last: Date.now() };
  const begin = (request) => { if (!request.url().includes('/api/events')) traffic.open.add(request); };
  const end = (request) => { if (traffic.open.delete(request)) traffic.last = Date.now(); };
  page.on('request', begin).on('requestfinished', end).on('requestfailed', end);
  return traffic;
}

export class Scene {
  constructor(page, language, faults) {
    this.page = page;
    this.language = language;
    this.faults = faults;
    this.traffic = trafficOf(page);
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

  /** Shows the same page in another theme, as people do. */
  async paint(theme) {
    await this.field('shell.theme').selectOption(theme);
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
  async confirm(key, reason, values) {
    const open = await this.dialog.elementHandle();
    if (reason) await this.dialog.locator('textarea[name=reason]').fill(reason);
    await this.dialog.getByRole('button', { name: this.t(key, values), exact: true }).click();
    // Another one may open right after it, so it is this very one that must go.
    await this.page.waitForFunction((dialog) => !dialog.isConnected, open);
  }

  /** A message at the edge of the page. */
  async told(key, values) {
    await this.page.getByRole('status').getByText(this.t(key, values), { exact: true }).first().waitFor();
  }

  /** No element breaks a rule of WCAG 2 A or AA that a machine can check, and landmarks can be told apart. */
  async checkAccess() {
    if (!(await this.page.evaluate(() => 'axe' in globalThis))) await this.page.evaluate(AXE);
    const found = await this.page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], rules: { 'landmark-unique': { enabled: true } } }));
    const told = found.violations.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.slice(0, 5).map((node) => `    ${node.target} ${node.html.slice(0, 160)}`).join('\n')}`);
    assert.equal(told.length, 0, `accessibility of ${this.page.url()}:\n${told.join('\n')}`);
  }

  /** Everything that people see or hear of the page, but for code, which may look like anything. */
  said() {
    return this.page.evaluate(() => {
      const said = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) if (!node.parentElement.closest('code, pre, textarea, script')) said.push(node.data);
      for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')) {
        for (const name of ['aria-label', 'title', 'placeholder', 'alt']) said.push(element.getAttribute(name) ?? '');
      }
      return said.filter((text) => text.trim());
    });
  }

  /** No text is missing, and none has a gap. */
  async checkWords() {
    const odd = (await this.said()).filter((text) => ODD.test(text));
    assert.deepEqual(odd, [], `texts of ${this.page.url()} in ${this.language}`);
  }

  /** Waits until nothing is on its way but the feed. */
  async settled() {
    const isQuiet = () => this.traffic.open.size === 0 && Date.now() - this.traffic.last > QUIET_MS;
    await eventually('nothing is on its way', isQuiet);
  }

  /** Nothing sticks out to the side. */
  async checkWidth() {
    const [wanted, there] = await this.page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(wanted <= there, `${this.page.url()} is ${wanted} pixels wide on a screen of ${there}`);
  }

  /** What an empty input says can be read to its end. */
  async checkPlaceholders(selector) {
    const cut = await this.page.locator(selector).evaluateAll((inputs) => inputs.filter((input) => {
      const style = getComputedStyle(input);
      const context = document.createElement('canvas').getContext('2d');
      context.font = style.font;
      return context.measureText(input.placeholder).width > input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    }).map((input) => input.placeholder));
    assert.deepEqual(cut, [], `${this.page.url()} at ${this.page.viewportSize().width} pixels`);
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
