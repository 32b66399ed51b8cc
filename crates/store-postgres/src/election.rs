//! Who leads (S18).

use crate::{
    session::{Home, Purpose, Session},
    takeover::{Claim, Renewer, take_over},
    target::Target,
    transaction::Transaction,
    writer::LOAD,
};
use muster_store::{Candidate, Election, Loaded, Standing, StoreError, Term};
use muster_tables::{Fault, load};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_postgres::{Row, types::FromSql};

/// Leadership, looked at and renewed by a connection of its own: a long commit keeps nobody from showing life.
pub(crate) struct PostgresElection {
    target: Arc<Target>,
    session: Mutex<Option<Session>>,
    /// Where the last term of ours began. On another server what it remembers may never have been.
    home: Mutex<Option<Home>>,
}

impl PostgresElection {
    pub(crate) fn new(target: Arc<Target>) -> Self {
        Self { target, session: Mutex::default(), home: Mutex::default() }
    }

    fn session(&self) -> MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn home(&self) -> MutexGuard<'_, Option<Home>> {
        self.home.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks on the connection that shows life; a new one if the last was lost.
    fn ask<T>(&self, ask: impl FnOnce(&Session) -> Result<T, Fault>) -> Result<T, StoreError> {
        let mut slot = self.session();
        let session = match slot.take().filter(Session::is_open) {
            Some(session) => session,
            None => Session::open(&self.target, Purpose::Lead)?,
        };
        let answer = ask(&session);
        *slot = Some(session);
        Ok(answer?)
    }
}

impl Election for PostgresElection {
    fn look(&self) -> Result<Standing, StoreError> {
        self.ask(|session| {
            let statement = session.statement(LOOK)?;
            let row = session.ask(session.client().query_one(&statement, &[]))?;
            standing(&row).map_err(|error| session.fault(&error))
        })
    }

    fn take(
        &self,
        seen: &Standing,
        candidate: &Candidate,
        epoch_seen: u64,
    ) -> Result<Option<Term>, StoreError> {
        // The connection that will show life is named in the same step: nobody sees a leader without one.
        let renewer = self.ask(Renewer::of)?;
        let home = renewer.home.clone();
        let claim = Claim { seen: Some(seen), candidate: Some((candidate, renewer)), epoch_seen };
        let term = take_over(&self.target, &claim);
        match &term {
            Ok(Some(_)) => *self.home() = Some(home),
            Ok(None) => {}
            // It may have led to a server that is not the one any more.
            Err(_) => *self.session() = None,
        }
        term
    }

    fn renew(&self, epoch: u64) -> Result<(), StoreError> {
        let epoch = stored(epoch)?;
        self.ask(|session| {
            if self.home().as_ref().is_some_and(|home| *home != session.home()) {
                // Whoever was promoted may lack what the term remembers: trying again would not bring it back.
                tracing::warn!(epoch, "the database was started anew or replaced; the term is over");
                return Err(StoreError::Superseded.into());
            }
            let statement = session.statement(RENEW)?;
            match session.ask(session.client().execute(&statement, &[&epoch]))? {
                0 => Err(StoreError::Superseded.into()),
                _ => Ok(()),
            }
        })
    }

    fn resign(&self, epoch: u64) -> Result<(), StoreError> {
        let epoch = stored(epoch)?;
        self.ask(|session| {
            let statement = session.statement(RESIGN)?;
            session.ask(session.client().execute(&statement, &[&epoch])).map(|_| ())
        })
    }

    fn preload(&self, sink: &mut dyn FnMut(Loaded)) -> Result<u64, StoreError> {
        let session = Session::open(&self.target, Purpose::Read)?;
        let commits = Transaction::within(&session, LOAD, |sql| {
            let mut commits = Err(Fault::corrupt("fence: its row is missing"));
            sql.each("SELECT commits FROM fence WHERE id = 1", &[], &mut |row| {
                commits = match row.cell(0)? {
                    muster_tables::Value::Integer(commits) => Ok(commits.cast_unsigned()),
                    other => Err(Fault::corrupt(format!("fence: commits = {other:?}"))),
                };
                Ok(())
            })?;
            load(sql, sink)?;
            commits
        })?;
        Ok(commits)
    }
}

/// An epoch as it is stored; one that is too large was never given.
pub(crate) fn stored(epoch: u64) -> Result<i64, StoreError> {
    i64::try_from(epoch).map_err(|_| StoreError::Corrupt(format!("epoch {epoch}: too large")))
}

fn standing(row: &Row) -> Result<Standing, tokio_postgres::Error> {
    fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, tokio_postgres::Error> {
        row.try_get(column)
    }
    let leader = get::<Option<String>>(row, 2)?.zip(get::<Option<String>>(row, 3)?);
    Ok(Standing {
        epoch: get::<i64>(row, 0)?.cast_unsigned(),
        renewals: get::<i64>(row, 1)?.cast_unsigned(),
        leader: leader.map(|(node, address)| Candidate { node, address }),
        connected: get(row, 4)?,
    })
}

const LOOK: &str = "SELECT epoch, renewals, node, address, EXISTS (SELECT 1 FROM pg_stat_activity a \
     WHERE a.pid = l.pid AND a.backend_start = l.backend_start) FROM leader l WHERE id = 1";

/// The session may be another than before: it is named each time.
const RENEW: &str = "UPDATE leader SET renewals = renewals + 1, renewed_at = clock_timestamp(), pid = a.pid, \
     backend_start = a.backend_start FROM pg_stat_activity a \
     WHERE leader.id = 1 AND leader.epoch = ?1 AND leader.node IS NOT NULL AND a.pid = pg_backend_pid()";

const RESIGN: &str = "UPDATE leader SET node = NULL, address = NULL, pid = NULL, backend_start = NULL, \
     renewed_at = clock_timestamp() WHERE id = 1 AND epoch = ?1";
