//! The threads around the desk: one that decides, one that commits.

use crate::{
    Lead, Refusal,
    coordinator::{Options, Shared},
    desk::{Answer, Desk, Released, Request},
    entropy::system_seeds,
};
use muster_engine::Restoring;
use muster_model::{
    Change, Explanation, FrameQuery, FrameView, Millis, PoolCause, PoolJobId, PoolStatus, Rejection, Reply,
    Subject, TaskId, TaskRecord, Timestamp,
};
use muster_store::{Batch, Cutoffs, Loaded, Lookup, Store, StoreError, Term, Writer};
use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::{debug, error, info};

/// Messages decided together at most, before the desk looks at the store again.
const GROUP_MAX: usize = 512;
/// The longest the driver sleeps without a deadline.
const IDLE: Duration = Duration::from_secs(1);
const PRUNE_EVERY: Millis = Millis::from_secs(60);
const CHECK_EVERY: Millis = Millis::from_secs(60);
const RETRY_TERM_AFTER: Duration = Duration::from_millis(500);

/// A way to answer one request, and the place it takes in the queue until it is answered or parked.
pub(crate) struct Handle {
    pub(crate) reply: oneshot::Sender<Result<Reply, Rejection>>,
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

/// What reaches the driver.
pub(crate) enum Message {
    Request(Box<Request<Handle>>),
    Explain(Subject, oneshot::Sender<Option<Explanation>>),
    Task(TaskId, oneshot::Sender<Option<TaskRecord>>),
    Frames(FrameQuery, oneshot::Sender<FrameView>),
    PoolStatus(oneshot::Sender<PoolStatus>),
    ExplainPool(PoolJobId, oneshot::Sender<Option<PoolCause>>),
    /// With the epoch, so that a word from an earlier term is not taken for one of this.
    Committed(u64, Result<(), StoreError>),
    Pruned(u64, Result<bool, StoreError>),
    Stop,
}

/// What the committing thread is asked.
enum Work {
    Commit(Arc<Batch>),
    Prune(Cutoffs),
}

/// Why a term ended.
enum End {
    Stopped,
    Failed(StoreError),
}

/// Runs terms until told to stop; a term that fails is followed by another.
pub(crate) fn run(store: &dyn Store, shared: &Shared, inbox: &mpsc::Receiver<Message>, first: Term) {
    let mut next = Ok(first);
    loop {
        let end = match next {
            Ok(term) => TermRun::begin(term, shared).map_or_else(End::Failed, |mut run| run.serve(inbox)),
            Err(error) => End::Failed(error),
        };
        shared.stats.end_term();
        shared.lead.send_replace(Lead::Nowhere);
        match end {
            End::Stopped => return,
            End::Failed(error) => error!(%error, "the term ended; its memory is thrown away and read again"),
        }
        thread::sleep(RETRY_TERM_AFTER);
        if refuse_meanwhile(inbox) {
            return;
        }
        next = store.begin_term();
    }
}

/// Requests that arrived while no term ran are refused (their handles are dropped); true when told to stop.
fn refuse_meanwhile(inbox: &mpsc::Receiver<Message>) -> bool {
    inbox.try_iter().any(|message| matches!(message, Message::Stop))
}

/// One term in progress.
struct TermRun<'a> {
    epoch: u64,
    desk: Desk<Handle>,
    lookup: Box<dyn Lookup>,
    work: mpsc::Sender<Work>,
    shared: &'a Shared,
    /// The batch with the store.
    committing: Option<Arc<Batch>>,
    pruning: bool,
    prune_at: Timestamp,
    check_at: Timestamp,
}

impl<'a> TermRun<'a> {
    fn begin(term: Term, shared: &'a Shared) -> Result<Self, StoreError> {
        let Term { epoch, feed_seq, mut writer, lookup, .. } = term;
        let now = shared.clock.now();
        let desk = load(&mut *writer, shared, (now, epoch), feed_seq)?;
        let (work, orders) = mpsc::channel();
        let outbox = shared.inbox.clone();
        let name = "muster-commit".to_owned();
        let spawned =
            thread::Builder::new().name(name).spawn(move || commit_loop((epoch, writer), &orders, &outbox));
        spawned.map_err(|error| StoreError::Backend(error.to_string()))?;
        shared.feed.resume(feed_seq);
        shared.stats.begin_term(epoch);
        shared.lead.send_replace(Lead::Here { epoch });
        info!(epoch, live_in_ms = (shared.clock.now() - now).0, "a term begins");
        let (prune_at, check_at) = (now + PRUNE_EVERY, now + CHECK_EVERY);
        Ok(Self { epoch, desk, lookup, work, shared, committing: None, pruning: false, prune_at, check_at })
    }

