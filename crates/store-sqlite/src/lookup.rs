//! Point reads of what memory has forgotten.

use crate::{fault::Fault, sql::SqliteSql, store::Shared};
use muster_model::{Facts, Key};
use muster_store::{Lookup, StoreError};
use rusqlite::Connection;
use std::sync::Arc;

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
