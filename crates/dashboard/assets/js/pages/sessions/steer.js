// Pauses, resumes and cancels sessions, and retries their failed frames; one or many.

import { post } from '../../api.js';
import { h } from '../../dom.js';
import { forEach, naming } from '../../parts/bulk.js';
import { ask } from '../../parts/dialog.js';
import { t } from '../../text.js';
import { canRetry } from './allowed.js';
import { failedText } from './frames_text.js';

/** What can be done with sessions, and with which of them. `body` is what the server is sent with it. */
export const STEPS = [
  { name: 'pause', fits: ({ status }) => status === 'running' },
  { name: 'resume', fits: ({ status }) => status === 'paused' },
  { name: 'cancel', fits: ({ status }) => status === 'running' || status === 'paused', danger: true },
  { name: 'retry', fits: canRetry, body: {} },
];

/** Asks, and does it to all of them. */
export const steer = (step, sessions) => ask({
  title: sessions.length === 1 ? t(`sessions.${step.name}_title`, { session: sessions[0].sessionId }) : t(`sessions.${step.name}_many`, { n: sessions.length }),
  what: [h('p', {}, t(`sessions.${step.name}_what`)), step.name === 'retry' && sessions.length === 1 && h('p', { class: 'error' }, failedText(sessions[0])), sessions.length > 1 && naming(sessions.map((session) => session.sessionId))],
  confirm: t(`sessions.${step.name}_confirm`, { n: sessions.length }), keep: step.danger && t(sessions.length === 1 ? 'shell.keep_it' : 'shell.keep_them'), danger: step.danger, reason: step.danger ? 'required' : 'optional',
  act: ({ reason }) => forEach(sessions, ({ sessionId }) => post(`/api/v1/sessions/${encodeURIComponent(sessionId)}/${step.name}`, step.body, { reason }), (n) => t(`sessions.${step.name}_done`, { n })),
});
