//! One term: the threads around the write path, one that decides and one that commits.

use crate::clock::instant_now;
use crate::{
    Options, Refusal,
    delivery::deliver,
    driver::{AbortOnPanic, BegunTerm, Handle, Message},
    entropy::system_seeds,
    inbox::Wait,
    load::load,
    renewal::Renewing,
    shared::Shared,
    write_path::{Released, Request, WritePath},
};
use muster_model::{Change, DiagnosticKind, Facts, FrameChange, Millis, Rejection, Timestamp};
use muster_store::{Batch, Cutoffs, Lookup, StoreError, Term, Writer};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};
use tokio::sync::oneshot;
use tracing::{error, info};

/// Messages decided together at most, before the write path looks at the store again.
const GROUP_MAX: usize = 512;
/// Batches of so few rows are committed by the deciding thread: about four reports.
const ROWS_FEW: usize = 16;
/// The longest the driver sleeps without a deadline.
const IDLE: Duration = Duration::from_secs(1);
const PRUNE_EVERY: Millis = Millis::from_secs(60);
const CHECK_EVERY: Millis = Millis::from_secs(60);

/// The end of a term.
pub(crate) enum End {
    Stopped,
    Failed(StoreError),
}

/// Orders to the committing thread.
enum Work {
    Commit(Arc<Batch>),
    Prune(Cutoffs),
}

/// One term in progress.
pub(crate) struct TermRun<'a> {
    epoch: u64,
    write_path: WritePath<Handle>,
    lookup: Box<dyn Lookup>,
    store: StoreAccess,
    shared: &'a Shared,
    /// Requests that were taken from the inbox and are not decided yet.
    backlog: VecDeque<Box<Request<Handle>>>,
    /// The batch with the store.
    committing: Option<Arc<Batch>>,
    pruning: bool,
    stopping: bool,
    prune_at: Timestamp,
    check_at: Timestamp,
    _renewing: Option<Renewing>,
}

impl<'a> TermRun<'a> {
    /// Builds memory up and begins to answer by it. Life is shown from the first moment on: much may have to be read.
    pub(crate) fn begin(taken: BegunTerm, shared: &'a Arc<Shared>) -> Result<Self, StoreError> {
        let BegunTerm { term, office, ahead } = taken;
        let Term { epoch, feed_seq, commits, now, mut writer, lookup } = term;
        let began = shared.time.local();
        shared.stats.renewed_at(began);
        shared.running.begin(epoch, office.as_ref().map(|office| office.lease.sole_until()));
        now.inspect(|now| shared.time.begin(*now));
        let renewing = office.map(|office| Renewing::start(office, epoch, shared)).transpose()?;
        let ahead = ahead.filter(|ahead| ahead.commits == commits);
        let was_read_ahead = ahead.is_some();
        let restoring = match ahead {
            Some(ahead) => ahead.restoring,
            None => load(shared, |sink| writer.load(sink))?.0,
        };
        let now = shared.now();
        let write_path = WritePath::new(restoring.finish(epoch, now), feed_seq, system_seeds())
            .with_senders(|handle: &Handle| !handle.reply.is_closed(), |handle| handle.place = None);
        let store = StoreAccess::start(epoch, writer, shared)?;
        shared.begin_term(epoch, feed_seq);
        let live_in_ms = (shared.time.local() - began).0;
        info!(epoch, live_in_ms, was_read_ahead, "a term begins");
        Ok(Self {
            epoch,
            write_path,
            lookup,
            store,
            shared,
            backlog: VecDeque::new(),
            committing: None,
            pruning: false,
            stopping: false,
            prune_at: now + PRUNE_EVERY,
            check_at: now + CHECK_EVERY,
            _renewing: renewing,
        })
    }

    /// Serves until the term ends.
    pub(crate) fn serve(&mut self) -> End {
        // A restored engine settles what became due while nobody looked.
        self.write_path.tick(self.shared.now());
        loop {
            let messages = self.shared.inbox.take(self.wait(), self.patience());
            self.stopping |= messages.iter().any(|message| matches!(message, Message::Stop));
            let handled = self.handle(messages);
            if self.stopping {
                self.finish(handled);
                return End::Stopped;
            }
            if let Err(error) = handled {
                return End::Failed(error);
            }
        }
    }

    fn handle(&mut self, messages: Vec<Message>) -> Result<(), StoreError> {
        for message in messages {
            match message {
                Message::Request(request) => self.backlog.push_back(request),
                Message::Committed(epoch, result) if epoch == self.epoch => self.committed(result)?,
                Message::Pruned(epoch, result) if epoch == self.epoch => self.pruned(result)?,
                Message::Deposed(epoch, error) if epoch == self.epoch => return Err(error),
                question => self.tell(question),
            }
        }
        self.decide()?;
        self.write_path.tick(self.shared.now());
        self.hand_over()?;
        self.look_after();
        Ok(())
    }

