//! The server's tables, read with plain SQL, also while the server runs.

use crate::failure::Failure;
use muster_store::StoreError;
use rusqlite::{Connection, OpenFlags, Params, Row, types::FromSql};
use std::path::Path;

/// A connection that can only read.
pub(super) struct Tables(Connection);

impl Tables {
    pub(super) fn open(directory: &Path) -> Result<Self, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        Connection::open_with_flags(directory.join("muster.db"), flags).map(Self).map_err(failure)
    }

    /// A statement that gives one number.
    pub(super) fn count(&self, sql: &str, params: impl Params) -> Result<u64, Failure> {
        let count = self.0.query_row(sql, params, |row| row.get::<_, i64>(0));
        count.map(i64::unsigned_abs).map_err(failure)
    }

    /// A statement that gives one column.
    pub(super) fn column<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Vec<T>, Failure> {
        self.rows(sql, params, |row| row.get(0))
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Failure> {
        let mut statement = self.0.prepare(sql).map_err(failure)?;
        let rows = statement.query_map(params, read).map_err(failure)?;
        rows.collect::<rusqlite::Result<Vec<T>>>().map_err(failure)
    }
}

fn failure(error: rusqlite::Error) -> Failure {
    StoreError::Backend(error.to_string()).into()
}
