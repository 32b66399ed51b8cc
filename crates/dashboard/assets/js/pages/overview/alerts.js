// Alerts above everything else: a short list, worst first; whoever has seen one puts it away.

import { h, say } from '../../dom.js';
import { keyed } from '../../parts/keyed.js';
import { idLink } from '../../parts/links.js';
import { why } from '../../parts/why_link.js';
import { hasText, moment, t } from '../../text.js';
import { subjectOf } from './alert_subject.js';
import { readAway, sortOut, withAway } from './away.js';

const SHOWN = 3;
const KEPT = 'muster.alerts_away';

/** The list; `set(alerts)` draws. It is a region to go to, and says nothing by itself: what it says comes and goes with every look. */
export function alertList() {
  const list = h('ul', { class: 'alerts' });
  const rest = h('button', { class: 'small', 'aria-expanded': 'false', onClick: () => { isOpen = !isOpen; draw(); } });
  const back = h('button', { class: 'small', onClick: () => bringBack() });
  const element = h('section', { class: 'card alert-card', 'aria-labelledby': 'alerts-title', hidden: true },
    h('h2', { id: 'alerts-title' }, t('overview.alerts')), list, h('div', { class: 'row-acts' }, rest, back));
  let alerts = [];
  let away = readAway(localStorage.getItem(KEPT));
  let isOpen = false;

  const keep = (ids) => {
    away = ids;
    localStorage.setItem(KEPT, JSON.stringify(ids));
    draw();
  };
  const putAway = (id) => {
    const place = [...list.querySelectorAll('button')].indexOf(document.activeElement);
    keep(withAway(away, id));
    // Whoever goes through them with the keyboard stands at the next one.
    const left = list.querySelectorAll('button');
    (left[Math.min(place, left.length - 1)] ?? back).focus();
  };
  const bringBack = () => {
    const here = new Set(alerts.map(({ id }) => id));
    keep(away.filter((id) => !here.has(id)));
    list.querySelector('button')?.focus();
  };
  const drawList = keyed(list, ({ id }) => id, (alert) => ({ element: line(alert, putAway) }));
  const draw = () => {
    const found = sortOut(alerts, away);
    drawList(isOpen ? found.seen : found.seen.slice(0, SHOWN));
    element.hidden = alerts.length === 0;
    list.hidden = found.seen.length === 0;
    rest.hidden = found.seen.length <= SHOWN;
    rest.setAttribute('aria-expanded', String(isOpen));
    say(rest, isOpen ? t('overview.alerts_fewer') : t('overview.alerts_more', { n: found.seen.length - SHOWN }));
    back.hidden = found.away === 0;
    say(back, t('overview.alerts_away', { n: found.away }));
    element.classList.toggle('quiet-card', found.seen.length === 0);
  };
  return { element, set: (now) => { alerts = now; draw(); } };
}

function line(alert, putAway) {
  const { kind, id } = subjectOf(alert);
  const name = hasText(`overview.alert_${alert.kind}`) ? t(`overview.alert_${alert.kind}`) : alert.kind;
  const label = t('overview.put_away_one', { alert: name, node: id, at: moment(alert.at) });
  return h('li', {},
    h('div', { class: 'told-of' },
      h('b', {}, name), ' ', idLink(kind, id), alert.run_id && [' · ', idLink('run', alert.run_id)], ' · ',
      h('time', { class: 'quiet', datetime: new Date(alert.at).toISOString() }, moment(alert.at)),
      h('p', {}, alert.message)),
    h('span', { class: 'row-acts' },
      alert.run_id ? why('run', alert.run_id) : why(kind, id),
      h('button', { class: 'small', 'aria-label': label, onClick: () => putAway(alert.id) }, t('overview.put_away'))));
}
