// Pauses, resumes and cancels sessions, one or many.

import { post } from '../../api.js';
import { forEach, naming } from '../../parts/bulk.js';
import { ask } from '../../parts/dialog.js';
import { t } from '../../text.js';

/** What can be done with sessions, and with which of them. */
export const STEPS = [
  { name: 'pause', fits: ({ status }) => status === 'running' },
  { name: 'resume', fits: ({ status }) => status === 'paused' },
  { name: 'cancel', fits: ({ status }) => status === 'running' || status === 'paused', danger: true },
];

/** Asks, and does it to all of them. */
export const steer = (step, sessions) => ask({
  title: sessions.length === 1 ? t(`sessions.${step.name}_title`, { session: sessions[0].sessionId }) : t(`sessions.${step.name}_many`, { n: sessions.length }),
  what: [t(`sessions.${step.name}_what`), sessions.length > 1 && naming(sessions.map((session) => session.sessionId))],
  confirm: t(`sessions.${step.name}_confirm`, { n: sessions.length }), keep: step.danger && t(sessions.length === 1 ? 'shell.keep_it' : 'shell.keep_them'), danger: step.danger, reason: step.danger ? 'required' : 'optional',
  act: ({ reason }) => forEach(sessions, ({ sessionId }) => post(`/api/v1/sessions/${encodeURIComponent(sessionId)}/${step.name}`, undefined, { reason }), (n) => t(`sessions.${step.name}_done`, { n })),
});
