//! The store itself: one file, one writing connection, as many reading ones as are needed.

use crate::{
    connection::Home,
    migrate::migrate,
    sql::{Fault, SqliteSql},
    writer::SqliteWriter,
};
use muster_model::{Facts, Key};
use muster_store::{Lookup, Reader, Store, StoreError, Term};
use muster_tables::{Connections, Fault as Said, FeedEnd, Sql, TableReader, last_of_feed};
use rusqlite::{Connection, TransactionBehavior};
use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A store in the file `muster.db` of a data directory.
///
/// Anybody may read the file with SQL while it is in use; nobody else may write it.
pub struct SqliteStore {
    pub(crate) shared: Arc<Shared>,
    reader: Arc<TableReader<Pool>>,
}

impl SqliteStore {
    /// Opens the store in a directory, both made where missing, and brings its tables up to date.
    ///
    /// # Errors
    /// When another process has it, a newer version wrote it, or the file system says no.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        Self::try_open(directory).map_err(StoreError::from)
    }

    fn try_open(directory: &Path) -> Result<Self, Fault> {
        let home = Home::take(directory)?;
        let mut connection = home.writer()?;
        migrate(&mut connection)?;
        let shared = Arc::new(Shared { connection: Mutex::new(connection), home });
        let reader = Arc::new(TableReader::new(Pool::new(Arc::clone(&shared))));
        Ok(Self { shared, reader })
    }

    fn try_begin_term(&self, beyond: u64) -> Result<Term, Fault> {
        let (epoch, feed) = count_epoch(&mut self.shared.writer(), beyond)?;
        let lookup = SqliteLookup::new(Arc::clone(&self.shared))?;
        let writer = SqliteWriter::new(Arc::clone(&self.shared), epoch, feed);
        Ok(Term {
            epoch: epoch.unsigned_abs(),
            feed_seq: feed.seq,
            commits: 0,
            now: None,
            writer: Box::new(writer),
            lookup: Box::new(lookup),
        })
    }
}

impl Store for SqliteStore {
    fn begin_term(&self) -> Result<Term, StoreError> {
        self.begin_term_beyond(0)
    }

    fn begin_term_beyond(&self, epoch: u64) -> Result<Term, StoreError> {
        self.try_begin_term(epoch).map_err(StoreError::from)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.reader) as Arc<dyn Reader>
    }
}

/// State that all handles share: while one lives, the directory stays taken.
pub(crate) struct Shared {
    // Before the home: the file is closed before its lock is given back.
    connection: Mutex<Connection>,
    home: Home,
}

impl Shared {
    /// The one connection that writes. A panic elsewhere cannot have left it inside a transaction.
    pub(crate) fn writer(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory, taken.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// A new connection that reads.
    pub(crate) fn open_reader(&self) -> Result<Connection, Fault> {
        self.home.reader()
    }
}

fn count_epoch(connection: &mut Connection, beyond: u64) -> Result<(i64, FeedEnd), Fault> {
    let beyond = i64::try_from(beyond).map_err(|_| Fault::corrupt(format!("epoch {beyond}: too large")))?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let epoch = transaction.query_row(
        "UPDATE meta SET value = max(value, ?1) + 1 WHERE key = 'epoch' RETURNING value",
        [beyond],
        |row| row.get(0),
    )?;
    let feed = last_of_feed(&SqliteSql::new(&transaction))?;
    transaction.commit()?;
    Ok((epoch, feed))
}

/// A connection for the driver alone.
pub(crate) struct SqliteLookup {
    connection: Connection,
    // After the connection: the directory is let go of when the file is closed.
    _shared: Arc<Shared>,
}

impl SqliteLookup {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Self, Fault> {
        Ok(Self { connection: shared.open_reader()?, _shared: shared })
    }

    fn try_facts(&mut self, keys: &[Key]) -> Result<Facts, Fault> {
        // One transaction: one state for all, and one lock of the file instead of one for each.
        let transaction = self.connection.transaction()?;
        let facts = muster_tables::facts(&SqliteSql::new(&transaction), keys)?;
        transaction.commit()?;
        Ok(facts)
    }
}

impl Lookup for SqliteLookup {
    fn facts(&mut self, keys: &[Key]) -> Result<Facts, StoreError> {
        self.try_facts(keys).map_err(StoreError::from)
    }
}

/// Hands out connections; opens one when all are in use.
pub(crate) struct Pool {
    // Before the shared part: the file is closed before the directory is let go of.
    idle: Mutex<Vec<Connection>>,
    shared: Arc<Shared>,
}

impl Pool {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { idle: Mutex::default(), shared }
    }

    fn try_read<T>(&self, read: impl FnOnce(&dyn Sql) -> Result<T, Said>) -> Result<T, Fault> {
        let mut connection = self.take()?;
        let transaction = connection.transaction()?;
        let answer = read(&SqliteSql::new(&transaction))?;
        transaction.commit()?;
        self.give_back(connection);
        Ok(answer)
    }

    fn take(&self) -> Result<Connection, Fault> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.shared.open_reader(), Ok)
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }
}

impl Connections for Pool {
    fn read<T>(&self, read: impl FnOnce(&dyn Sql) -> Result<T, Said>) -> Result<T, Said> {
        self.try_read(read).map_err(Said::from)
    }
}

/// More readers at once than this are rare; theirs are closed after use.
const IDLE_MAX: usize = 8;
