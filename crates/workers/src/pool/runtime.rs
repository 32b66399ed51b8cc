//! The worker as it runs: the core, with a disk, a network, programs and a clock around it.

use super::{
    KeyFile, KeyFileError, Server,
    core::{
        Action, Core, Counts, End, Note, Outcome, Over, Settings, Spooled, Status, Submission, Submitted,
        Trouble, Work,
    },
    execute::Handler,
    wire::{self, Introduction},
};
use muster_contract_pool::ReadError;
use muster_model::{Millis, Timestamp};
use muster_spool::{Limits, Recovered, SpoolError};
use muster_worker_kit::{
    Text,
    exchange::{Event, Exchange, pause_until, publish},
    journal::{Journal, JournalEvent, SegmentState},
};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{sync::watch, task::AbortHandle};
use tokio_util::sync::CancellationToken;

/// A result on disk, as it is submitted.
struct Body {
    assignment: u64,
    bytes: Vec<u8>,
    /// Its number in the journal.
    number: u64,
}

/// A worker at work.
pub struct Worker {
    core: Core,
    options: Arc<Options>,
    server: Arc<Server>,
    keys: Arc<Mutex<KeyFile>>,
    handler: Arc<Handler>,
    journal: Journal,
    bodies: HashMap<u64, Body>,
    /// Entries that are not on disk yet, with their numbers in the journal.
    unstored: VecDeque<(u64, u64)>,
    /// The spool could not be written the last time.
    is_failing: bool,
    poll: Option<(u64, AbortHandle)>,
    exchange: Exchange<Self>,
    report: watch::Sender<Report>,
}

impl Worker {
    /// Opens the spool and finds what an earlier life left there; then the key, so that none is made for a worker that
    /// cannot run.
    ///
    /// # Errors
    /// The spool is in use, damaged or of another version; there is no key.
    pub fn open(
        options: Options,
        server: Server,
        keys: impl FnOnce() -> Result<KeyFile, KeyFileError>,
        handler: Handler,
    ) -> Result<Self, PoolWorkerError> {
        let (spool, recovered) = Journal::open(&options.spool, LIMITS)?;
        let (spooled, bodies) = found(recovered)?;
        let keys = keys()?;
        tracing::info!(name = %options.who.name, waiting = spooled.len(), spool = %options.spool.display(),
            key = keys.current().public_text(), "the worker is up");
        let exchange = Exchange::new();
        let journal = Journal::start(spool, SegmentState::Empty, exchange.reporter(Self::journalled))?;
        let core = Core::new(settings(&options, &server, &keys), spooled, (options.now)());
        let report = Report::new(&options.who.name, options.slots, &core.status());
        Ok(Self {
            core,
            server: Arc::new(server),
            keys: Arc::new(Mutex::new(keys)),
            handler: Arc::new(handler),
            journal,
            bodies,
            unstored: VecDeque::new(),
            is_failing: false,
            poll: None,
            exchange,
            report: watch::Sender::new(report),
            options: Arc::new(options),
        })
    }

