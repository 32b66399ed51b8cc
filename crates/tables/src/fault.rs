//! What can go wrong, before it is put in the words every store shares.

use muster_store::StoreError;

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The database said no.
    #[error("{0}")]
    Database(String),
    /// Said in the words that all stores share.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Fault {
    /// A row holds what it cannot hold.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Corrupt(what.into()))
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => error,
            Fault::Database(text) => Self::Backend(text),
        }
    }
}
