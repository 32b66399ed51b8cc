// Why is it not running: one sentence, the rule behind it, what to do, and what it refers to.

import { fill, h, say } from '../dom.js';
import { idLink } from '../parts/links.js';
import { refresher } from '../parts/refresh.js';
import { to } from '../router.js';
import { hasText, moment, number, pieces, span, statusWord, t } from '../text.js';
import { blockers, isMoment, kindOf, readTrail, trailQuery } from './why/answer.js';
import { askForm } from './why/form.js';
import { askWhy, sentenceOf } from './why/reason.js';

const EVERY_MS = 3000;

export async function open({ root, args: [kind, id], query, signal, title }) {
  if (!kind || !id) {
    fill(root, title(t('nav.why')), h('p', { class: 'quiet' }, t('why.lead')), askForm());
    return undefined;
  }
  const trail = readTrail(query);
  const parts = answerParts();
  const error = h('p', { class: 'error', role: 'alert' });
  fill(root, title(t('nav.why')), askForm(kind, id), trailLine(trail, { kind, id }), error, parts.element);
  const load = async () => {
    try {
      const answer = await askWhy(kind, id, signal);
      say(error, '');
      draw(parts, answer, trail);
    } catch (refusal) {
      if (refusal.name === 'AbortError') throw refusal;
      parts.element.hidden = true;
      say(error, refusal.status === 0 ? t('shell.unreachable') : t('why.none', { detail: refusal.message }));
    }
  };
  await load();
  return refresher(load, { everyMs: EVERY_MS, atOnce: false }).close;
}

function answerParts() {
  const parts = {
    sentence: h('p', { class: 'sentence' }), told: h('p', { class: 'hidden', role: 'status' }), advice: h('p', { class: 'advice' }),
    facts: h('dl', { class: 'facts' }), further: h('ul', { class: 'further' }), none: h('p', { class: 'quiet' }, t('why.no_blockers')), asked: h('time'),
    code: null, drawn: '',
  };
  parts.element = h('div', { hidden: true },
    h('section', { class: 'card answer' }, parts.sentence, parts.told, h('h2', {}, t('why.advice')), parts.advice),
    h('div', { class: 'columns' },
      h('section', { class: 'card' }, h('h2', {}, t('why.blockers')), parts.further, parts.none),
      h('section', { class: 'card' }, h('h2', {}, t('why.data')), parts.facts)));
  return parts;
}

/** Draws an answer; what did not change stays, so that whoever stands on a link stays there. */
function draw(parts, answer, trail) {
  parts.element.hidden = false;
  say(parts.asked, moment(Date.now()));
  const sentence = h('p', {}, sentenceOf(answer));
  if (sentence.textContent !== parts.sentence.textContent) fill(parts.sentence, [...sentence.childNodes]);
  if (answer.code !== parts.code) say(parts.told, sentence.textContent);
  parts.code = answer.code;
  const now = JSON.stringify([answer.code, answer.rule, answer.data]);
  if (now === parts.drawn) return;
  parts.drawn = now;
  say(parts.advice, hasText(`advice.${answer.code}`) ? t(`advice.${answer.code}`) : t('why.nothing_to_do'));
  const things = blockers(answer);
  parts.none.hidden = things.length > 0;
  fill(parts.further, things.map((thing) => further(thing, answer, trail)));
  fill(parts.facts, line(t('why.rule'), h('b', {}, answer.rule)), line(t('why.code'), h('code', {}, answer.code)),
    Object.entries(answer.data).map(([key, value]) => line(h('code', {}, key), shown(key, value))), line(t('why.asked'), parts.asked));
}

const line = (label, value) => [h('dt', {}, label), h('dd', {}, value)];

/** What it refers to, and the question why that is so. */
function further(thing, { kind, id }, trail) {
  const name = h('span', {}, t(`kind.${thing.kind}`), ' ', idLink(thing.kind, thing.id));
  const ask = `${to('why', thing.kind, thing.id)}?${trailQuery(trail, { kind, id })}`;
  return h('li', {}, name, h('a', { href: ask, class: 'follow' }, pieces('why.follow', { thing: t(`kind.${thing.kind}`) })));
}

function shown(key, value) {
  if (kindOf(key)) return idLink(kindOf(key), value);
  if (isMoment(key)) return [moment(value), ' ', h('span', { class: 'quiet' }, value < Date.now() ? t('shell.ago', { span: span(Date.now() - value) }) : span(value - Date.now()))];
  if (key === 'status' || key === 'heartbeat') return statusWord(value);
  return typeof value === 'number' ? number(value) : typeof value === 'string' ? value : h('code', {}, JSON.stringify(value));
}

/** The questions that led here, each to go back to. */
function trailLine(trail, here) {
  if (trail.length === 0) return null;
  const step = ({ kind, id }, index) => h('li', {}, t(`kind.${kind}`), ' ', h('a', { href: back(trail, index), class: 'mono' }, id));
  return h('nav', { class: 'trail', 'aria-label': t('why.trail') }, h('ol', {}, trail.map(step),
    h('li', { 'aria-current': 'page' }, t(`kind.${here.kind}`), ' ', h('span', { class: 'mono' }, here.id))));
}

function back(trail, index) {
  const before = trail.slice(0, index);
  const address = to('why', trail[index].kind, trail[index].id);
  return before.length ? `${address}?${trailQuery(before.slice(0, -1), before.at(-1))}` : address;
}
