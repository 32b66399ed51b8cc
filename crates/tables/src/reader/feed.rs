//! The feed, from any number on.

use crate::{
    column::integer,
    fault::Fault,
    fields::Fields,
    record::{records, row},
    rows::feed::FeedRow,
    sql::Sql,
};
use muster_store::{FeedEntry, FeedPage};

/// Entries after a number, oldest first.
pub(crate) fn feed(connection: &dyn Sql, after: u64, limit: u32) -> Result<FeedPage, Fault> {
    let (from, oldest) = beginning(connection, after)?;
    // Numbers have no gaps: no row that begins later holds one of the first so many.
    let to = after.max(oldest.saturating_sub(1)).saturating_add(u64::from(limit));
    let to = i64::try_from(to).unwrap_or(i64::MAX);
    let rest = "WHERE first_seq >= ?1 AND first_seq <= ?2 ORDER BY first_seq";
    let batches: Vec<FeedRow> = records(connection, rest, &[integer(from)?.into(), to.into()])?;
    let mut entries: Vec<FeedEntry> = Vec::new();
    for batch in &batches {
        entries.extend(batch.entries_after(after)?);
    }
    entries.truncate(limit as usize);
    Ok(FeedPage { entries, oldest })
}

/// The first number of the row that holds the entry after a number, the last row that begins no later; and the oldest
/// number there is.
fn beginning(connection: &dyn Sql, after: u64) -> Result<(u64, u64), Fault> {
    let next = i64::try_from(after.saturating_add(1)).unwrap_or(i64::MAX);
    let sql =
        "SELECT (SELECT max(first_seq) FROM feed WHERE first_seq <= ?1), (SELECT min(first_seq) FROM feed)";
    let found = row(connection, sql, &[next.into()], |row| {
        let fields = Fields::new("feed", row);
        Ok((fields.number::<Option<_>>(0)?.unwrap_or(0), fields.number::<Option<_>>(1)?.unwrap_or(1)))
    })?;
    Ok(found.unwrap_or((0, 1)))
}
