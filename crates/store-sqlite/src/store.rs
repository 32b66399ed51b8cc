//! The store itself: one file, one writing connection, as many reading ones as are needed.

use crate::{
    connection::Home, fault::Fault, lookup::SqliteLookup, migrate::migrate, pool::Pool, sql::SqliteSql,
    writer::SqliteWriter,
};
use muster_store::{Reader, Store, StoreError, Term};
use muster_tables::{FeedEnd, TableReader, last_of_feed};
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

/// What all handles hold on to: while one lives, the directory stays taken.
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
