//! Leadership (S18): who leads, and how a term begins.

use crate::{
    reader::PostgresLookup,
    session::{Home, Purpose, Session},
    target::Target,
    transaction::Transaction,
    writer::{Fence, LOAD, PostgresWriter},
};
use muster_model::Timestamp;
use muster_store::{Candidate, Election, Loaded, Standing, StoreError, Term};
use muster_tables::{Fault, FeedEnd, last_of_feed, load};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_postgres::{Error, Row, types::FromSql};

/// Leadership, looked at and renewed by a connection of its own: a long commit keeps nobody from showing life.
pub(crate) struct PostgresElection {
    target: Arc<Target>,
    session: Mutex<Option<Session>>,
    /// Database server on which our last term began. Another one may lack commits that the term remembers.
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
                // A promoted standby may lack commits that the term remembers, and a retry would not bring them back.
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

/// A claim to a term, and its condition.
pub(crate) struct Claim<'a> {
    /// Standing that must not have changed; `None`: any will do.
    pub(crate) seen: Option<&'a Standing>,
    /// The next leader, and the connection by which it will show life; `None`: neither.
    pub(crate) candidate: Option<(&'a Candidate, Renewer)>,
    /// The epoch is larger than this one.
    pub(crate) epoch_seen: u64,
}

/// A connection as the server knows it.
pub(crate) struct Renewer {
    pid: i32,
    /// When it began: process ids are used again.
    start: String,
    pub(crate) home: Home,
}

/// State at the beginning of a term.
struct NewTerm {
    epoch: i64,
    fence: Fence,
    commits: i64,
    now: Timestamp,
    feed: FeedEnd,
}

/// Begins a term; `None`: leadership does not stand as the claim says, or somebody else is just taking it.
pub(crate) fn take_over(target: &Arc<Target>, claim: &Claim<'_>) -> Result<Option<Term>, StoreError> {
    let lookup = PostgresLookup::open(target)?;
    let session = Session::open(target, Purpose::Write)?;
    claim.check_home(&[lookup.home(), session.home()])?;
    let Some(NewTerm { epoch, fence, commits, now, feed }) = claim.enter(&session)? else {
        return Ok(None);
    };
    Ok(Some(Term {
        epoch: epoch.cast_unsigned(),
        feed_seq: feed.seq,
        commits: commits.cast_unsigned(),
        now: Some(now),
        writer: Box::new(PostgresWriter::new(session, Arc::clone(target), fence, feed)),
        lookup: Box::new(lookup),
    }))
}

impl Renewer {
    pub(crate) fn of(session: &Session) -> Result<Self, Fault> {
        let sql = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()";
        let row = session.ask(session.client().query_one(sql, &[]))?;
        let read =
            |row: &Row| Ok(Self { pid: row.try_get(0)?, start: row.try_get(1)?, home: session.home() });
        read(&row).map_err(|error: Error| session.fault(&error))
    }
}

impl Claim<'_> {
    /// Sees that all connections of a term lead to one server: one that was just replaced may not know it yet.
    fn check_home(&self, homes: &[Home]) -> Result<(), StoreError> {
        let renewer = self.candidate.as_ref().map(|(_, renewer)| &renewer.home);
        let first = renewer.or(homes.first());
        if homes.iter().all(|home| Some(home) == first) {
            return Ok(());
        }
        Err(StoreError::Backend("the database was just started anew or replaced".to_owned()))
    }

    fn enter(&self, session: &Session) -> Result<Option<NewTerm>, Fault> {
        session.ask(session.client().batch_execute(BEGIN))?;
        let entered = self.take_rows(session);
        let end = if matches!(entered, Ok(Some(_))) { "COMMIT" } else { "ROLLBACK" };
        let ended = session.ask(session.client().batch_execute(end));
        let entered = entered?;
        ended.map(|()| entered)
    }

    /// First the leader's row, so that of all who would lead only one comes to the fence.
    fn take_rows(&self, session: &Session) -> Result<Option<NewTerm>, Fault> {
        let Some(epoch) = self.take_leader_row(session)? else {
            return Ok(None);
        };
        let row = take_fence(session, epoch)?;
        let statement = session.statement(META)?;
        session.ask(session.client().execute(&statement, &[&epoch]))?;
        let feed = last_of_feed(&Transaction::begun(session))?;
        let read = |row: &Row| {
            let (commits, now) = (row.try_get(0)?, Timestamp(row.try_get(1)?));
            Ok(NewTerm { epoch, fence: Fence::new(epoch, row.try_get(2)?), commits, now, feed })
        };
        read(&row).map(Some).map_err(|error: Error| session.fault(&error))
    }