    /// Its status, whenever that changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Report> {
        self.report.subscribe()
    }

    /// Works until it is asked to leave, or cannot go on.
    pub async fn run(mut self, leave: CancellationToken) -> Over {
        let mut is_leaving = false;
        let over = loop {
            self.act();
            self.show();
            if let Some(over) = self.core.over() {
                break over.clone();
            }
            let pause = pause_until(self.core.next_wake(), (self.options.now)());
            tokio::select! {
                event = self.exchange.next() => self.handle(event),
                () = leave.cancelled(), if !is_leaving => {
                    is_leaving = true;
                    self.core.leave((self.options.now)());
                }
                () = tokio::time::sleep(pause) => self.core.wake((self.options.now)()),
            }
            // Whatever else has happened meanwhile shares one sync.
            while let Some(event) = self.exchange.try_next() {
                self.handle(event);
            }
        };
        self.journal.close().await;
        over
    }

    /// Handles an event.
    fn handle(&mut self, event: Event<Self>) {
        let now = (self.options.now)();
        event(self, now);
    }

    fn journalled(&mut self, event: JournalEvent, now: Timestamp) {
        match event {
            JournalEvent::Durable { up_to, in_reserve } => {
                while let Some((_, entry)) = self.unstored.pop_front_if(|(number, _)| *number <= up_to) {
                    self.core.stored(entry, now);
                }
                if !in_reserve && std::mem::take(&mut self.is_failing) {
                    tracing::info!("the spool can be written again");
                    self.core.spool_mended(now);
                }
            }
            JournalEvent::Failed(error) => {
                if self.core.status().can_store {
                    tracing::error!(%error, "the spool cannot be written: nothing is begun until it can");
                }
                self.is_failing = true;
                self.core.spool_failed(now);
            }
            // The journal begins segments by itself, and nobody reads from it.
            JournalEvent::SegmentFull | JournalEvent::Read(..) => {}
        }
    }

    /// Does what the core wants done.
    fn act(&mut self) {
        while let Some(action) = self.core.next_action() {
            match action {
                Action::LogIn(number) => {
                    self.call(number, Core::admitted, async |server| server.log_in().await);
                }
                Action::Renew(number) => {
                    self.call(number, Core::admitted, async |server| server.renew().await);
                }
                Action::List(number) => {
                    self.call(number, Core::listed, async |server| server.workers().await);
                }
                Action::Register(number) => self.register(number),
                Action::GiveKey { number, worker, key } => self.give_key(number, worker, key),
                Action::ReplaceKey(number) => self.replace_key(number),
                Action::Beat { number, worker } => {
                    self.call(number, Core::beaten, async move |server| server.beat(worker).await);
                }
                Action::Resume { number, worker, at_most } => {
                    self.call(number, Core::resumed, async move |server| {
                        server.resume(worker, at_most).await
                    });
                }
                Action::Poll { number, worker, wait } => {
                    let poll = async move |server: Arc<Server>| server.poll(worker, wait).await;
                    self.poll = Some((number, self.call(number, Core::polled, poll)));
                }
                Action::TakeBack(number) => {
                    if let Some((_, poll)) = self.poll.take_if(|(asked, _)| *asked == number) {
                        poll.abort();
                    }
                }
                Action::Begin(work) => self.begin(work),
                Action::Kill(work) => self.exchange.kill(work),
                Action::Store(submission) => self.store(&submission),
                Action::Submit(entry) => self.submit(entry),
                Action::SubmitBatch { worker, entries } => self.submit_batch(worker, entries),
                Action::Ack(entry) => {
                    if let Some(body) = self.bodies.remove(&entry) {
                        self.journal.ack(body.number);
                    }
                }
                Action::SetAside { entry, why } => {
                    if let Some(body) = self.bodies.remove(&entry) {
                        self.journal.set_aside(body.number, why.to_string());
                    }
                }
                Action::Note(note) => log(&note),
            }
        }
    }

    fn register(&self, number: u64) {
        let (options, key) = (Arc::clone(&self.options), self.public_key());
        self.call(number, Core::registered, async move |server| server.register(&options.who, &key).await);
    }

    /// Whatever was acked must be on disk first: what comes back after a crash would bear the old signature.
    fn give_key(&self, number: u64, worker: u64, key: Text) {
        let flushed = self.journal.flush();
        self.call(number, Core::key_given, async move |server| match flushed.await {
            Ok(()) => server.give_key(worker, &key).await,
            Err(_) => Err(Trouble::NoAnswer(None)),
        });
    }

    fn replace_key(&self, number: u64) {
        let keys = Arc::clone(&self.keys);
        let tell = self.exchange.reporter(move |worker: &mut Self, replaced, now| {
            worker.core.replaced(number, replaced, now);
        });
        tokio::task::spawn_blocking(move || {
            let replaced = keys.lock().unwrap_or_else(PoisonError::into_inner).replace();
            tell(replaced.map_err(|error| error.to_string().into()));
        });
    }

    fn begin(&mut self, work: Work) {
        let (number, cancel) = (work.number, self.exchange.begin(work.number));
        tracing::info!(assignment = work.assignment.id, "begun");
        let handler = Arc::clone(&self.handler);
        let running = tokio::spawn(async move { handler.run(&work, &cancel).await });
        self.exchange.spawn(running, move |worker, ended, now| {
            let broke_off =
                |error| End::Done(Outcome::Error(format!("the handler broke off: {error}").into()));
            worker.exchange.ended(number);
            worker.core.ended(number, ended.unwrap_or_else(broke_off), now);
        });
    }

    fn store(&mut self, submission: &Submission) {
        let bytes = {
            let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            wire::write_submission(submission, keys.current())
        };
        let number = self.journal.append(bytes.clone());
        self.unstored.push_back((number, submission.entry));
        self.bodies.insert(submission.entry, Body { assignment: submission.assignment, bytes, number });
    }

    fn submit(&self, entry: u64) {
        let Some(Body { assignment, bytes, .. }) = self.bodies.get(&entry) else { return };
        let (assignment, bytes) = (*assignment, bytes.clone());
        self.call(entry, Core::submitted, async move |server| server.submit(assignment, bytes).await);
    }

    fn submit_batch(&self, worker: u64, entries: Vec<u64>) {
        let body = |entry: &u64| self.bodies.get(entry).expect("a result stays until the core lets go of it");
        let assignments: Vec<u64> = entries.iter().map(|entry| body(entry).assignment).collect();
        let texts: Vec<&[u8]> = entries.iter().map(|entry| &*body(entry).bytes).collect();
        let written = {
            let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            wire::write_batch(worker, &texts, keys.current())
        };
        let body = written.expect("the results were written or read by this worker");
        let server = Arc::clone(&self.server);
        let call = async move { server.submit_batch(&assignments, body).await };
        self.exchange.spawn(call, move |worker, answer, now| {
            worker.core.submitted_batch(&entries, answer, now);
        });
    }

    /// Calls the server; `answered` tells the core its answer to the call with this number.
    fn call<T: Send + 'static, F: Future<Output = T> + Send>(
        &self,
        number: u64,
        answered: fn(&mut Core, u64, T, Timestamp),
        call: impl FnOnce(Arc<Server>) -> F + Send + 'static,
    ) -> AbortHandle {
        let server = Arc::clone(&self.server);
        let call = async move { call(server).await };
        self.exchange.spawn(call, move |worker, answer, now| answered(&mut worker.core, number, answer, now))
    }

    fn public_key(&self) -> String {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).current().public_text()
    }

    fn show(&self) {
        let report = Report::new(&self.options.who.name, self.options.slots, &self.core.status());
        publish(&self.report, report);
    }
}

