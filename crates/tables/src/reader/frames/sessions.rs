//! Sessions, their ranges and the ids granted for them.

use crate::{
    fault::Fault,
    reader::{nothing, number_start},
    rows::{chunk, frame_task, list, one, replay, session},
    sql::Sql,
};
use muster_model::{ChunkRecord, FrameTaskRecord, ReplayRecord, SessionId, SessionRecord, SessionStatus};
use muster_store::{
    ChunkFilter, Cursor, Page,
    position::{List, sought},
};

/// Sessions, newest first, without their bodies.
pub(crate) fn sessions(
    connection: &dyn Sql,
    status: Option<SessionStatus>,
    page: &Cursor,
) -> Result<Page<SessionRecord>, Fault> {
    let Some(before) = number_start(List::Sessions, page, i64::MAX) else {
        return Ok(nothing());
    };
    // What has not ended is open: the small index finds it among any amount of history.
    let open = if status.is_some_and(|status| !status.is_ended()) { "open = 1 AND" } else { "" };
    let sql = format!(
        "SELECT {} FROM sim_sessions WHERE {open} seq < ?1 AND (CAST(?2 AS TEXT) IS NULL OR status = ?2) ORDER BY seq DESC LIMIT ?3",
        session::COLUMNS_WITHOUT_BODY
    );
    let status = status.map(SessionStatus::as_str);
    let items = list(connection, &sql, &[before.into(), status.into(), sought(page).into()], session::read)?;
    Ok(List::Sessions.page(page, items, |session| session.seq.to_string()))
}

/// One session, its body included.
pub(crate) fn session(connection: &dyn Sql, id: &SessionId) -> Result<Option<SessionRecord>, Fault> {
    let sql = format!(
        "SELECT {} FROM sim_sessions LEFT JOIN sim_session_bodies ON session_id = id WHERE id = ?1",
        session::COLUMNS
    );
    one(connection, &sql, &[id.as_str().into()], session::read)
}

/// The ranges of a session, by first frame, with or without their results.
pub(crate) fn tasks(
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
    let items = list(
        connection,
        &sql,
        &[session.as_str().into(), after.into(), sought(page).into()],
        frame_task::read,
    )?;
    Ok(List::FrameTasks.page(page, items, |task| task.id.start.to_string()))
}

/// The ranges of a session that were given out anew, by the number of their new chunk.
pub(crate) fn replays(
    connection: &dyn Sql,
    session: &SessionId,
    page: &Cursor,
) -> Result<Page<ReplayRecord>, Fault> {
    let Some(after) = number_start(List::Replays, page, -1) else {
        return Ok(nothing());
    };
    let sql = format!(
        "SELECT {} FROM sim_replays WHERE session_id = ?1 AND new_chunk_id > ?2 ORDER BY new_chunk_id LIMIT ?3",
        replay::COLUMNS
    );
    let items =
        list(connection, &sql, &[session.as_str().into(), after.into(), sought(page).into()], replay::read)?;
    Ok(List::Replays.page(page, items, |replay| replay.new.to_string()))
}

/// Granted ids, by number.
pub(crate) fn chunks(
    connection: &dyn Sql,
    filter: &ChunkFilter,
    page: &Cursor,
) -> Result<Page<ChunkRecord>, Fault> {
    let Some(after) = number_start(List::Chunks, page, -1) else {
        return Ok(nothing());
    };
    let state = filter.state.map(|state| state.as_str());
    let session = filter.session.as_ref().map(SessionId::as_str);
    // The index knows the grants of a session in the order of their numbers.
    let of_session = if session.is_some() { "session_id = ?3" } else { "CAST(?3 AS TEXT) IS NULL" };
    let sql = format!(
        "SELECT {} FROM sim_chunks WHERE chunk_id > ?1 AND (CAST(?2 AS TEXT) IS NULL OR state = ?2) AND {of_session} \
         ORDER BY chunk_id LIMIT ?4",
        chunk::COLUMNS
    );
    let items = list(
        connection,
        &sql,
        &[after.into(), state.into(), session.into(), sought(page).into()],
        chunk::read,
    )?;
    Ok(List::Chunks.page(page, items, |chunk| chunk.ids.chunk.to_string()))
}
