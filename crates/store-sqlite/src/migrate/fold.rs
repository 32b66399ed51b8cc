//! An old column of table `workers` becomes part of the new one, and no value is lost (P12).

use super::{
    columns,
    moments::{NEW, OLD, check, last_seen},
};
use crate::fault::Fault;
use rusqlite::Connection;

/// Does away with the old column, if it is there.
pub(super) fn fold(connection: &Connection) -> Result<(), Fault> {
    let there = columns(connection, "workers")?;
    if !there.iter().any(|column| column == OLD) {
        return Ok(());
    }
    check(connection, "workers", &there)?;
    if !there.iter().any(|column| column == NEW) {
        connection.execute_batch(&format!("ALTER TABLE workers ADD COLUMN {NEW} INTEGER"))?;
    }
    connection.execute_batch(&format!("UPDATE workers SET {NEW} = {}", last_seen(&there)))?;
    drop_indexes(connection)?;
    connection.execute_batch(&format!("ALTER TABLE workers DROP COLUMN {OLD}"))?;
    Ok(())
}

/// An index would keep its column from going.
fn drop_indexes(connection: &Connection) -> Result<(), Fault> {
    let mut statement = connection.prepare(
        "SELECT DISTINCT l.name FROM pragma_index_list('workers') l JOIN pragma_index_info(l.name) i \
         WHERE i.name = ?1",
    )?;
    let names = statement.query_map([OLD], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    for name in names {
        connection.execute_batch(&format!("DROP INDEX \"{}\"", name.replace('"', "\"\"")))?;
    }
    Ok(())
}
