//! Reading connections, kept for the next reader.

use crate::{fault::Fault, sql::SqliteSql, store::Shared};
use muster_tables::{Connections, Fault as Said, Sql};
use rusqlite::Connection;
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
