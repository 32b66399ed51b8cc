// A new session: how many frames, in which pieces, of what.

import { post } from '../../api.js';
import { h } from '../../dom.js';
import { ask, field } from '../../parts/dialog.js';
import { readJson, readNumber } from '../../parts/fields.js';
import { area, choice } from '../../parts/form.js';
import { go } from '../../router.js';
import { t } from '../../text.js';

const FRAMES_MAX = 10000000;

/** Asks for a session and opens it. */
export async function newSession() {
  let made;
  const frames = (name, value) => field(name, t(`sessions.${name}`), { type: 'number', min: 1, max: FRAMES_MAX, required: true, value });
  const isDone = await ask({
    title: t('sessions.new'), confirm: t('sessions.start'), done: t('sessions.started'),
    fields: [
      field('name', t('sessions.name'), { required: true, pattern: '[a-z0-9_\\-]{1,64}', maxlength: 64, autocomplete: 'off' }),
      h('div', { class: 'side' }, frames('frames', 1000), frames('per_task', 50),
        choice('quality', t('sessions.quality'), ['strict', 'relaxed'].map((mode) => [mode, t(`sessions.quality_${mode}`)]))),
      field('directory', t('sessions.directory'), { maxlength: 1024 }),
      area('scenario', t('sessions.scenario'), { class: 'mono', placeholder: '{"map": "plaza"}', rows: 2 }),
      area('cameras', t('sessions.cameras'), { class: 'mono', placeholder: '["left", "right"]', rows: 2 }),
    ],
    act: async ({ form }) => { made = await post('/api/v1/sessions', read(form)); },
  });
  if (isDone) go('sessions', made.sessionId);
}

const read = (form) => ({
  sessionId: form.get('name').trim(),
  totalFrames: readNumber(form, 'frames'),
  framesPerTask: readNumber(form, 'per_task'),
  qualityMode: form.get('quality'),
  outputDirectory: form.get('directory').trim() || undefined,
  scenario: readJson(form, 'scenario', t('sessions.scenario')),
  cameras: readJson(form, 'cameras', t('sessions.cameras')),
});
