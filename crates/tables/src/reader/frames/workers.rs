//! Workers of sessions: their lives, what they said and what they left.

use crate::{
    fault::Fault,
    reader::{fleet::name_start, nothing, number_start},
    rows::{diagnostic, list, one, quarantine, renderer, transition},
    sql::Sql,
};
use muster_model::{
    DiagnosticRecord, EntryId, Name, QuarantineRecord, RendererRecord, SessionId, TransitionRecord,
};
use muster_store::{
    Cursor, DiagnosticFilter, Page,
    position::{List, Start, entry_key, parse_entry_key, sought},
};

/// Workers by name.
pub(crate) fn renderers(connection: &dyn Sql, page: &Cursor) -> Result<Page<RendererRecord>, Fault> {
    let Some(after) = name_start(List::Renderers, page) else {
        return Ok(nothing());
    };
    let sql = format!("SELECT {} FROM sim_workers WHERE id > ?1 ORDER BY id LIMIT ?2", renderer::COLUMNS);
    let items = list(connection, &sql, &[after.as_str().into(), sought(page).into()], renderer::read)?;
    Ok(List::Renderers.page(page, items, |renderer| renderer.id.to_string()))
}

/// One worker.
pub(crate) fn renderer(connection: &dyn Sql, id: &Name) -> Result<Option<RendererRecord>, Fault> {
    let sql = format!("SELECT {} FROM sim_workers WHERE id = ?1", renderer::COLUMNS);
    one(connection, &sql, &[id.as_str().into()], renderer::read)
}

/// The last changes of a worker's state, oldest first.
pub(crate) fn transitions(
    connection: &dyn Sql,
    id: &Name,
    limit: u32,
) -> Result<Vec<TransitionRecord>, Fault> {
    let sql = format!(
        "SELECT {} FROM sim_transitions WHERE worker_id = ?1 ORDER BY id DESC LIMIT ?2",
        transition::COLUMNS
    );
    let mut last = list(connection, &sql, &[id.as_str().into(), limit.into()], transition::read)?;
    last.reverse();
    Ok(last)
}

/// Entries of the quarantine, newest first.
pub(crate) fn quarantine(connection: &dyn Sql, page: &Cursor) -> Result<Page<QuarantineRecord>, Fault> {
    let (at, id) = match List::Quarantine.start(page, parse_entry_key) {
        Start::Beginning => (i64::MAX, None),
        Start::After((at, id)) => (at, Some(id)),
        Start::Nowhere => return Ok(nothing()),
    };
    let sql = format!(
        "SELECT {} FROM sim_quarantine WHERE at <= ?1 AND (at < ?1 OR CAST(?2 AS TEXT) IS NULL OR id < ?2) \
         ORDER BY at DESC, id DESC LIMIT ?3",
        quarantine::COLUMNS
    );
    let items =
        list(connection, &sql, &[at.into(), id.as_deref().into(), sought(page).into()], quarantine::read)?;
    Ok(List::Quarantine.page(page, items, |entry| entry_key(entry.at.0, &entry.id)))
}

/// One entry of the quarantine.
pub(crate) fn quarantined(connection: &dyn Sql, id: &EntryId) -> Result<Option<QuarantineRecord>, Fault> {
    let sql = format!("SELECT {} FROM sim_quarantine WHERE id = ?1", quarantine::COLUMNS);
    one(connection, &sql, &[id.to_string().as_str().into()], quarantine::read)
}

/// Lines of the diagnostics log, newest first.
pub(crate) fn diagnostics(
    connection: &dyn Sql,
    filter: &DiagnosticFilter,
    page: &Cursor,
) -> Result<Page<DiagnosticRecord>, Fault> {
    let Some(before) = number_start(List::Diagnostics, page, i64::MAX) else {
        return Ok(nothing());
    };
    let session = filter.session.as_ref().map(SessionId::as_str);
    let worker = filter.worker.as_ref().map(Name::as_str);
    // The indexes know the lines of a session or worker in the order they came in.
    let of_session = if session.is_some() { "session_id = ?2" } else { "CAST(?2 AS TEXT) IS NULL" };
    let of_worker = if worker.is_some() { "worker_id = ?3" } else { "CAST(?3 AS TEXT) IS NULL" };
    let sql = format!(
        "SELECT {} FROM sim_diagnostics WHERE id < ?1 AND {of_session} AND {of_worker} ORDER BY id DESC LIMIT ?4",
        diagnostic::COLUMNS
    );
    let items = list(
        connection,
        &sql,
        &[before.into(), session.into(), worker.into(), sought(page).into()],
        diagnostic::read,
    )?;
    let numbered = List::Diagnostics.page(page, items, |(number, _)| number.to_string());
    Ok(Page { items: numbered.items.into_iter().map(|(_, line)| line).collect(), next: numbered.next })
}