    fn serve(&mut self, inbox: &mpsc::Receiver<Message>) -> End {
        // A restored engine settles what became due while nobody looked.
        self.desk.tick(self.shared.clock.now());
        loop {
            let first = inbox.recv_timeout(self.patience());
            let group: Vec<Message> = first.into_iter().chain(inbox.try_iter().take(GROUP_MAX)).collect();
            match self.handle(group) {
                Ok(true) => return self.finish(inbox),
                Ok(false) => {}
                Err(error) => return End::Failed(error),
            }
        }
    }

    /// Handles a group of messages; true when told to stop.
    fn handle(&mut self, group: Vec<Message>) -> Result<bool, StoreError> {
        let mut requests = Vec::with_capacity(group.len());
        let mut stop = false;
        for message in group {
            match message {
                Message::Request(request) => requests.push(*request),
                Message::Explain(subject, reply) => {
                    // A caller that no longer listens needs no answer.
                    let _ = reply.send(self.desk.explain(subject, self.shared.clock.now()));
                }
                Message::Task(id, reply) => {
                    let _ = reply.send(self.desk.task(id));
                }
                Message::Frames(query, reply) => {
                    let _ = reply.send(self.desk.frames(&query, self.shared.clock.now()));
                }
                Message::PoolStatus(reply) => {
                    let _ = reply.send(self.desk.engine().pool_status());
                }
                Message::ExplainPool(job, reply) => {
                    let _ = reply.send(self.desk.engine().explain_pool(job));
                }
                Message::Committed(epoch, result) if epoch == self.epoch => self.committed(result)?,
                Message::Pruned(epoch, result) if epoch == self.epoch => self.pruned(result)?,
                Message::Committed(..) | Message::Pruned(..) => {}
                Message::Stop => stop = true,
            }
        }
        self.decide(requests)?;
        self.desk.tick(self.shared.clock.now());
        self.hand_over()?;
        self.look_after();
        Ok(stop)
    }

    fn decide(&mut self, requests: Vec<Request<Handle>>) -> Result<(), StoreError> {
        if requests.is_empty() {
            return Ok(());
        }
        self.shared.stats.count_commands(requests.len());
        let keys = self.desk.keys(requests.iter().map(|request| &request.command));
        let facts = self.lookup.facts(&keys)?;
        let now = self.shared.clock.now();
        for request in requests {
            self.desk.take(request, now, &facts);
        }
        self.shared.stats.set_waiting_pulls(self.desk.waiting());
        Ok(())
    }

    /// Gives the store the next batch, unless it is still busy with the last.
    fn hand_over(&mut self) -> Result<(), StoreError> {
        if self.committing.is_some() || self.pruning {
            return Ok(());
        }
        let Some(batch) = self.desk.seal(self.shared.clock.now()) else {
            return Ok(());
        };
        if batch.is_empty() {
            release(self.desk.committed(), self.shared);
            return Ok(());
        }
        self.committing = Some(Arc::clone(&batch));
        self.order(Work::Commit(batch))
    }

    fn committed(&mut self, result: Result<(), StoreError>) -> Result<(), StoreError> {
        result?;
        let released = self.desk.committed();
        if let Some(batch) = self.committing.take() {
            self.shared.stats.count_batch(batch.changes.len());
            publish(&batch, self.shared);
        }
        release(released, self.shared);
        Ok(())
    }

    fn pruned(&mut self, result: Result<bool, StoreError>) -> Result<(), StoreError> {
        self.pruning = false;
        let pause = if result? { Millis(50) } else { PRUNE_EVERY };
        self.prune_at = self.shared.clock.now() + pause;
        Ok(())
    }

    /// Now and then: old history goes, and the invariants are looked at where that is cheap.
    fn look_after(&mut self) {
        let now = self.shared.clock.now();
        if now >= self.prune_at && self.committing.is_none() && !self.pruning {
            self.pruning = self.order(Work::Prune(cutoffs(&self.shared.options, now))).is_ok();
        }
        if now >= self.check_at {
            self.check_at = now + CHECK_EVERY;
            if let Err(broken) = self.desk.engine().sample_invariants() {
                self.shared.stats.count_broken_invariant();
                error!(broken, "an invariant does not hold; please report this");
            }
        }
    }

