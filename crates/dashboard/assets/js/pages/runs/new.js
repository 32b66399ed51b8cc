// A new run: what, where, with what.

import { post } from '../../api.js';
import { h } from '../../dom.js';
import { onceKey } from '../../parts/act_button.js';
import { ask, field } from '../../parts/dialog.js';
import { readJson, readNumber, readWords } from '../../parts/fields.js';
import { area, choice } from '../../parts/form.js';
import { complaint } from '../../parts/notice.js';
import { go } from '../../router.js';
import { hasText, t } from '../../text.js';

const SCOPES = ['all', 'pcs', 'devices', 'labels'];

/** Asks for a run and opens it. */
export async function newRun() {
  const once = onceKey();
  let made;
  const names = area('names', t('runs.scope_names'), { rows: 2 });
  const setScope = (value) => {
    names.hidden = value === 'all';
    names.querySelector('span').textContent = t(`runs.scope_names_${value}`);
    names.querySelector('textarea').required = value !== 'all';
  };
  const scope = choice('scope', t('runs.scope'), SCOPES.map((value) => [value, t(`runs.scope_${value}`)]), { onChange: (event) => setScope(event.target.value) });
  setScope('all');
  const isDone = await ask({
    title: t('runs.new'), confirm: t('runs.start'), done: t('runs.started'),
    fields: [
      field('workflow', t('runs.workflow'), { required: true, maxlength: 128, value: 'login_settings_screenshot_v1' }),
      field('title', t('runs.title_for_people'), { maxlength: 200 }),
      scope, names,
      area('params', t('runs.params'), { class: 'mono', placeholder: '{}' }),
      h('div', { class: 'side' },
        field('queue', t('runs.queue'), { maxlength: 128, placeholder: 'default' }),
        field('attempts', t('runs.attempts'), { type: 'number', min: 1, max: 100, placeholder: '3' }),
        field('timeout', t('runs.timeout_s'), { type: 'number', min: 0.001, max: 1200, step: 'any' })),
    ],
    act: async ({ form }) => { made = await post('/api/runs', read(form), { once }); },
  });
  if (!isDone) return;
  for (const warning of made.warnings ?? []) complaint({ message: warningText(warning) });
  go('runs', made.run_id);
}

/** What the run names and nobody has; codes that nobody knows yet in the server's words. */
function warningText({ code, name, did_you_mean: meant, message }) {
  const key = `runs.warning_${code}`;
  if (!hasText(key)) return message;
  return meant ? `${t(key, { name })} ${t('runs.did_you_mean', { name: meant })}` : t(key, { name });
}

function read(form) {
  const seconds = readNumber(form, 'timeout');
  return {
    workflow_id: form.get('workflow').trim(),
    title: form.get('title').trim() || undefined,
    scope: readScope(form),
    params: readJson(form, 'params', t('runs.params')),
    queue: form.get('queue').trim() || undefined,
    max_attempts: readNumber(form, 'attempts'),
    timeoutMs: seconds === undefined ? undefined : Math.round(seconds * 1000),
  };
}

function readScope(form) {
  const kind = form.get('scope');
  const names = readWords(form, 'names');
  if (kind === 'all') return undefined;
  if (kind !== 'labels') return { [kind]: names };
  const pairs = names.map((pair) => pair.split('='));
  if (pairs.some((pair) => pair.length !== 2 || !pair[0] || !pair[1])) throw new Error(t('runs.labels_wrong'));
  return { labels: Object.fromEntries(pairs) };
}