    /// Answers what is only asked.
    fn tell(&self, question: Message) {
        let (write_path, now) = (&self.write_path, self.shared.now());
        match question {
            Message::Explain(subject, reply) => self.reply(reply, || write_path.explain(subject, now)),
            Message::Supplies(workers, reply) => self.reply(reply, || write_path.engine().supplies(&workers)),
            Message::Strangers(scope, reply) => self.reply(reply, || write_path.engine().strangers(&scope)),
            Message::Task(id, reply) => self.reply(reply, || write_path.task(id)),
            Message::Frames(query, reply) => self.reply(reply, || write_path.frames(&query, now)),
            Message::PoolStatus(reply) => self.reply(reply, || write_path.engine().pool_status()),
            Message::Request(_)
            | Message::Committed(..)
            | Message::Pruned(..)
            | Message::Deposed(..)
            | Message::Stop => {}
        }
    }

    /// Replies from memory where that is the truth; whoever gets no reply tries again (S18).
    fn reply<T>(&self, reply: oneshot::Sender<T>, answer: impl FnOnce() -> T) {
        if self.shared.is_ready() {
            // A caller that no longer listens needs no answer.
            let _ = reply.send(answer());
        }
    }

    /// Decides the oldest requests of the backlog.
    fn decide(&mut self) -> Result<(), StoreError> {
        let group = self.backlog.len().min(GROUP_MAX);
        if group == 0 {
            return Ok(());
        }
        self.shared.stats.count_commands(group);
        let keys = self.write_path.keys(self.backlog.iter().take(group).map(|request| &request.command));
        let facts = if keys.is_empty() { Facts::default() } else { self.lookup.facts(&keys)? };
        let now = self.shared.now();
        for request in self.backlog.drain(..group) {
            self.write_path.take(*request, now, &facts);
        }
        self.shared.stats.set_waiting_pulls(self.write_path.waiting());
        Ok(())
    }

    /// Gives the store the next batch, unless it is still busy with the last. One without rows is given too if another
    /// server may lead by now: whether its answers are true only the store can tell (S18).
    fn hand_over(&mut self) -> Result<(), StoreError> {
        if self.is_store_busy() {
            return Ok(());
        }
        let Some(batch) = self.write_path.seal(self.shared.now()) else {
            return Ok(());
        };
        if batch.is_empty() && self.shared.is_ready() {
            self.release();
            return Ok(());
        }
        self.committing = Some(Arc::clone(&batch));
        if self.commits_here(&batch) {
            let done = self.store.commit(&batch, self.shared);
            return self.committed(done);
        }
        self.store.order(Work::Commit(batch))
    }

    /// True if this thread commits the batch itself, because waking another would take longer. On a store that others
    /// share it does not: a database that does not answer must not keep this thread from ending the term.
    fn commits_here(&self, batch: &Batch) -> bool {
        let rows = batch.changes.len() + batch.sightings.len() + batch.pool_sightings.len();
        !self.shared.has_others && rows <= ROWS_FEW
    }

    fn committed(&mut self, result: Result<(), StoreError>) -> Result<(), StoreError> {
        result?;
        if let Some(batch) = self.committing.take() {
            self.shared.stats.count_batch(batch.changes.len());
            self.shared.outage.is_led();
            publish(&batch, self.shared);
            log_diagnostics(&batch);
        }
        self.release();
        Ok(())
    }

    /// The last batch is durable: what waited for it leaves.
    fn release(&mut self) {
        let Released { answers, effects } = self.write_path.committed();
        for effect in effects {
            // Without anybody to do them they stay due: the next start derives them again.
            let _ = self.shared.effects.send((self.epoch, effect));
        }
        deliver(answers);
    }

    fn pruned(&mut self, result: Result<bool, StoreError>) -> Result<(), StoreError> {
        self.pruning = false;
        let pause = if result? { Millis(50) } else { PRUNE_EVERY };
        self.prune_at = self.shared.now() + pause;
        Ok(())
    }

    /// Now and then: old history goes, and the invariants are looked at where that is cheap.
    fn look_after(&mut self) {
        let now = self.shared.now();
        if now >= self.prune_at && !self.is_store_busy() {
            self.pruning = self.store.order(Work::Prune(cutoffs(&self.shared.options, now))).is_ok();
        }
        if now >= self.check_at {
            self.check_at = now + CHECK_EVERY;
            if let Err(broken) = self.write_path.engine().sample_invariants() {
                self.shared.stats.count_broken_invariant();
                error!(broken, "an invariant does not hold; please report this");
            }
        }
    }

