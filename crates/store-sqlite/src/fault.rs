//! What can go wrong inside, before it is put in the words every store shares.

use crate::migrate::SCHEMA_VERSION;
use muster_store::StoreError;

/// Why something in this crate failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// SQLite said no.
    #[error("sqlite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file system said no.
    #[error("{what}: {source}")]
    Io {
        /// What was tried, on which path.
        what: String,
        /// What came of it.
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
        /// Where they are now.
        to: String,
        /// What says so.
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
