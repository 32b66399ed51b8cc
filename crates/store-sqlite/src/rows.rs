//! One file per table: its columns, how a record becomes a row and a row a record.

pub(crate) mod alert;
pub(crate) mod api_key;
pub(crate) mod assignment;
pub(crate) mod audit;
pub(crate) mod chunk;
pub(crate) mod diagnostic;
pub(crate) mod farm;
pub(crate) mod feed;
pub(crate) mod frame_task;
pub(crate) mod job;
pub(crate) mod key;
pub(crate) mod lane;
mod lists;
pub(crate) mod log;
pub(crate) mod login;
pub(crate) mod pool_end;
pub(crate) mod pool_job;
pub(crate) mod pool_key;
pub(crate) mod pool_worker;
pub(crate) mod quarantine;
pub(crate) mod renderer;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod schedule;
pub(crate) mod scope;
pub(crate) mod secret;
pub(crate) mod sequence;
pub(crate) mod session;
pub(crate) mod share;
pub(crate) mod specs;
pub(crate) mod stop;
pub(crate) mod task;
pub(crate) mod transition;
pub(crate) mod user;
pub(crate) mod worker;
pub(crate) mod worker_log;

use crate::fault::Fault;
use rusqlite::{Connection, Params, Row};

/// Hands each row of a cached query to `take`, without collecting them.
pub(crate) fn each(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    mut take: impl FnMut(&Row<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

/// All rows of a cached query that is known to be short.
pub(crate) fn list<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut items = Vec::new();
    each(connection, sql, params, |row| {
        items.push(read(row)?);
        Ok(())
    })?;
    Ok(items)
}

/// The row of a cached query that gives at most one.
pub(crate) fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// A count as SQLite keeps it.
pub(crate) fn integer(count: u64) -> Result<i64, Fault> {
    i64::try_from(count).map_err(|_| Fault::corrupt(format!("{count} is more than a column can hold")))
}

/// A number to look for; one that no column can hold was never given, and neither was this.
pub(crate) fn sought_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(-1)
}

/// Keeps the last record of each key, in the order of the keys.
///
/// What is replaced within its own batch need not be written; rows in the order of their keys fall on
/// neighbouring pages.
pub(crate) fn latest<'a, T, K: Ord>(records: Vec<&'a T>, key: impl Fn(&'a T) -> K) -> Vec<&'a T> {
    needed(records, key, |_| true)
}

/// Keeps the last record of each key and those before it that it does not replace as a whole.
pub(crate) fn needed<'a, T, K: Ord>(
    mut records: Vec<&'a T>,
    key: impl Fn(&'a T) -> K,
    whole: impl Fn(&T) -> bool,
) -> Vec<&'a T> {
    records.sort_by_key(|record| key(record));
    let mut kept: Vec<&'a T> = Vec::with_capacity(records.len());
    for record in records {
        match kept.last_mut() {
            Some(last) if whole(record) && key(last) == key(record) => *last = record,
            _ => kept.push(record),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{latest, needed};

    #[test]
    fn the_last_of_each_key_stays() {
        let records = [(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        assert_eq!(latest(records.iter().collect(), |record| record.0), [&(1, 'd'), &(2, 'c')]);
    }

    #[test]
    fn what_is_not_replaced_as_a_whole_stays_too() {
        let records = [(1, 'a'), (1, 'b'), (1, '+'), (2, '+'), (2, 'c')];
        let kept = needed(records.iter().collect(), |record| record.0, |record| record.1 != '+');
        assert_eq!(kept, [&(1, 'b'), &(1, '+'), &(2, 'c')]);
    }
}