fn settings(options: &Options, server: &Server, keys: &KeyFile) -> Settings {
    Settings {
        name: options.who.name.clone(),
        slots: options.slots,
        heartbeat: options.heartbeat,
        poll_wait: POLL_WAIT,
        grace: options.grace,
        can_log_in: server.can_log_in(),
        key: keys.current().public_text().into(),
        next_key: keys.next().map(|keys| keys.public_text().into()),
    }
}

/// Results of an earlier life: the core numbers them 1, 2, 3 ….
type Found = (Vec<Spooled>, HashMap<u64, Body>);

fn found(recovered: Recovered) -> Result<Found, PoolWorkerError> {
    let (mut spooled, mut bodies) = Found::default();
    for (entry, (seq, bytes)) in (1..).zip(recovered.pending) {
        let result = wire::read_spooled(&bytes).map_err(|error| PoolWorkerError::Entry(seq.0, error))?;
        bodies.insert(entry, Body { assignment: result.assignment, bytes, number: seq.0 });
        spooled.push(result);
    }
    Ok((spooled, bodies))
}

/// The options of a worker.
#[derive(Clone)]
pub struct Options {
    /// Its description.
    pub who: Introduction,
    /// Number of assignments that it executes at once.
    pub slots: u32,
    /// Interval of heartbeats.
    pub heartbeat: Millis,
    /// Time that running work gets when the worker leaves.
    pub grace: Millis,
    /// The spool's directory; a `work` directory and a lock live beside it there.
    pub spool: PathBuf,
    /// Tells the time; never less than it was.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Options {
    /// The file that guards of programs lock while they live.
    #[must_use]
    pub fn guard_lock(spool: &Path) -> PathBuf {
        spool.join("guards.lock")
    }

    /// Directory in which programs run.
    #[must_use]
    pub fn scratch(spool: &Path) -> PathBuf {
        spool.join("work")
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("who", &self.who)
            .field("slots", &self.slots)
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}

/// The status of a worker, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub name: Text,
    /// In a word; the worst that is true.
    pub state: &'static str,
    /// Assignments in execution.
    pub running: usize,
    /// Upper limit of these.
    pub slots: u32,
    /// Results that the server does not have yet.
    pub spooled: usize,
    /// Counts of results.
    pub counts: Counts,
}

impl Report {
    fn new(name: &Text, slots: u32, status: &Status) -> Self {
        Self {
            name: name.clone(),
            state: state(status),
            running: status.running,
            slots,
            spooled: status.spooled,
            counts: status.counts,
        }
    }
}

