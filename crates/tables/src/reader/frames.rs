//! Reads about sessions: their ranges, the ids granted for them, and their workers.

use super::{TableReader, fleet::name_start, nothing, number_start, without_numbers};
use crate::{
    column::sought_number,
    record::{Record, numbered_records, record, records, row, rows},
    rows::frames,
    sql::{Connections, Fault, Sql},
};
use muster_model::{
    ChunkRecord, DiagnosticRecord, EntryId, FarmRecord, FrameTaskId, FrameTaskRecord, Name, QuarantineRecord,
    RendererRecord, ReplayRecord, SessionId, SessionRecord, SessionStatus, TransitionRecord,
};
use muster_store::{
    ChunkFilter, Cursor, DiagnosticFilter, FrameReader, Page, StoreError,
    position::{List, Start, entry_key, parse_entry_key, sought},
};

impl<P: Connections> FrameReader for TableReader<P> {
    fn sessions(
        &self,
        status: Option<SessionStatus>,
        page: &Cursor,
    ) -> Result<Page<SessionRecord>, StoreError> {
        self.read(|connection| {
            let Some(before) = number_start(List::Sessions, page, i64::MAX) else {
                return Ok(nothing());
            };
            // Rows that have not ended are open: the small index finds them among any amount of history.
            let open = if status.is_some_and(|status| !status.is_ended()) { "open = 1 AND" } else { "" };
            let sql = format!(
                "SELECT {} FROM sim_sessions WHERE {open} seq < ?1 AND (CAST(?2 AS TEXT) IS NULL OR status = ?2) ORDER BY seq DESC LIMIT ?3",
                SessionRecord::SHORT_COLUMNS
            );
            let params = [before.into(), status.map(SessionStatus::as_str).into(), sought(page).into()];
            let items = rows(connection, &sql, &params, SessionRecord::read)?;
            Ok(List::Sessions.page(page, items, |session| session.seq.to_string()))
        })
    }

    fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let sql = format!(
            "SELECT {} FROM sim_sessions LEFT JOIN sim_session_bodies ON session_id = id WHERE id = ?1",
            SessionRecord::COLUMNS
        );
        self.read(|connection| row(connection, &sql, &[id.as_str().into()], SessionRecord::read))
    }

    fn frame_tasks(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError> {
        self.read(|connection| tasks(connection, session, page, FrameTaskRecord::SHORT_COLUMNS))
    }

    fn frame_results(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError> {
        self.read(|connection| tasks(connection, session, page, FrameTaskRecord::COLUMNS))
    }

    /// A first frame that no column can hold is no range's.
    fn frame_task(&self, id: &FrameTaskId) -> Result<Option<FrameTaskRecord>, StoreError> {
        let params = [id.session.as_str().into(), sought_number(id.start).into()];
        self.read(|connection| record(connection, "WHERE session_id = ?1 AND start_frame = ?2", &params))
    }

    fn replays(&self, session: &SessionId, page: &Cursor) -> Result<Page<ReplayRecord>, StoreError> {
        self.read(|connection| {
            let Some(after) = number_start(List::Replays, page, -1) else {
                return Ok(nothing());
            };
            let rest = "WHERE session_id = ?1 AND new_chunk_id > ?2 ORDER BY new_chunk_id LIMIT ?3";
            let items =
                records(connection, rest, &[session.as_str().into(), after.into(), sought(page).into()])?;
            Ok(List::Replays.page(page, items, |replay: &ReplayRecord| replay.new.to_string()))
        })
    }

    fn chunks(&self, filter: &ChunkFilter, page: &Cursor) -> Result<Page<ChunkRecord>, StoreError> {
        self.read(|connection| {
            let Some(after) = number_start(List::Chunks, page, -1) else {
                return Ok(nothing());
            };
            let state = filter.state.map(|state| state.as_str());
            let session = filter.session.as_ref().map(SessionId::as_str);
            // The index knows the grants of a session in the order of their numbers.
            let of_session = if session.is_some() { "session_id = ?3" } else { "CAST(?3 AS TEXT) IS NULL" };
            let rest = format!(
                "WHERE chunk_id > ?1 AND (CAST(?2 AS TEXT) IS NULL OR state = ?2) AND {of_session} \
                 ORDER BY chunk_id LIMIT ?4"
            );
            let params = [after.into(), state.into(), session.into(), sought(page).into()];
            let items = records(connection, &rest, &params)?;
            Ok(List::Chunks.page(page, items, |chunk: &ChunkRecord| chunk.ids.chunk.to_string()))
        })
    }

    fn chunk(&self, chunk: u64) -> Result<Option<ChunkRecord>, StoreError> {
        self.read(|connection| record(connection, "WHERE chunk_id = ?1", &[sought_number(chunk).into()]))
    }

    fn renderers(&self, page: &Cursor) -> Result<Page<RendererRecord>, StoreError> {
        self.read(|connection| {
            let Some(after) = name_start(List::Renderers, page) else {
                return Ok(nothing());
            };
            let params = [after.as_str().into(), sought(page).into()];
            let items = records(connection, "WHERE id > ?1 ORDER BY id LIMIT ?2", &params)?;
            Ok(List::Renderers.page(page, items, |renderer: &RendererRecord| renderer.id.to_string()))
        })
    }

    fn renderer(&self, id: &Name) -> Result<Option<RendererRecord>, StoreError> {
        self.read(|connection| record(connection, "WHERE id = ?1", &[id.as_str().into()]))
    }

    /// The last changes of a worker's state, oldest first.
    fn transitions(&self, id: &Name, limit: u32) -> Result<Vec<TransitionRecord>, StoreError> {
        let params = [id.as_str().into(), limit.into()];
        let rest = "WHERE worker_id = ?1 ORDER BY id DESC LIMIT ?2";
        let mut last: Vec<_> = self.read(|connection| records(connection, rest, &params))?;
        last.reverse();
        Ok(last)
    }

    fn quarantine(&self, page: &Cursor) -> Result<Page<QuarantineRecord>, StoreError> {
        self.read(|connection| {
            let (at, id) = match List::Quarantine.start(page, parse_entry_key) {
                Start::Beginning => (i64::MAX, None),
                Start::After((at, id)) => (at, Some(id)),
                Start::Nowhere => return Ok(nothing()),
            };
            let rest = "WHERE at <= ?1 AND (at < ?1 OR CAST(?2 AS TEXT) IS NULL OR id < ?2) \
                        ORDER BY at DESC, id DESC LIMIT ?3";
            let items = records(connection, rest, &[at.into(), id.as_deref().into(), sought(page).into()])?;
            Ok(List::Quarantine
                .page(page, items, |entry: &QuarantineRecord| entry_key(entry.at.0, &entry.id)))
        })
    }

    fn quarantined(&self, id: &EntryId) -> Result<Option<QuarantineRecord>, StoreError> {
        self.read(|connection| record(connection, "WHERE id = ?1", &[id.to_string().as_str().into()]))
    }

    fn diagnostics(
        &self,
        filter: &DiagnosticFilter,
        page: &Cursor,
    ) -> Result<Page<DiagnosticRecord>, StoreError> {
        self.read(|connection| {
            let Some(before) = number_start(List::Diagnostics, page, i64::MAX) else {
                return Ok(nothing());
            };
            let session = filter.session.as_ref().map(SessionId::as_str);
            let worker = filter.worker.as_ref().map(Name::as_str);
            // The indexes know the lines of a session or worker in the order they came in.
            let of_session = if session.is_some() { "session_id = ?2" } else { "CAST(?2 AS TEXT) IS NULL" };
            let of_worker = if worker.is_some() { "worker_id = ?3" } else { "CAST(?3 AS TEXT) IS NULL" };
            let rest = format!("WHERE id < ?1 AND {of_session} AND {of_worker} ORDER BY id DESC LIMIT ?4");
            let params = [before.into(), session.into(), worker.into(), sought(page).into()];
            let items = numbered_records(connection, &rest, &params)?;
            Ok(without_numbers(List::Diagnostics.page(page, items, |(number, _)| number.to_string())))
        })
    }

    fn farm(&self) -> Result<FarmRecord, StoreError> {
        self.read(frames::farm)
    }
}

/// The ranges of a session, by first frame, with or without their results.
fn tasks(
    connection: &dyn Sql,
    session: &SessionId,
    page: &Cursor,
    columns: &str,
) -> Result<Page<FrameTaskRecord>, Fault> {
    let Some(after) = number_start(List::FrameTasks, page, -1) else {
        return Ok(nothing());
    };
    let sql = format!(
        "SELECT {columns} FROM sim_tasks WHERE session_id = ?1 AND start_frame > ?2 ORDER BY start_frame LIMIT ?3"
    );
    let params = [session.as_str().into(), after.into(), sought(page).into()];
    let items = rows(connection, &sql, &params, FrameTaskRecord::read)?;
    Ok(List::FrameTasks.page(page, items, |task| task.id.start.to_string()))
}
