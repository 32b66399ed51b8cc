//! Deleting sessions that ended long ago, and the history of their workers.

use super::ROWS_MAX;
use crate::{fault::Fault, fields::Fields, record::row, rows::frames::delete_session, sql::Sql};
use muster_model::{SessionId, Timestamp};

/// Deletes closed sessions until the rows of one call are used up, each session's own row last.
///
/// Their grants go with them: that no id is granted twice is the farm's row's to say.
pub(crate) fn prune(connection: &dyn Sql, cutoff: Timestamp) -> Result<bool, Fault> {
    let mut left = i64::from(ROWS_MAX);
    while left > 0 {
        let Some(id) = oldest_closed(connection, cutoff)? else {
            return Ok(false);
        };
        for sql in [OLD_TASKS, OLD_REPLAYS, OLD_CHUNKS] {
            let deleted = connection.execute(sql, &[id.as_str().into(), left.into()])?;
            left -= i64::try_from(deleted).unwrap_or(left);
        }
        if left > 0 {
            delete_session(connection, &id)?;
            left -= 1;
        }
    }
    Ok(true)
}

fn oldest_closed(connection: &dyn Sql, cutoff: Timestamp) -> Result<Option<SessionId>, Fault> {
    let sql = "SELECT id FROM sim_sessions WHERE open = 0 AND ended_at < ?1 ORDER BY ended_at LIMIT 1";
    row(connection, sql, &[cutoff.into()], |row| Fields::new("sim_sessions", row).text(0))
}

const OLD_TASKS: &str = "DELETE FROM sim_tasks WHERE session_id = ?1 AND start_frame IN \
     (SELECT start_frame FROM sim_tasks WHERE session_id = ?1 ORDER BY start_frame LIMIT ?2)";
const OLD_REPLAYS: &str = "DELETE FROM sim_replays WHERE session_id = ?1 AND new_chunk_id IN \
     (SELECT new_chunk_id FROM sim_replays WHERE session_id = ?1 ORDER BY new_chunk_id LIMIT ?2)";
const OLD_CHUNKS: &str = "DELETE FROM sim_chunks WHERE chunk_id IN \
     (SELECT chunk_id FROM sim_chunks WHERE session_id = ?1 ORDER BY chunk_id LIMIT ?2)";

// Rows of these two were added in the order of time, so only the first need be looked at: no index.
pub(crate) const OLD_TRANSITIONS: &str = "DELETE FROM sim_transitions WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM sim_transitions ORDER BY id LIMIT ?2) AS first WHERE at < ?1)";
pub(crate) const OLD_DIAGNOSTICS: &str = "DELETE FROM sim_diagnostics WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM sim_diagnostics ORDER BY id LIMIT ?2) AS first WHERE at < ?1)";

/// What nobody has looked at stays, unless there is nothing to look at.
pub(crate) const OLD_QUARANTINE: &str = "DELETE FROM sim_quarantine WHERE id IN \
     (SELECT id FROM sim_quarantine WHERE (confirmed IS NOT NULL OR (moved = 1 AND files = 0)) AND at < ?1 \
      ORDER BY at LIMIT ?2)";
