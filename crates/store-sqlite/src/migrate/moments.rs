//! When a worker was last seen, however an older program wrote it down (P12).

use crate::fault::Fault;
use rusqlite::{Connection, OptionalExtension};

/// What the column is called.
pub(super) const NEW: &str = "last_seen_at";

/// What it was called.
pub(super) const OLD: &str = "last_heartbeat_at";

/// SQL for a column's moment in milliseconds: a number is one, or seconds where it is small; a text is a number or
/// ISO 8601, in UTC unless it says.
pub(super) fn moment(column: &str) -> String {
    // In milliseconds this is a day of 1973, in seconds one of 5138.
    let number = |value: &str| {
        format!("CAST(round(CASE WHEN abs({value}) < 1e11 THEN {value} * 1000 ELSE {value} END) AS INTEGER)")
    };
    let (number, text) = (number(column), number(&format!("CAST({column} AS REAL)")));
    format!(
        "CASE typeof({column}) WHEN 'integer' THEN {number} WHEN 'real' THEN {number} \
         WHEN 'text' THEN CASE WHEN {column} <> '' AND {column} NOT GLOB '*[^0-9.]*' AND {column} NOT GLOB '*.*.*' THEN {text} \
         WHEN {column} GLOB '[0-9][0-9][0-9][0-9]-*' THEN CAST(round(unixepoch({column}, 'subsec') * 1000) AS INTEGER) \
         END END"
    )
}

/// SQL for when a worker was last seen: the column's new name counts before its old one.
pub(super) fn last_seen(columns: &[String]) -> String {
    let there = [NEW, OLD].into_iter().filter(|name| columns.iter().any(|column| column == name));
    let moments: Vec<String> = there.map(moment).collect();
    format!("coalesce({}, NULL)", moments.join(", "))
}

/// Refuses moments that cannot be read: rather than lose one, nothing is changed.
pub(super) fn check(connection: &Connection, table: &str, columns: &[String]) -> Result<(), Fault> {
    for column in [NEW, OLD].into_iter().filter(|name| columns.iter().any(|column| column == name)) {
        let sql = format!(
            "SELECT format('workers %s: %s = %s', name, '{column}', {column}) FROM {table} \
             WHERE {column} IS NOT NULL AND {column} <> '' AND {} IS NULL LIMIT 1",
            moment(column)
        );
        let senseless: Option<String> = connection.query_row(&sql, [], |row| row.get(0)).optional()?;
        if let Some(what) = senseless {
            return Err(Fault::corrupt(format!("{what} is no moment; correct or clear it")));
        }
    }
    Ok(())
}
