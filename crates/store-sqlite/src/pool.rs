//! Reading connections, kept for the next reader.

use crate::{fault::Fault, store::Shared};
use rusqlite::{Connection, Transaction};
use std::sync::{Arc, Mutex, PoisonError};

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

    /// Reads in a transaction of its own: all of it sees one state.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut connection = self.take()?;
        let transaction = connection.transaction()?;
        let answer = read(&transaction)?;
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

/// More readers at once than this are rare; theirs are closed after use.
const IDLE_MAX: usize = 8;
