// A status as a coloured word; the word alone says it, the colour helps.

import { h } from '../dom.js';
import { statusWord, t } from '../text.js';

const TONES = {
  good: ['online', 'idle', 'Healthy', 'completed', 'success', 'ONLINE', 'Ready', 'used', 'active', 'ok'],
  busy: ['running', 'assigned', 'in_progress', 'Running', 'live', 'merging'],
  warn: ['draining', 'paused', 'Degraded', 'needs_human', 'pending', 'queued', 'Registering', 'skipped', 'cancelled', 'lost', 'Registered', 'unauthorized', 'caution', 'partial'],
  bad: ['error', 'failed', 'ERROR', 'banned', 'Lost', 'Quarantined', 'Quarantine', 'retired', 'zombie'],
};
const TONE_OF = new Map(Object.entries(TONES).flatMap(([tone, words]) => words.map((word) => [word, tone])));

/** The word for a status with its colour. */
export const badge = (status) => h('span', { class: `badge ${TONE_OF.get(status) ?? 'none'}` }, statusWord(status));

/** Says that a node calls, but its heartbeat is late (N8c), and what to do about it. */
export const lateBadge = () => h('span', { class: 'badge warn', title: t('fleet.late_what') }, statusWord('late'));
