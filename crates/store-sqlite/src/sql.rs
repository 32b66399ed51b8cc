//! The shared statements, run by SQLite, and the faults of SQLite.

use crate::migrate::SCHEMA_VERSION;
use muster_store::StoreError;
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
            // Invalid UTF-8 stays a blob, so that a caller that expects text gets an error naming the row.
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

/// Reason why something in this crate failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// SQLite said no.
    #[error("sqlite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file system said no.
    #[error("{what}: {source}")]
    Io {
        /// The operation, and its path.
        what: String,
        /// Error of the operation.
        source: std::io::Error,
    },
    /// The SQLite linked in is too old.
    #[error("sqlite {found} can corrupt a database in WAL mode; 3.51.3 or later is needed")]
    OldSqlite {
        /// The version linked in.
        found: &'static str,
    },
    /// The file holds tables that no version of ours made.
    #[error("muster.db holds the tables of another program")]
    Foreign,
    /// The data went elsewhere.
    #[error("the data were moved to {to}: serve them from there; to go back to what was here before, remove {}", mark.display())]
    Moved {
        /// New location of the data.
        to: String,
        /// File that records the move.
        mark: std::path::PathBuf,
    },
    /// There is no database in this directory.
    #[error("there is no muster.db in {}: is it the right directory?", .0.display())]
    NoDatabase(std::path::PathBuf),
    /// The tables are not of this version.
    #[error(
        "the tables have version {found}, this binary reads {SCHEMA_VERSION}; start the server once with this version first"
    )]
    OtherVersion {
        /// In the file.
        found: u32,
    },
    /// Said where the statements are.
    #[error(transparent)]
    Tables(#[from] muster_tables::Fault),
    /// Said in the shared words already.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Fault {
    /// A row holds what it cannot hold.
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Corrupt(what.into()))
    }

    /// The file system said no to `what`.
    pub(crate) fn io(what: &str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let what = format!("{what} {}", path.display());
        move |source| Self::Io { what, source }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => error,
            Fault::Tables(fault) => fault.into(),
            moved @ Fault::Moved { .. } => Self::Unfit(moved.to_string()),
            absent @ Fault::NoDatabase(_) => Self::Absent(absent.to_string()),
            other => Self::Backend(other.to_string()),
        }
    }
}

impl From<Fault> for muster_tables::Fault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => Self::Store(error),
            Fault::Tables(fault) => fault,
            other => Self::Database(other.to_string()),
        }
    }
}