const fn state(status: &Status) -> &'static str {
    if status.leaving {
        "leaving"
    } else if !status.can_store {
        "disk full"
    } else if !status.is_able {
        "cannot execute"
    } else if !status.reachable {
        "server away"
    } else if status.worker.is_none() {
        "starting"
    } else {
        "online"
    }
}

/// Reason why a worker cannot run.
#[derive(Debug, thiserror::Error)]
pub enum PoolWorkerError {
    /// Another worker has the spool.
    #[error(
        "the spool {0} is in use by another worker; stop that one first, or choose another --spool directory"
    )]
    InUse(String),
    /// The spool does not open.
    #[error(transparent)]
    Spool(SpoolError),
    /// There is no key.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The spool holds what no worker of this version wrote.
    #[error("entry {0} of the spool is no result: {1}; use the muster that wrote it to empty the spool")]
    Entry(u64, ReadError),
}

impl From<SpoolError> for PoolWorkerError {
    fn from(error: SpoolError) -> Self {
        match error {
            SpoolError::InUse { directory } => Self::InUse(directory),
            other => Self::Spool(other),
        }
    }
}

/// Logs a note of the core.
fn log(note: &Note) {
    match note {
        Note::Away => tracing::warn!("the server does not answer; results are kept, and it is tried again"),
        Note::Back => tracing::info!("the server answers again"),
        Note::Found { worker, last_seen } => {
            tracing::info!(worker, last_seen = last_seen.as_deref(), "the server knows this worker");
        }
        Note::Registered { worker } => tracing::info!(worker, "registered"),
        Note::OtherSlots { theirs } => tracing::warn!(
            theirs,
            "the worker was registered with another number of slots, and is given no more at once than those"
        ),
        Note::KeyReplaced => tracing::info!("the key is replaced"),
        Note::KeyNotReplaced { why } => {
            tracing::error!(%why, "the new key is not in its place; trying again")
        }
        Note::Resumed { assignments } => {
            tracing::info!(assignments, "what was started before and has no result is executed again");
        }
        Note::Unable { assignment, why } => tracing::error!(
            assignment, %why, "this machine cannot execute: nothing more is taken, and it is tried again"
        ),
        Note::Dropped { assignment } => {
            tracing::warn!(
                assignment,
                "the server has this no longer: cancelled, or decided by others; it is ended"
            );
        }
        Note::Refused(refusal) => {
            tracing::warn!(status = refusal.status, detail = %refusal.detail, "a call was refused");
        }
        Note::Taken { assignment, error, how } => taken(*assignment, error.as_deref(), *how),
        Note::SetAside { assignment, refusal } => tracing::error!(
            assignment, status = refusal.status, detail = %refusal.detail,
            "the server refused a result for good; it was set aside: see `muster pool-worker aside`"
        ),
    }
}

fn taken(assignment: u64, error: Option<&str>, how: Submitted) {
    match (how, error) {
        (Submitted::Now, None) => tracing::info!(assignment, "completed"),
        (Submitted::Now, Some(error)) => tracing::warn!(assignment, error = shortened(error), "failed"),
        (Submitted::Before, _) => tracing::info!(assignment, "the server had this result already"),
    }
}

/// One line with both ends of a text: what failed stands at the beginning, and why often at the end.
fn shortened(text: &str) -> String {
    let line: Vec<char> = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.len() {
        0..=SHORT_CHARS_MAX => line.into_iter().collect(),
        length => {
            let (first, last) = (&line[..SHORT_CHARS_MAX / 2], &line[length - SHORT_CHARS_MAX / 2..]);
            first.iter().chain(&[' ', '…', ' ']).chain(last).collect()
        }
    }
}

const LIMITS: Limits =
    Limits { segment_bytes: 4 << 20, reserve_bytes: 2 << 20, entry_bytes_max: wire::BODY_BYTES_MAX };
/// P6: how long a server may hold back the answer to a poll.
const POLL_WAIT: Millis = Millis(20_000);
const SHORT_CHARS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: the log says why an assignment failed, in one line that is not too long.
    #[test]
    fn reasons_are_shortened() {
        assert_eq!(shortened("sh ended with 3:\nno\u{1b}[31m"), "sh ended with 3: no [31m");
        let long = shortened(&format!("sh ended with 3: {}out of memory", "ö".repeat(2_000)));
        assert!(long.starts_with("sh ended with 3: ö") && long.ends_with("öout of memory"), "{long}");
        assert_eq!(long.chars().count(), SHORT_CHARS_MAX + 3);
    }
}
