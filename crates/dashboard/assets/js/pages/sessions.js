// Sessions: frames that workers make. The list here; one session in sessions/detail.js.

import { get, may, post } from '../api.js';
import { fill, h } from '../dom.js';
import { failedFrames } from '../missing.js';
import { actButton } from '../parts/act_button.js';
import { keepInAddress } from '../parts/address.js';
import { bulkBar } from '../parts/bulk.js';
import { ask } from '../parts/dialog.js';
import { filter, searchBox } from '../parts/fields.js';
import { following } from '../parts/following.js';
import { firstOf } from '../parts/pages.js';
import { share } from '../parts/progress.js';
import { sessionBadge } from '../parts/result.js';
import { growing, lasting } from '../parts/since.js';
import { table } from '../parts/table.js';
import { to } from '../router.js';
import { moment, number, statusWord, t } from '../text.js';
import { openSession } from './sessions/detail.js';
import { newSession } from './sessions/new.js';
import { STEPS, steer } from './sessions/steer.js';

const PAGE = 50;
const STATUSES = ['running', 'paused', 'completed', 'failed', 'cancelled'];
const CONCERN = /^(session_|range_|sim_paused|sim_resumed)/;

export const open = (context) => (context.args[0] ? openSession(context, context.args[0]) : openList(context));

async function openList({ root, title, query, signal, failed }) {
  const view = { status: query.get('status') ?? '', q: query.get('q') ?? '' };
  let sessions = [];
  let most = PAGE;
  let feed;
  const bulk = bulkBar(may.operate() && STEPS.map((step) => ({
    label: t(`sessions.${step.name}`), danger: step.danger, why: t(`sessions.${step.name}_why_not`),
    allowed: (chosen) => chosen.some(step.fits), act: (chosen) => steer(step, chosen.filter(step.fits)),
  })));
  const list = table({ caption: t('nav.sessions'), id: (session) => session.sessionId, columns: columns(), pick: bulk.set, empty: t('sessions.none') });
  const more = h('button', { onClick: () => { most += PAGE; feed.now(); } }, t('shell.more'));
  const everything = allOrNothing(() => feed.now());
  const draw = () => {
    const wanted = view.q.toLowerCase();
    list.set(sessions.filter((session) => session.sessionId.toLowerCase().includes(wanted)));
  };
  const load = async () => {
    const [page, status] = await Promise.all([firstOf('/api/v1/sessions', { status: view.status }, { name: 'sessions', most, signal }), get('/api/v1/status', {}, signal)]);
    sessions = page.items;
    more.hidden = !page.more;
    everything.set(status.status === 'paused');
    draw();
  };
  const choose = (value) => { view.status = value; most = PAGE; keepInAddress(view); feed.now(); };
  fill(root,
    h('div', { class: 'heading' }, title(t('nav.sessions')), h('div', { class: 'doing' }, everything.button, actButton(t('sessions.new'), { allowed: may.operate(), kind: 'primary', act: newSession }))),
    everything.banner,
    h('div', { class: 'tools' }, searchBox(t('sessions.search'), view.q, (text) => { view.q = text; keepInAddress(view); draw(); }),
      filter('status', t('shell.filter_status'), [['', t('shell.all')], ...STATUSES.map((status) => [status, statusWord(status)])], view.status, choose)),
    bulk.element, list.element, more);
  feed = await following({ load, failed, signal, concerns: ({ kind }) => CONCERN.test(kind) });
  const still = growing(root);
  return () => { feed.stop(); still(); };
}

function columns() {
  return [
    { label: t('kind.session'), show: (session) => h('a', { class: 'name', href: to('sessions', session.sessionId) }, session.sessionId) },
    { label: t('shell.filter_status'), show: sessionBadge },
    { label: t('sessions.progress'), show: progressOf },
    { label: t('sessions.per_task'), number: true, show: (session) => number(session.framesPerTask) },
    { label: t('sessions.quality'), show: (session) => t(`sessions.quality_${session.qualityMode}`) },
    { label: t('sessions.created'), show: (session) => h('time', { datetime: new Date(session.createdAt).toISOString() }, moment(session.createdAt)) },
    { label: t('sessions.duration'), number: true, show: (session) => lasting(session.createdAt, session.endedAt) },
  ];
}

function progressOf(session) {
  const { completedFrames: done, totalFrames: total } = session;
  const failed = failedFrames(session);
  return [share(done, total), h('span', { class: 'under' }, t('sessions.frames_of', { done, total })), failed > 0 && h('span', { class: 'under error' }, t('sessions.failed_n', { n: failed }))];
}

/** Has no range given out any more, of any session, or again. */
function allOrNothing(changed) {
  let isPaused = false;
  const act = async () => {
    const name = isPaused ? 'resume_all' : 'pause_all';
    const isDone = await ask({
      title: t(`sessions.${name}_title`), what: t(`sessions.${name}_what`), confirm: t(`sessions.${name}_confirm`), danger: !isPaused, reason: isPaused ? 'optional' : 'required',
      act: ({ reason }) => post('/api/v1/workers/broadcast', { command: isPaused ? 'ResumeAll' : 'PauseAll' }, { reason }), done: t(`sessions.${name}_done`),
    });
    if (isDone) changed();
  };
  const button = actButton(t('sessions.pause_all'), { allowed: may.operate(), act });
  const banner = h('p', { class: 'banner', role: 'status', hidden: true }, t('sessions.all_paused'));
  const set = (paused) => {
    isPaused = paused;
    banner.hidden = !paused;
    if (button) button.textContent = t(paused ? 'sessions.resume_all' : 'sessions.pause_all');
  };
  return { button, banner, set };
}
