//! The writing end of a term, behind the fence.

use crate::{
    session::{Purpose, Session},
    sink::{Gathering, Puts},
    statement::{PipelineStep, rows_of},
    target::Target,
    transaction::Transaction,
    value::Argument,
};
use muster_store::{Batch, Cutoffs, Loaded, StoreError, Writer};
use muster_tables::{Fault, FeedEnd, Sql, Value, Walk, load, prune, write_batch};
use std::sync::Arc;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;

/// Commits in the name of one epoch.
pub(crate) struct PostgresWriter {
    target: Arc<Target>,
    session: Session,
    /// True if it was lost while something was asked: nobody knows what became of that.
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
            None => self.send(batch, feed.at, By::Id)?.ok_or_else(missing)?,
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
        let row = rows.first().ok_or_else(missing)?;
        row.try_get(0).map(Some).map_err(|error| self.session.fault(&error))
    }

    /// Everything that makes a batch durable, in one round trip: the fence first, so that nothing of a term that is over
    /// is even looked at.
    fn steps(&mut self, batch: &Batch, moment: i64, by: By) -> Result<Vec<PipelineStep>, Fault> {
        let bare = |sql| {
            Ok::<_, Fault>(PipelineStep { statement: self.session.statement(sql)?, parameters: Vec::new() })
        };
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

/// The fence as a term last left it.
///
/// Every commit makes a new version of its row, and for as long as anybody reads an older state, as a backup does, none of
/// them can be cleared away. Whoever looks for the row by its key walks past all of them; whoever knows where the newest
/// stands does not. That a version is the newest and of this term is seen to all the same: what was replaced is not found
/// or is followed to what replaced it, and the epoch is compared with that of the version that is written anew.
pub(crate) struct Fence {
    epoch: i64,
    /// Location of the newest version of its row (PostgreSQL's `ctid`).
    place: String,
}

/// Way to find the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// By its last known location; a table that was rewritten has it elsewhere.
    Place,
    Id,
}

impl Fence {
    pub(crate) fn new(epoch: i64, place: String) -> Self {
        Self { epoch, place }
    }

    /// The step that passes it; it answers where the row stands then.
    pub(crate) fn step(&self, session: &Session, moment: i64, by: By) -> Result<PipelineStep, Fault> {
        let mut parameters = vec![Argument::Integer(self.epoch), Argument::Integer(moment)];
        let sql = match by {
            By::Place => {
                parameters.push(Argument::Text(self.place.as_str().into()));
                BY_PLACE
            }
            By::Id => BY_ID,
        };
        Ok(PipelineStep { statement: session.statement(sql)?, parameters })
    }

    /// Passes it as part of a transaction; answers where the row stands once that is committed.
    pub(crate) fn pass(&self, sql: &dyn Sql, moment: i64) -> Result<String, Fault> {
        let mut place = None;
        sql.each(BY_ID, &[self.epoch.into(), moment.into()], &mut |row| {
            if let Value::Text(text) = row.cell(0)? {
                place = Some(text.to_owned());
            }
            Ok(())
        })?;
        place.ok_or_else(missing)
    }

    /// Notes where the row stands after a commit.
    pub(crate) fn stands_at(&mut self, place: String) {
        self.place = place;
    }
}

/// The error for a table without its row.
pub(crate) fn missing() -> Fault {
    Fault::corrupt("fence: its row is missing")
}

/// Passes the fence. A term that is over breaks the constraint, and the transaction with it; so does the division, where
/// no row was found.
macro_rules! pass {
    ($found:literal) => {
        concat!(
            "WITH passed AS (UPDATE fence SET commits = commits + 1, held = (epoch = ?1), ",
            "now_ms = greatest(now_ms, ?2) WHERE ",
            $found,
            " RETURNING CAST(ctid AS TEXT) AS place) ",
            "SELECT (SELECT place FROM passed), 1 / (SELECT count(*) FROM passed)"
        )
    };
}

/// A session that waited for the fence continues with the row as it is then, so it sees a newer epoch. Writing sessions
/// are read-only by default: if this statement alone fails, every write sent along with it is refused.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Begins to read everything as one state; whole tables are read, and as fast as can be. What is asked for in an order has
/// an index that gives it: reading a million tasks along theirs is quicker than sorting them, and begins at once.
pub(crate) const LOAD: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; \
     SET LOCAL idle_in_transaction_session_timeout = 0; \
     SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on; \
     SET LOCAL enable_sort = off; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL work_mem = '256MB'";

const BY_PLACE: &str = pass!("ctid = CAST(CAST(?3 AS TEXT) AS TID)");

const BY_ID: &str = pass!("id = 1");