    /// Stops: whoever waits is answered, what was decided is made durable.
    fn finish(&mut self, inbox: &mpsc::Receiver<Message>) -> End {
        self.desk.dismiss_waiting(self.shared.clock.now());
        loop {
            if let Err(error) = self.hand_over() {
                return End::Failed(error);
            }
            if self.committing.is_none() && !self.pruning {
                return End::Stopped;
            }
            let done = match inbox.recv() {
                Ok(Message::Committed(epoch, result)) if epoch == self.epoch => self.committed(result),
                Ok(Message::Pruned(epoch, result)) if epoch == self.epoch => self.pruned(result),
                Ok(_) => Ok(()),
                Err(_) => return End::Stopped,
            };
            if let Err(error) = done {
                return End::Failed(error);
            }
        }
    }

    fn order(&self, work: Work) -> Result<(), StoreError> {
        self.work.send(work).map_err(|_| StoreError::Backend("the committing thread is gone".into()))
    }

    fn patience(&self) -> Duration {
        let deadlines = [self.desk.next_deadline(), Some(self.prune_at), Some(self.check_at)];
        let next = deadlines.into_iter().flatten().min().map(|at| (at - self.shared.clock.now()).0);
        next.map_or(IDLE, |millis| Duration::from_millis(millis.max(0).unsigned_abs())).min(IDLE)
    }
}

fn load(
    writer: &mut dyn Writer,
    shared: &Shared,
    (now, epoch): (Timestamp, u64),
    feed_seq: u64,
) -> Result<Desk<Handle>, StoreError> {
    let mut engine = Restoring::new(shared.options.settings);
    shared.secrets.clear();
    shared.tokens.clear();
    shared.accounts.clear();
    shared.pool.clear();
    writer.load(&mut |loaded| match loaded {
        Loaded::Worker(record) => engine.worker(record),
        Loaded::Lane(record) => engine.lane(record),
        Loaded::Job(record) => engine.job(record),
        Loaded::Task(record) => engine.task(record),
        Loaded::Share(record) => engine.share(record),
        Loaded::Stop(worker, task) => engine.stop(&worker, task),
        Loaded::Secrets(worker, secrets) => {
            shared.secrets.set(&worker, &secrets);
            engine.secrets(&worker, secrets);
        }
        Loaded::JobSeq(seq) => engine.job_seq(seq),
        Loaded::Frames(record) => {
            shared.tokens.follow(&record);
            engine.frames(record);
        }
        Loaded::SessionSeq(seq) => engine.session_seq(seq),
        Loaded::Accounts(record) => {
            shared.accounts.follow(&record);
            engine.accounts(record);
        }
        Loaded::Pool(record) => {
            shared.pool.follow(&record);
            engine.pool(record);
        }
        Loaded::Schedule(record) => engine.schedule(*record),
    })?;
    let desk = Desk::new(engine.finish(epoch, now), feed_seq, system_seeds());
    Ok(desk.with_senders(|handle: &Handle| !handle.reply.is_closed(), |handle| handle.place = None))
}

fn commit_loop(
    (epoch, mut writer): (u64, Box<dyn Writer>),
    orders: &mpsc::Receiver<Work>,
    outbox: &mpsc::Sender<Message>,
) {
    for work in orders {
        let message = match work {
            Work::Commit(batch) => Message::Committed(epoch, writer.commit(&batch)),
            Work::Prune(cutoffs) => Message::Pruned(epoch, writer.prune(&cutoffs)),
        };
        if outbox.send(message).is_err() {
            return;
        }
    }
}

fn publish(batch: &Batch, shared: &Shared) {
    for change in &batch.changes {
        match change {
            Change::Secrets(worker, secrets) => shared.secrets.set(worker, secrets),
            Change::Frames(change) => shared.tokens.follow(change),
            Change::Accounts(change) => shared.accounts.follow(change),
            Change::Pool(change) => shared.pool.follow(change),
            _ => {}
        }
    }
    shared.feed.publish(&batch.feed);
}

fn release(Released { answers, effects }: Released<Handle>, shared: &Shared) {
    for effect in effects {
        // Without anybody to do them they stay due: the next start derives them again.
        let _ = shared.effects.send(effect);
    }
    for Answer { handle, result } in answers {
        if handle.reply.send(result).is_err() {
            // The sender went away; what was decided stands, and a repeat will find it.
            debug!("an answer found nobody");
        }
    }
}

fn cutoffs(options: &Options, now: Timestamp) -> Cutoffs {
    Cutoffs {
        history: now - options.history,
        report_ids: now - options.settings.report_id_retention,
        keys: now - options.settings.key_retention,
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