    /// Stops: whoever waits is answered, what was decided is made durable.
    fn finish(&mut self, handled: Result<(), StoreError>) {
        self.write_path.dismiss_waiting(self.shared.now());
        let mut done = handled.and_then(|()| self.hand_over());
        while done.is_ok() && self.is_store_busy() {
            let messages = self.shared.inbox.take(Wait::Urgent, IDLE);
            done = messages.into_iter().try_for_each(|message| match message {
                Message::Committed(epoch, result) if epoch == self.epoch => self.committed(result),
                Message::Pruned(epoch, result) if epoch == self.epoch => self.pruned(result),
                Message::Deposed(epoch, error) if epoch == self.epoch => Err(error),
                _ => Ok(()),
            });
            done = done.and_then(|()| self.hand_over());
        }
        if let Err(error) = done {
            error!(%error, "not all that was decided last is durable; nobody was told of it");
        }
    }

    /// Messages to wait for. While a batch is with the store, requests gather: none can be answered before it is durable.
    fn wait(&self) -> Wait {
        if self.is_store_busy() { Wait::Urgent } else { Wait::Any }
    }

    fn is_store_busy(&self) -> bool {
        self.committing.is_some() || self.pruning
    }

    fn patience(&self) -> Duration {
        if !self.backlog.is_empty() {
            return Duration::ZERO;
        }
        let deadlines = [self.write_path.next_deadline(), Some(self.prune_at), Some(self.check_at)];
        let next = deadlines.into_iter().flatten().min().map(|at| (at - self.shared.now()).0);
        next.map_or(IDLE, |millis| Duration::from_millis(millis.max(0).unsigned_abs())).min(IDLE)
    }
}

/// The writing end of the store: used by the committing thread, and by the deciding one while that has nothing to do.
struct StoreAccess {
    writer: Arc<Mutex<Box<dyn Writer>>>,
    work: mpsc::Sender<Work>,
}

impl StoreAccess {
    /// Starts the committing thread.
    fn start(epoch: u64, writer: Box<dyn Writer>, shared: &Arc<Shared>) -> Result<Self, StoreError> {
        let (work, orders) = mpsc::channel();
        let access = Self { writer: Arc::new(Mutex::new(writer)), work };
        let (writer, shared) = (Arc::clone(&access.writer), Arc::clone(shared));
        let commit = move || {
            let _abort = AbortOnPanic;
            for work in orders {
                let message = match work {
                    Work::Commit(batch) => Message::Committed(epoch, commit(&writer, &batch, &shared)),
                    Work::Prune(cutoffs) => Message::Pruned(epoch, lock(&writer).prune(&cutoffs)),
                };
                if shared.inbox.send_urgent(message).is_err() {
                    return;
                }
            }
        };
        let spawned = thread::Builder::new().name("muster-commit".into()).spawn(commit);
        spawned.map_err(|error| StoreError::Backend(error.to_string()))?;
        Ok(access)
    }

    /// Has the committing thread do something; it sends a message when that is done.
    fn order(&self, work: Work) -> Result<(), StoreError> {
        self.work.send(work).map_err(|_| StoreError::Backend("the committing thread is gone".into()))
    }

    /// Makes a batch durable on this thread.
    fn commit(&self, batch: &Batch, shared: &Shared) -> Result<(), StoreError> {
        commit(&self.writer, batch, shared)
    }
}

fn commit(writer: &Mutex<Box<dyn Writer>>, batch: &Batch, shared: &Shared) -> Result<(), StoreError> {
    let began = instant_now();
    let done = lock(writer).commit(batch);
    shared.stats.commits().observe(began.elapsed());
    done
}

fn lock(writer: &Mutex<Box<dyn Writer>>) -> MutexGuard<'_, Box<dyn Writer>> {
    // A thread that panics with the writer ends the process.
    writer.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Logs the lines that the master itself wrote into the diagnostics log, and every change of a worker's state.
fn log_diagnostics(batch: &Batch) {
    for change in &batch.changes {
        let Change::Frames(change) = change else { continue };
        match change {
            FrameChange::Diagnostic(line) if line.kind != DiagnosticKind::Message => {
                let task = line.task.as_ref().map(tracing::field::display);
                info!(session = %line.session, worker = %line.worker, task, kind = line.kind.as_str(), "{}", line.text);
            }
            FrameChange::Transition(moved) => {
                let (from, to) = (moved.from.as_str(), moved.to.as_str());
                info!(worker = %moved.worker, from, to, "simulation worker is {to}: {}", moved.cause);
            }
            _ => {}
        }
    }
}