    fn take_leader_row(&self, session: &Session) -> Result<Option<i64>, Fault> {
        let seen = self.seen.map(|seen| Ok::<_, StoreError>((stored(seen.epoch)?, stored(seen.renewals)?)));
        let seen = seen.transpose()?;
        let candidate = self.candidate.as_ref();
        let statement = session.statement(LEADER)?;
        let rows = session.ask_for(session.client().query(
            &statement,
            &[
                &seen.map(|seen| seen.0),
                &seen.map(|seen| seen.1),
                &stored(self.epoch_seen)?,
                &candidate.map(|(candidate, _)| candidate.node.as_str()),
                &candidate.map(|(candidate, _)| candidate.address.as_str()),
                &candidate.map(|(_, renewer)| renewer.pid),
                &candidate.map(|(_, renewer)| renewer.start.as_str()),
            ],
        ))?;
        let row = rows.as_ref().and_then(|rows| rows.first());
        row.map(|row| row.try_get(0)).transpose().map_err(|error| session.fault(&error))
    }
}

/// Closes the fence behind us: from here on nothing of an older term is kept.
///
/// The last leader may stand still in the middle of a commit and hold it; a while is waited, then whoever holds it is
/// thrown out. What was not committed by then never will be.
fn take_fence(session: &Session, epoch: i64) -> Result<Row, Fault> {
    let statement = session.statement(FENCE)?;
    let take = || session.ask_for(session.client().query_one(&statement, &[&epoch]));
    session.ask(session.client().batch_execute("SAVEPOINT before_fence"))?;
    if let Some(row) = take()? {
        return Ok(row);
    }
    session.ask(session.client().batch_execute(WAIT_LONGER))?;
    session.ask(session.client().query(THROW_OUT, &[]))?;
    take()?.ok_or_else(|| Fault::Database("somebody holds the row of muster.fence; see pg_locks".to_owned()))
}

const LOOK: &str = "SELECT epoch, renewals, node, address, EXISTS (SELECT 1 FROM pg_stat_activity a \
     WHERE a.pid = l.pid AND a.backend_start = l.backend_start) FROM leader l WHERE id = 1";

/// The session may be another than before: it is named each time.
const RENEW: &str = "UPDATE leader SET renewals = renewals + 1, renewed_at = clock_timestamp(), pid = a.pid, \
     backend_start = a.backend_start FROM pg_stat_activity a \
     WHERE leader.id = 1 AND leader.epoch = ?1 AND leader.node IS NOT NULL AND a.pid = pg_backend_pid()";

const RESIGN: &str = "UPDATE leader SET node = NULL, address = NULL, pid = NULL, backend_start = NULL, \
     renewed_at = clock_timestamp() WHERE id = 1 AND epoch = ?1";

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '300ms'";

/// The epoch also stands where every store has it, so that a copy of the tables knows how far epochs were given.
const META: &str = "UPDATE meta SET value = ?1 WHERE key = 'epoch'";

const LEADER: &str = "UPDATE leader SET epoch = greatest(epoch, (SELECT f.epoch FROM fence f), \
     (SELECT m.value FROM meta m WHERE m.key = 'epoch'), ?3) + 1, \
     renewals = renewals + 1, renewed_at = clock_timestamp(), node = ?4, address = ?5, pid = ?6, \
     backend_start = CAST(CAST(?7 AS TEXT) AS TIMESTAMPTZ) \
     WHERE id = 1 AND (CAST(?1 AS BIGINT) IS NULL OR (epoch = ?1 AND renewals = ?2)) RETURNING epoch";

const FENCE: &str = "UPDATE fence SET epoch = ?1, held = true WHERE id = 1 \
     RETURNING commits, greatest(now_ms, CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)), \
     CAST(ctid AS TEXT)";

const WAIT_LONGER: &str = "ROLLBACK TO before_fence; SET LOCAL lock_timeout = '5s'";

/// Everybody who changed the row, or waits to, in a transaction that has not ended.
const THROW_OUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'relation' \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND relation = 'fence'::regclass AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()";
