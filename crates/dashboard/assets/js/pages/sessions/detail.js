// One session: which frames stand where, who makes them, what had to be made anew.

import { get, may } from '../../api.js';
import { fill, h, say } from '../../dom.js';
import { failedFrames } from '../../missing.js';
import { actButton } from '../../parts/act_button.js';
import { following } from '../../parts/following.js';
import { sessionBadge } from '../../parts/result.js';
import { growing, lasting } from '../../parts/since.js';
import { tally } from '../../parts/tally.js';
import { why } from '../../parts/why_link.js';
import { to } from '../../router.js';
import { moment, number, percent, span, statusWord, t } from '../../text.js';
import { reasonLine } from '../why/reason.js';
import { coverageMap } from './coverage.js';
import { countFrames } from './coverage_layout.js';
import { failedText } from './frames_text.js';
import { diagnostics, quarantine, replaysAndDrops } from './lists.js';
import { STEPS, steer } from './steer.js';
import { tasks } from './tasks.js';

const PARTS = [['completed', 'good'], ['running', 'busy'], ['assigned', 'held'], ['lost', 'warn'], ['failed', 'bad'], ['cancelled', 'none'], ['pending', 'empty']];

/** Opens the page of a session. */
export async function openSession({ root, title, signal, failed }, id) {
  const path = `/api/v1/sessions/${encodeURIComponent(id)}`;
  let session = await get(path, {}, signal);
  const top = header(() => session);
  const counts = figures();
  const map = coverageMap();
  const waits = reasonLine('session', id, signal);
  const parts = [tasks(path, { signal, changed: () => feed.now() }), replaysAndDrops(), quarantine(id, signal, () => feed.now()), diagnostics(path, signal)];
  fill(root, h('p', { class: 'crumbs' }, h('a', { href: to('sessions') }, t('nav.sessions'))),
    h('div', { class: 'heading' }, title(session.sessionId), top.element), waits.element, counts.element, map.element, parts.map((part) => part.element));
  const load = async () => {
    session = await get(path, {}, signal);
    const shown = { ...session, total: session.totalFrames };
    top.set();
    counts.set(shown);
    map.set(shown);
    const isIdle = session.endedAt === null && !session.merging && session.rate === 0;
    waits.element.hidden ||= !isIdle;
    await Promise.all([isIdle && waits.load(), ...parts.map((part) => part.load(session))]);
  };
  const feed = await following({ load, failed, signal, concerns: ({ kind, body }) => body.session === id || kind.startsWith('sim_quarantine') });
  const still = growing(root);
  return () => { feed.stop(); still(); map.stop(); for (const part of parts) part.stop?.(); };
}

/** Status and what can be done. */
function header(current) {
  const standing = h('span', {});
  const buttons = STEPS.map((step) => actButton(t(`sessions.${step.name}`), { allowed: may.operate(), kind: step.danger ? 'danger' : step.name === 'retry' ? 'primary' : undefined, act: () => steer(step, [current()]) }));
  const element = h('div', { class: 'doing' }, standing, why('session', current().sessionId), buttons);
  const set = () => {
    const session = current();
    const now = session.merging ? h('span', { class: 'badge busy' }, t('sessions.merging')) : sessionBadge(session);
    if (!standing.firstChild?.isEqualNode(now)) fill(standing, now);
    STEPS.forEach((step, place) => { if (buttons[place]) buttons[place].hidden = !step.fits(session); });
  };
  set();
  return { element, set };
}

function figures() {
  const done = h('p', { class: 'figure' });
  const whole = tally({ label: t('sessions.progress'), parts: PARTS.map(([key, tone]) => ({ key, tone, label: statusWord(key) })) });
  const facts = h('dl', { class: 'facts' });
  const element = h('section', { class: 'card run-top', 'aria-label': t('sessions.progress') }, h('div', { class: 'whole' }, done, whole.element), facts);
  const set = (session) => {
    say(done, percent(session.completedFrames / session.totalFrames));
    whole.set(countFrames(session).counts, session.totalFrames);
    fill(facts, factsOf(session));
  };
  return { element, set };
}

function etaOf({ etaSeconds: seconds }) {
  if (seconds === null || seconds === undefined) return t('sessions.eta_unknown');
  return t('sessions.eta_in', { span: span(seconds * 1000), at: moment(Date.now() + seconds * 1000) });
}

function factsOf(session) {
  const isOpen = session.endedAt === null;
  const facts = [
    [t('sessions.frames'), t('sessions.frames_of', { done: session.completedFrames, total: session.totalFrames })],
    failedFrames(session) > 0 && [t('sessions.failed_frames'), h('span', { class: 'error' }, failedText(session))],
    isOpen && [t('sessions.rate'), t('sessions.per_second', { n: session.rate })],
    isOpen && [t('sessions.eta'), etaOf(session)],
    [t('sessions.per_task'), number(session.framesPerTask)],
    [t('sessions.quality'), t(`sessions.quality_${session.qualityMode}`)],
    [t('sessions.created'), moment(session.createdAt)],
    [t('sessions.duration'), lasting(session.createdAt, session.endedAt)],
    [t('sessions.directory'), h('code', {}, session.outputDirectory)],
    session.error && [t('sessions.error'), h('span', { class: 'error' }, session.error)],
  ];
  return facts.filter(Boolean).map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]);
}
