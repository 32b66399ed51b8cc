//! The writing end of a term.

use crate::{
    pipeline::{Step, run},
    session::Session,
    sink::{Gathering, Puts},
    transaction::Transaction,
    value::Argument,
};
use muster_store::{Batch, Cutoffs, Loaded, StoreError, Writer, continue_feed};
use muster_tables::{Fault, Walk, load, prune, write_batch};

/// Commits in the name of one epoch.
pub(crate) struct PostgresWriter {
    session: Session,
    epoch: i64,
    feed_seq: u64,
    /// What a batch is dated with that does not say when it happened.
    moment: i64,
    puts: Puts,
    walk: Walk,
}

impl PostgresWriter {
    /// The session is the one that began the term.
    pub(crate) fn new(session: Session, epoch: i64, (feed_seq, moment): (u64, i64)) -> Self {
        Self { session, epoch, feed_seq, moment, puts: Puts::default(), walk: Walk::default() }
    }

    fn try_commit(&mut self, batch: &Batch) -> Result<(), Fault> {
        let feed_seq = continue_feed(self.feed_seq, &batch.feed)?;
        let moment = batch.moment().map_or(self.moment, |at| at.0);
        let steps = self.steps(batch, moment)?;
        let outcome = self.session.ask(run(self.session.client(), &steps));
        if outcome.is_err() && self.session.is_open() {
            // Only what could not even be sent leaves a transaction behind; if this fails, it ends with the session.
            let _ = self.session.ask(self.session.client().batch_execute("ROLLBACK"));
        }
        outcome?;
        (self.feed_seq, self.moment) = (feed_seq, moment);
        Ok(())
    }

    /// Everything that makes a batch durable, in one round trip: the fence first, so that nothing of a term that is over
    /// is even looked at.
    fn steps(&mut self, batch: &Batch, moment: i64) -> Result<Vec<Step>, Fault> {
        let bare =
            |sql| Ok::<_, Fault>(Step { statement: self.session.statement(sql)?, parameters: Vec::new() });
        let begin = bare(BEGIN)?;
        let commit = bare("COMMIT")?;
        let fence = Step {
            statement: self.session.statement(FENCE)?,
            parameters: vec![Argument::Integer(self.epoch), Argument::Integer(moment)],
        };
        let mut gathering =
            Gathering { session: &self.session, puts: &mut self.puts, steps: vec![begin, fence] };
        write_batch(batch, moment, &mut gathering)?;
        gathering.steps.push(commit);
        Ok(gathering.steps)
    }

    fn try_prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, Fault> {
        let Self { session, epoch, moment, walk, .. } = self;
        Transaction::within(session, BEGIN, |sql| {
            sql.execute(FENCE, &[(*epoch).into(), (*moment).into()])?;
            prune(sql, cutoffs, walk)
        })
    }
}

impl Writer for PostgresWriter {
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError> {
        Transaction::within(&self.session, LOAD, |sql| load(sql, sink)).map_err(StoreError::from)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.try_commit(batch).map_err(StoreError::from)
    }

    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError> {
        self.try_prune(cutoffs).map_err(StoreError::from)
    }
}

/// Whoever waits for the fence goes on with the row as it is then: a newer epoch is seen.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// A term that is over breaks the constraint, and the transaction with it.
const FENCE: &str =
    "UPDATE fence SET commits = commits + 1, held = (epoch = ?1), now_ms = greatest(now_ms, ?2) WHERE id = 1";

/// Begins to read everything as one state; whole tables are read, and as fast as can be.
pub(crate) const LOAD: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; \
     SET LOCAL idle_in_transaction_session_timeout = 0; \
     SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on; \
     SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL work_mem = '256MB'";
