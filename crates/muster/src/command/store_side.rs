//! A store as something to copy from or to: where it is, its tables, its secrets.

use crate::{
    assembly,
    config::{self, Config, Flags, StoreChoice},
    failure::Failure,
    secrets,
};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use muster_store::StoreError;
use muster_store_postgres::{PostgresOptions, PostgresStore, Stage};
use muster_store_sqlite::SqliteStore;
use muster_tables::{Sql, Whole};
use std::path::PathBuf;

/// Location of a store.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreLocation {
    /// The data directory of an embedded store, and of files [default: ./muster-data]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<String>,
    /// The store: sqlite, or a database, postgres://… [default: sqlite]
    #[arg(long, value_name = "STORE")]
    pub(super) store: Option<String>,
    /// A file of settings; give the one that the server is started with
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

/// A store to copy from or to.
pub(super) enum Side {
    /// In a data directory; taken only while it is filled.
    Embedded(PathBuf),
    /// A database.
    Shared(Box<PostgresStore>),
}

impl StoreLocation {
    /// All settings, with what this says laid over them.
    pub(super) fn settings(&self) -> Result<Config, Failure> {
        let flags = [("server.data", &self.data), ("server.store", &self.store)];
        let flags: Flags = flags.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect();
        Ok(Config::parse(&config::gather(self.config.as_deref(), flags)?)?)
    }
}

impl Side {
    /// Finds a store that is only read: nothing is made there, or altered.
    pub(super) fn open_to_read(place: &StoreLocation) -> Result<Self, Failure> {
        Self::open(&place.settings()?, PostgresStore::open_to_read)
    }

    /// Finds a store that is filled; its tables are made where they are missing.
    pub(super) fn open_to_fill(place: &StoreLocation) -> Result<Self, Failure> {
        Self::open(&place.settings()?, PostgresStore::open_to_fill)
    }

    fn open(config: &Config, open: Opening) -> Result<Self, Failure> {
        match &config.store {
            StoreChoice::Sqlite => Ok(Self::Embedded(config.data.clone())),
            StoreChoice::Postgres(url) => {
                let store = open(url.reveal(), &assembly::postgres_options(config.lease))?;
                Ok(Self::Shared(Box::new(store)))
            }
            StoreChoice::Memory => Err(Failure::Usage(
                "the store is memory: there is nothing to copy, or to keep a copy in".to_owned(),
            )),
        }
    }

    /// Reads one state of all tables.
    pub(super) fn read<T>(&self, read: impl FnOnce(&dyn Sql) -> Result<T, Failure>) -> Result<T, Failure> {
        match self {
            Self::Embedded(data) => muster_store_sqlite::read_tables(data, read),
            Self::Shared(store) => store.read_tables(read),
        }
    }

    /// Fills the store in one transaction, while no server uses it; its secrets become those given.
    pub(super) fn fill<T>(
        &self,
        stage: Stage,
        secrets: &[(String, String)],
        fill: impl FnOnce(&mut dyn Whole) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self {
            Self::Shared(store) => store.fill(stage, secrets, fill),
            // Secrets without their tables do no harm; tables without their secrets do.
            Self::Embedded(data) => SqliteStore::open(data)?.fill(|whole| {
                let answer = fill(whole)?;
                secrets::replace(data, secrets)?;
                Ok(answer)
            }),
        }
    }

    /// The secrets that the server made for itself, by name.
    pub(super) fn secrets(&self) -> Result<Vec<(String, String)>, Failure> {
        match self {
            Self::Embedded(data) => Ok(secrets::kept_in(data)?),
            Self::Shared(store) => Ok(store.secrets()?),
        }
    }

    /// Those of some secrets that servers on such a store have a use for, checked.
    pub(super) fn fitting(&self, given: &[(String, String)]) -> Result<Vec<(String, String)>, Failure> {
        Ok(match self {
            Self::Embedded(_) => secrets::fitting_files(given)?,
            Self::Shared(_) => secrets::fitting_stores(given)?,
        })
    }
}

type Opening = fn(&str, &PostgresOptions) -> Result<PostgresStore, StoreError>;

/// Tells a person how far a copy is.
pub(super) struct CopyProgress(ProgressBar);

impl CopyProgress {
    pub(super) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner().with_prefix(what);
        bar.set_style(ProgressStyle::with_template("{prefix} {msg}").expect("the template is fine"));
        Self(bar)
    }

    pub(super) fn say(&self, table: &str, rows: u64) {
        self.0.set_message(format!("{table}: {rows} rows"));
        self.0.tick();
    }

    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
