// What can be done with sessions and ranges as they stand. Pure: no page, no network.

import { failedFrames } from '../../missing.js';

/** Whether failed frames of a session can be retried (S26b). */
export const canRetry = (session) => session.status !== 'cancelled' && failedFrames(session) > 0;

/** Whether a range has a chunk that can be retired (S17): it holds one or was completed with one, and its session is open. */
export const canRetire = ({ status, isOpen, globalIdChunk }) => Boolean(isOpen && globalIdChunk) && ['assigned', 'running', 'completed'].includes(status);
