//! The feed, from any number on.

use crate::{
    fault::Fault,
    fields::Fields,
    rows::{feed, integer, one},
};
use muster_store::{FeedEntry, FeedPage};
use rusqlite::Connection;

/// Entries after a number, oldest first.
pub(crate) fn feed(connection: &Connection, after: u64, limit: u32) -> Result<FeedPage, Fault> {
    let limit = limit as usize;
    let mut entries: Vec<FeedEntry> = Vec::new();
    let mut from = first_row(connection, after)?;
    let sql = format!("SELECT {} FROM feed WHERE first_seq >= ?1 ORDER BY first_seq LIMIT 1", feed::COLUMNS);
    while entries.len() < limit {
        let Some(run) = one(connection, &sql, [integer(from)?], feed::read)? else {
            break;
        };
        entries.extend(run.entries_after(after)?);
        from = run.last_seq() + 1;
    }
    entries.truncate(limit);
    Ok(FeedPage { entries, oldest: oldest(connection)? })
}

/// The row that holds the entry after a number: the last one that begins no later.
fn first_row(connection: &Connection, after: u64) -> Result<u64, Fault> {
    let next = i64::try_from(after.saturating_add(1)).unwrap_or(i64::MAX);
    let sql = "SELECT max(first_seq) FROM feed WHERE first_seq <= ?1";
    let found = one(connection, sql, [next], |row| Fields::new("feed", row).maybe_number(0))?;
    Ok(found.flatten().unwrap_or(0))
}

fn oldest(connection: &Connection) -> Result<u64, Fault> {
    let found = one(connection, "SELECT min(first_seq) FROM feed", [], |row| {
        Fields::new("feed", row).maybe_number(0)
    })?;
    Ok(found.flatten().unwrap_or(1))
}
