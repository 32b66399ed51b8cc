//! The store itself: opening it, and its handles.

use crate::{
    election::{Claim, PostgresElection, take_over},
    migrate::{check_to_read, check_whole, migrate},
    reader::Pool,
    session::{Purpose, Session},
    target::{Environment, Target},
};
use muster_store::{Election, Reader, Store, StoreError, Term};
use muster_tables::TableReader;
use std::{sync::Arc, time::Duration};

/// A PostgreSQL database that several servers share.
///
/// All its handles wait for the database on the thread that calls them; none may be called where async code runs.
pub struct PostgresStore {
    target: Arc<Target>,
    reader: Arc<TableReader<Pool>>,
    election: Arc<PostgresElection>,
}

/// Settings that the address of a database leaves open.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Longest silence of a leader. Connections that lost their way are noticed within twice as long.
    pub lease: Duration,
    /// For an address without one; `None`: what `PGPASSWORD` says.
    pub password: Option<String>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { lease: Duration::from_secs(3), password: None }
    }
}

impl PostgresStore {
    /// Connects, sees whether the database keeps what it is told, and brings its tables to the version this binary knows.
    ///
    /// The address has the form that libpq takes: `postgres://user:password@host1,host2/database?sslmode=verify-full`.
    /// Of several hosts the one that takes writes is used. `sslmode`, `sslrootcert`, `sslcert` and `sslkey` mean what they
    /// mean there, and so do `PGHOST`, `PGPORT`, `PGUSER` and `PGDATABASE` for what the address leaves out.
    ///
    /// # Errors
    /// When the database cannot be reached, is not safe to use, or holds what this binary does not know, or only a part
    /// of what was to be copied there.
    pub fn open(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let target = parse(url, options)?;
        let session = Session::open(&target, Purpose::Migrate)?;
        migrate(&session)?;
        check_whole(&session)?;
        Ok(Self::at(target))
    }

    /// As [`Self::open`], for [`Self::fill`]: what was begun may be ended.
    ///
    /// # Errors
    /// As those of [`Self::open`].
    pub fn open_to_fill(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let target = parse(url, options)?;
        migrate(&Session::open(&target, Purpose::Migrate)?)?;
        Ok(Self::at(target))
    }

    /// Connects to read only: nothing is made or altered, and a standby will do.
    ///
    /// # Errors
    /// [`StoreError::Absent`] where there are no tables; else as those of [`Self::open`], and when the tables are not of
    /// this binary's version.
    pub fn open_to_read(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let target = parse(url, options)?.for_reading();
        check_to_read(&Session::open(&target, Purpose::Read)?, &target.shown())?;
        Ok(Self::at(target))
    }

    fn at(target: Target) -> Self {
        let target = Arc::new(target);
        Self {
            reader: Arc::new(TableReader::new(Pool::new(Arc::clone(&target)))),
            election: Arc::new(PostgresElection::new(Arc::clone(&target))),
            target,
        }
    }

    /// Address of the database, without its secrets.
    #[must_use]
    pub fn place(&self) -> String {
        self.target.shown()
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn shared_election(&self) -> &PostgresElection {
        &self.election
    }

    /// A secret that all servers know alike: the candidate, if none has this name yet.
    pub fn secret(&self, name: &str, candidate: &str) -> Result<String, StoreError> {
        let session = Session::open(&self.target, Purpose::Lookup)?;
        let add = "INSERT INTO server_secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        let read = "SELECT value FROM server_secrets WHERE name = $1";
        session.ask(session.client().execute(add, &[&name, &candidate]))?;
        let row = session.ask(session.client().query_one(read, &[&name]))?;
        Ok(row.try_get(0).map_err(|error| session.fault(&error))?)
    }
}

fn parse(url: &str, options: &PostgresOptions) -> Result<Target, StoreError> {
    Target::parse(url, &Environment::read(options.password.clone()), options.lease)
}

impl Store for PostgresStore {
    fn begin_term(&self) -> Result<Term, StoreError> {
        self.begin_term_beyond(0)
    }

    fn begin_term_beyond(&self, epoch: u64) -> Result<Term, StoreError> {
        let claim = Claim { seen: None, candidate: None, epoch_seen: epoch };
        take_over(&self.target, &claim)?.ok_or_else(|| {
            StoreError::Backend("another server is just taking the lead; try again in a moment".to_owned())
        })
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::<TableReader<Pool>>::clone(&self.reader)
    }

    fn election(&self) -> Option<Arc<dyn Election>> {
        Some(Arc::<PostgresElection>::clone(&self.election))
    }
}
