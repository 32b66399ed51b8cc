//! The shared statements, run by SQLite.

use crate::fault::Fault;
use muster_tables::{Cells, Fault as Said, Sql, Take, Value};
use rusqlite::{
    Connection, Row, ToSql, params_from_iter,
    types::{ToSqlOutput, ValueRef},
};
use std::cell::Cell;

/// A connection within a transaction.
pub(crate) struct SqliteSql<'a> {
    connection: &'a Connection,
    /// Other stores cannot ask while they are being answered: so nobody gets used to it here.
    is_asked: Cell<bool>,
}

/// A value on its way into a statement.
pub(crate) struct Bound<'a>(pub(crate) Value<'a>);

struct SqliteCells<'row, 'statement>(&'row Row<'statement>);

impl<'a> SqliteSql<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self { connection, is_asked: Cell::new(false) }
    }

    fn try_each(&self, sql: &str, params: &[Value<'_>], take: &mut Take<'_>) -> Result<(), Fault> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(params.iter().copied().map(Bound)))?;
        while let Some(row) = rows.next()? {
            take(&SqliteCells(row))?;
        }
        Ok(())
    }

    fn try_execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, Fault> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.execute(params_from_iter(params.iter().copied().map(Bound)))? as u64)
    }
}

impl Sql for SqliteSql<'_> {
    fn each(&self, sql: &str, params: &[Value<'_>], take: &mut Take<'_>) -> Result<(), Said> {
        let was_asked = self.is_asked.replace(true);
        debug_assert!(!was_asked, "asked while an answer is being read: {sql}");
        let answer = self.try_each(sql, params, take);
        self.is_asked.set(false);
        answer.map_err(Said::from)
    }

    fn execute(&self, sql: &str, params: &[Value<'_>]) -> Result<u64, Said> {
        debug_assert!(!self.is_asked.get(), "asked while an answer is being read: {sql}");
        self.try_execute(sql, params).map_err(Said::from)
    }
}

impl Cells for SqliteCells<'_, '_> {
    fn cell(&self, column: usize) -> Result<Value<'_>, Said> {
        match self.0.get_ref(column).map_err(Fault::from)? {
            ValueRef::Null => Ok(Value::Null),
            ValueRef::Integer(number) => Ok(Value::Integer(number)),
            // What is no text is not taken for one: whoever asks for a text is told which row has none.
            ValueRef::Text(bytes) => Ok(std::str::from_utf8(bytes).map_or(Value::Blob(bytes), Value::Text)),
            ValueRef::Blob(bytes) => Ok(Value::Blob(bytes)),
            ValueRef::Real(number) => Err(Said::corrupt(format!("{} = {number}", self.column_name(column)))),
        }
    }

    fn column_name(&self, column: usize) -> &str {
        self.0.as_ref().column_name(column).unwrap_or("?")
    }
}

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
