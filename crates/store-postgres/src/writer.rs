//! The writing end of a term.

use crate::{
    fence::{self, By, Fence},
    pipeline::{Step, rows_of},
    session::{Purpose, Session},
    sink::{Gathering, Puts},
    target::Target,
    transaction::Transaction,
};
use muster_store::{Batch, Cutoffs, Loaded, StoreError, Writer};
use muster_tables::{Fault, FeedEnd, Walk, load, prune, write_batch};
use std::sync::Arc;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;

/// Commits in the name of one epoch.
pub(crate) struct PostgresWriter {
    target: Arc<Target>,
    session: Session,
    /// Whether it was lost while something was asked: nobody knows what became of that.
    is_lost: bool,
    fence: Fence,
    feed: FeedEnd,
    puts: Puts,
    walk: Walk,
}

impl PostgresWriter {
    /// The session is the one that began the term.
    pub(crate) fn new(session: Session, target: Arc<Target>, fence: Fence, feed: FeedEnd) -> Self {
        let (puts, walk) = (Puts::default(), Walk::default());
        Self { target, session, is_lost: false, fence, feed, puts, walk }
    }

    /// Does as told on a session that is open; a server may have ended it while nothing was asked.
    fn act<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, StoreError> {
        if !self.is_lost && !self.session.is_open() {
            self.session = self.session.open_again(&self.target, Purpose::Write)?;
            self.puts = Puts::default();
        }
        let outcome = act(self);
        self.is_lost |= outcome.is_err() && !self.session.is_open();
        Ok(outcome?)
    }

    fn try_commit(&mut self, batch: &Batch) -> Result<(), Fault> {
        let feed = self.feed.after(batch)?;
        let place = match self.send(batch, feed.at, By::Place)? {
            Some(place) => place,
            // Nothing of it was kept; whether this term is over is seen when the row is found.
            None => self.send(batch, feed.at, By::Id)?.ok_or_else(fence::missing)?,
        };
        self.fence.stands_at(place);
        self.feed = feed;
        Ok(())
    }

    /// Commits a batch; answers where the fence stands then. `None`: it was not found, and nothing is kept.
    fn send(&mut self, batch: &Batch, moment: i64, by: By) -> Result<Option<String>, Fault> {
        let steps = self.steps(batch, moment, by)?;
        let request = rows_of(self.session.client(), &steps);
        let outcome = self.session.ask_unless(&SqlState::DIVISION_BY_ZERO, request);
        if outcome.is_err() && self.session.is_open() {
            // Only what could not even be sent leaves a transaction behind; if this fails, it ends with the session.
            let _ = self.session.ask(self.session.client().batch_execute("ROLLBACK"));
        }
        let Some(rows) = outcome? else {
            return Ok(None);
        };
        let row = rows.first().ok_or_else(fence::missing)?;
        row.try_get(0).map(Some).map_err(|error| self.session.fault(&error))
    }

    /// Everything that makes a batch durable, in one round trip: the fence first, so that nothing of a term that is over
    /// is even looked at.
    fn steps(&mut self, batch: &Batch, moment: i64, by: By) -> Result<Vec<Step>, Fault> {
        let bare =
            |sql| Ok::<_, Fault>(Step { statement: self.session.statement(sql)?, parameters: Vec::new() });
        let begin = bare(BEGIN)?;
        let commit = bare("COMMIT")?;
        let fence = self.fence.step(&self.session, moment, by)?;
        let mut gathering =
            Gathering { session: &self.session, puts: &mut self.puts, steps: vec![begin, fence] };
        write_batch(batch, moment, &mut gathering)?;
        gathering.steps.push(commit);
        Ok(gathering.steps)
    }

    fn try_prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, Fault> {
        let Self { session, fence, feed, walk, .. } = self;
        let (place, more) = Transaction::within(session, BEGIN, |sql| {
            let place = fence.pass(sql, feed.at)?;
            Ok::<_, Fault>((place, prune(sql, cutoffs, walk)?))
        })?;
        fence.stands_at(place);
        Ok(more)
    }
}

impl Writer for PostgresWriter {
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError> {
        self.act(|writer| Transaction::within(&writer.session, LOAD, |sql| load(sql, sink)))
    }

    #[allow(clippy::disallowed_methods, reason = "measures a commit for a warning; nothing is decided by it")]
    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let begun = Instant::now();
        let outcome = self.act(|writer| writer.try_commit(batch));
        let took = begun.elapsed();
        if took > self.target.lease {
            tracing::warn!(
                took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "a commit took longer than a lease; see what the database waits for: its disk, a standby or a lock"
            );
        }
        outcome
    }

    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError> {
        self.act(|writer| writer.try_prune(cutoffs))
    }
}

/// Whoever waits for the fence goes on with the row as it is then: a newer epoch is seen. Sessions that write do so only
/// where it is asked for: should this alone fail, whatever was sent along with it is refused.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Begins to read everything as one state; whole tables are read, and as fast as can be. What is asked for in an order has
/// an index that gives it: reading a million tasks along theirs is quicker than sorting them, and begins at once.
pub(crate) const LOAD: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; \
     SET LOCAL idle_in_transaction_session_timeout = 0; \
     SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on; \
     SET LOCAL enable_sort = off; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL work_mem = '256MB'";
