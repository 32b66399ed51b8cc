//! The writing end of a term: each batch is one transaction.

use crate::{
    sink::{SqliteSink, Statements},
    sql::{Fault, SqliteSql},
    store::Shared,
};
use muster_store::{Batch, Cutoffs, Loaded, StoreError, Writer};
use muster_tables::{FeedEnd, Walk, load, prune, write_batch};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::sync::Arc;

/// The right to write, until a newer term begins.
pub(crate) struct SqliteWriter {
    shared: Arc<Shared>,
    epoch: i64,
    feed: FeedEnd,
    walk: Walk,
    statements: Statements,
}

impl SqliteWriter {
    pub(crate) fn new(shared: Arc<Shared>, epoch: i64, feed: FeedEnd) -> Self {
        Self { shared, epoch, feed, walk: Walk::default(), statements: Statements::default() }
    }

    fn try_commit(&mut self, batch: &Batch) -> Result<(), Fault> {
        let mut connection = self.shared.writer();
        let transaction = begin(&mut connection, self.epoch)?;
        let feed = self.feed.after(batch)?;
        let mut sink = SqliteSink { connection: &transaction, statements: &mut self.statements };
        write_batch(batch, feed.at, &mut sink)?;
        transaction.commit()?;
        self.feed = feed;
        Ok(())
    }

    fn try_load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
        let mut connection = self.shared.writer();
        let transaction = connection.transaction()?;
        load(&SqliteSql::new(&transaction), sink)?;
        transaction.commit()?;
        Ok(())
    }

    fn try_prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, Fault> {
        let mut connection = self.shared.writer();
        let transaction = begin(&mut connection, self.epoch)?;
        let more = prune(&SqliteSql::new(&transaction), cutoffs, &mut self.walk)?;
        transaction.commit()?;
        Ok(more)
    }
}

impl Writer for SqliteWriter {
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError> {
        self.try_load(sink).map_err(StoreError::from)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.try_commit(batch).map_err(StoreError::from)
    }

    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError> {
        self.try_prune(cutoffs).map_err(StoreError::from)
    }
}

/// Begins a transaction that no newer term can overtake: the epoch is read under the write lock.
fn begin(connection: &mut Connection, epoch: i64) -> Result<Transaction<'_>, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let current: i64 = transaction
        .prepare_cached("SELECT value FROM meta WHERE key = 'epoch'")?
        .query_row([], |row| row.get(0))?;
    if current == epoch { Ok(transaction) } else { Err(StoreError::Superseded.into()) }
}
