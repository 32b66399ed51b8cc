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

use crate::{
    fault::Fault,
    shape::{Put, TableShape},
    sql::{Cells, Row, Sink, Sql},
    value::Value,
};

/// All tables, in an order in which they can be copied: what says how far something was numbered stands last.
pub const TABLES: &[TableShape] = &[
    worker::TABLE,
    lane::TABLE,
    job::TABLE,
    task::TABLE,
    log::TABLE,
    share::TABLE,
    stop::TABLE,
    secret::TABLE,
    worker_log::TABLE,
    report::MESSAGES,
    report::IDS,
    key::TABLE,
    alert::TABLE,
    renderer::TABLE,
    transition::TABLE,
    session::TABLE,
    session::BODIES,
    frame_task::TABLE,
    chunk::TABLE,
    replay::TABLE,
    quarantine::TABLE,
    diagnostic::TABLE,
    farm::TABLE,
    user::TABLE,
    login::TABLE,
    api_key::TABLE,
    audit::TABLE,
    pool_worker::TABLE,
    pool_job::TABLE,
    assignment::TABLE,
    pool_end::TABLE,
    pool_key::TABLE,
    schedule::TABLE,
    feed::TABLE,
    sequence::TABLE,
];

/// All rows of a query that is known to be short.
pub(crate) fn list<T>(
    connection: &dyn Sql,
    sql: &str,
    params: &[Value<'_>],
    read: impl Fn(&dyn Cells) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut items = Vec::new();
    connection.each(sql, params, &mut |row| {
        items.push(read(row)?);
        Ok(())
    })?;
    Ok(items)
}

/// The row of a query that gives at most one.
pub(crate) fn one<T>(
    connection: &dyn Sql,
    sql: &str,
    params: &[Value<'_>],
    read: impl Fn(&dyn Cells) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    Ok(list(connection, sql, params, read)?.pop())
}

/// Puts records into a table.
pub(crate) fn put<T>(
    sink: &mut dyn Sink,
    put: &'static Put,
    records: &[&T],
    fill: impl Fn(&T, &mut dyn Row) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if records.is_empty() {
        return Ok(());
    }
    sink.put(put, records.len(), &mut |n, row| fill(records[n], row))
}

/// Puts one row into a table.
pub(crate) fn put_one(sink: &mut dyn Sink, put: &'static Put, values: &[Value<'_>]) -> Result<(), Fault> {
    sink.put(put, 1, &mut |_, row| {
        row.values(values);
        Ok(())
    })
}

/// A count as a column keeps it.
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
    split(records, key, |_| false).0
}

/// Keeps of each key the last record that replaces its row as a whole, and the last after it that keeps a part of the
/// row; in this order they are to be written.
pub(crate) fn split<'a, T, K: Ord>(
    mut records: Vec<&'a T>,
    key: impl Fn(&'a T) -> K,
    keeps: impl Fn(&T) -> bool,
) -> (Vec<&'a T>, Vec<&'a T>) {
    records.sort_by_key(|record| key(record));
    let (mut whole, mut keeping) = (Vec::with_capacity(records.len()), Vec::new());
    for record in records {
        let is_same = |last: &mut &'a T| key(*last) == key(record);
        keeping.pop_if(is_same);
        if keeps(record) {
            keeping.push(record);
        } else {
            whole.pop_if(is_same);
            whole.push(record);
        }
    }
    (whole, keeping)
}

#[cfg(test)]
mod tests {
    use super::{latest, split};

    #[test]
    fn the_last_of_each_key_stays() {
        let records = [(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        assert_eq!(latest(records.iter().collect(), |record| record.0), [&(1, 'd'), &(2, 'c')]);
    }

    #[test]
    fn what_keeps_a_part_is_written_after_the_whole_before_it() {
        let records = [(1, 'a'), (1, 'b'), (1, '+'), (1, '-'), (2, '+'), (2, 'c'), (3, '+')];
        let (whole, keeping) =
            split(records.iter().collect(), |record| record.0, |record| "+-".contains(record.1));
        assert_eq!(whole, [&(1, 'b'), &(2, 'c')]);
        assert_eq!(keeping, [&(1, '-'), &(3, '+')]);
    }
}
