// Why something is not running, as one sentence in the language of the page.

import { get } from '../../api.js';
import { fill, h } from '../../dom.js';
import { idLink } from '../../parts/links.js';
import { to } from '../../router.js';
import { hasText, moment, pieces, span, statusWord, t } from '../../text.js';
import { countOf, isMoment, kindOf, remarkOf } from './answer.js';

/** Asks the server. */
export const askWhy = (kind, id, signal) => get(`/api/explain/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`, {}, signal);

/** The sentence of an answer in pieces, with what it names as links; codes that nobody knows yet in the server's words. */
export function sentenceOf(answer) {
  const key = `cause.${answer.code}`;
  if (!hasText(key)) return [answer.sentence];
  const values = { n: countOf(answer.data), subject: subject(answer), ...shown(answer.data) };
  const sentence = pieces(key, values);
  const remark = remarkOf(answer.data, Object.keys(values).filter((name) => sentence.includes(values[name])));
  const late = answer.data.heartbeat_late_since ? [' ', pieces('why.heartbeat_late', values)] : [];
  return [...sentence, ...(remark ? [' ', h('q', {}, String(remark))] : []), ...late];
}

const subject = ({ kind, id }) => h('span', {}, t(`kind.${kind}`), ' ', idLink(kind, id));

/** Data as a sentence shows them: names as links, statuses as words, moments also as spans. */
function shown(data) {
  // Older servers say `active_run_id` for what is now `run_id`.
  const values = data.active_run_id ? { run_id: idLink('run', data.active_run_id) } : {};
  for (const [key, value] of Object.entries(data)) {
    if (kindOf(key)) values[key] = idLink(kindOf(key), value);
    else if (isMoment(key)) Object.assign(values, { [key]: moment(value), [`${key}_ago`]: span(Date.now() - value), [`${key}_in`]: span(value - Date.now()) });
    else values[key] = key === 'status' ? statusWord(value) : value;
  }
  return values;
}

/** A line for the page of a thing: why it stands as it does. Things that cannot be explained have none. */
export function reasonLine(kind, id, signal) {
  const element = h('p', { class: 'reason', hidden: true });
  let drawn = '';
  const load = async () => {
    const answer = await askWhy(kind, id, signal).catch((error) => { if (error.name === 'AbortError') throw error; return null; });
    element.hidden = !answer;
    if (!answer || answer.sentence === drawn) return;
    drawn = answer.sentence;
    fill(element, sentenceOf(answer), ' ', h('a', { href: to('why', kind, id) }, t('why.ask')));
  };
  return { element, load };
}
