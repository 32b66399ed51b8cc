//! The store as its tables, for copies of all of it.

use crate::{
    connection::{check_moved, open_reader},
    migrate::{self, SCHEMA_VERSION},
    sink::{SqliteSink, Statements},
    sql::{Fault, SqliteSql},
    store::SqliteStore,
};
use muster_store::StoreError;
use muster_tables::{Sink, Sql, Whole};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// Reads one state of all tables in a data directory, also while a server writes there.
///
/// # Errors
/// When there is none, its tables are of another version, or `read` fails.
pub fn read_tables<T, E: From<StoreError>>(
    directory: &Path,
    read: impl FnOnce(&dyn Sql) -> Result<T, E>,
) -> Result<T, E> {
    let mut connection = open(directory).map_err(StoreError::from)?;
    let transaction = connection.transaction().map_err(|error| StoreError::from(Fault::from(error)))?;
    read(&SqliteSql::new(&transaction))
}

impl SqliteStore {
    /// Fills the store in one transaction; what `fill` put is there if it answers well, and nothing of it if not.
    ///
    /// # Errors
    /// When the database or `fill` fails.
    pub fn fill<T, E: From<StoreError>>(
        &self,
        fill: impl FnOnce(&mut dyn Whole) -> Result<T, E>,
    ) -> Result<T, E> {
        let failed = |error| StoreError::from(Fault::from(error));
        let mut connection = self.shared.writer();
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let mut statements = Statements::default();
        let sink = SqliteSink { connection: &transaction, statements: &mut statements };
        let answer = fill(&mut Filling { sql: SqliteSql::new(&transaction), sink })?;
        transaction.commit().map_err(failed)?;
        Ok(answer)
    }

    /// Notes in the directory that the data are elsewhere from now on, so that no server begins here by mistake.
    ///
    /// # Errors
    /// When the file system says no.
    pub fn mark_moved(&self, to: &str) -> Result<(), StoreError> {
        self.shared.home().mark_moved(to).map_err(StoreError::from)
    }
}

struct Filling<'a> {
    sql: SqliteSql<'a>,
    sink: SqliteSink<'a>,
}

impl Whole for Filling<'_> {
    fn sql(&self) -> &dyn Sql {
        &self.sql
    }

    fn sink(&mut self) -> &mut dyn Sink {
        &mut self.sink
    }
}

fn open(directory: &Path) -> Result<Connection, Fault> {
    let database = directory.join("muster.db");
    if !database.exists() {
        return Err(Fault::NoDatabase(directory.to_owned()));
    }
    // A copy of what was left behind would be taken for one of what is.
    check_moved(directory)?;
    let connection = open_reader(&database)?;
    migrate::check(&connection)?;
    match migrate::version(&connection)? {
        SCHEMA_VERSION => Ok(connection),
        found => Err(Fault::OtherVersion { found }),
    }
}
