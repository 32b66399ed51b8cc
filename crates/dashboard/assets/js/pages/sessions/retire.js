// Retires the chunk of a range, so that the range is rendered again (S17, S20b).

import { post } from '../../api.js';
import { ask } from '../../parts/dialog.js';
import { t } from '../../text.js';

/** Asks for a reason and retires; the body has the reason, which the audit log would else show twice. */
export const retireChunk = ({ chunk, from, to }) => ask({
  title: t('sessions.retire_title', { chunk }), what: t('sessions.retire_what', { from, to }), confirm: t('sessions.retire_confirm'), danger: true, reason: 'required',
  act: ({ reason }) => post(`/api/v1/chunks/${encodeURIComponent(chunk)}/retire`, { reason }), done: t('sessions.retire_done', { chunk }),
});
