//! The worker as it runs: the core, with a disk, a network, programs and a clock around it.

mod interface;

pub use interface::{Options, PoolWorkerError, Report};

use super::{
    Assignment, KeyFile, KeyFileError, Server,
    core::{
        Action, Core, End, Over, Settings, Spooled, Started, Submission, Submitted, Trouble, Work,
        WorkerSummary,
    },
    execute::Handler,
    wire,
};
use interface::log;
use muster_model::{Millis, Timestamp};
use muster_spool::{Limits, Recovered};
use muster_worker_kit::{
    Text,
    exchange::{Exchange, pause_until, publish},
    journal::{Journal, JournalEvent, SegmentState},
};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{sync::watch, task::AbortHandle};
use tokio_util::sync::CancellationToken;

/// Something that happened outside the core.
enum Happened {
    Admitted(u64, Result<Option<Millis>, Trouble>),
    Listed(u64, Result<Vec<WorkerSummary>, Trouble>),
    Registered(u64, Result<WorkerSummary, Trouble>),
    KeyGiven(u64, Result<(), Trouble>),
    Replaced(u64, Result<(), Text>),
    Beaten(u64, Result<Option<Text>, Trouble>),
    Resumed(u64, Result<Started, Trouble>),
    Polled(u64, Result<Option<Assignment>, Trouble>),
    Ended(u64, End),
    Journal(JournalEvent),
    Submitted(u64, Result<Submitted, Trouble>),
}

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
    exchange: Exchange<Happened>,
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
        let tell = exchange.reporter();
        let journal =
            Journal::start(spool, SegmentState::Empty, move |event| tell(Happened::Journal(event)))?;
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
                happened = self.exchange.next() => self.note(happened),
                () = leave.cancelled(), if !is_leaving => {
                    is_leaving = true;
                    self.core.leave((self.options.now)());
                }
                () = tokio::time::sleep(pause) => self.core.wake((self.options.now)()),
            }
            // Whatever else has happened meanwhile shares one sync.
            while let Some(happened) = self.exchange.try_next() {
                self.note(happened);
            }
        };
        self.journal.close().await;
        over
    }

    /// Tells the core what happened.
    fn note(&mut self, happened: Happened) {
        let now = (self.options.now)();
        match happened {
            Happened::Admitted(number, answer) => self.core.admitted(number, answer, now),
            Happened::Listed(number, answer) => self.core.listed(number, answer, now),
            Happened::Registered(number, answer) => self.core.registered(number, answer, now),
            Happened::KeyGiven(number, answer) => self.core.key_given(number, answer, now),
            Happened::Replaced(number, answer) => self.core.replaced(number, answer, now),
            Happened::Beaten(number, answer) => self.core.beaten(number, answer, now),
            Happened::Resumed(number, answer) => self.core.resumed(number, answer, now),
            Happened::Polled(number, answer) => {
                self.poll.take_if(|(asked, _)| *asked == number);
                self.core.polled(number, answer, now);
            }
            Happened::Ended(work, end) => {
                self.exchange.ended(work);
                self.core.ended(work, end, now);
            }
            Happened::Journal(event) => self.journalled(event, now),
            Happened::Submitted(entry, answer) => self.core.submitted(entry, answer, now),
        }
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
                    self.call(async move |server| Happened::Admitted(number, server.log_in().await));
                }
                Action::Renew(number) => {
                    self.call(async move |server| Happened::Admitted(number, server.renew().await));
                }
                Action::List(number) => {
                    self.call(async move |server| Happened::Listed(number, server.workers().await));
                }
                Action::Register(number) => self.register(number),
                Action::GiveKey { number, worker, key } => self.give_key(number, worker, key),
                Action::ReplaceKey(number) => self.replace_key(number),
                Action::Beat { number, worker } => {
                    self.call(async move |server| Happened::Beaten(number, server.beat(worker).await));
                }
                Action::Resume { number, worker, at_most } => {
                    self.call(async move |server| {
                        Happened::Resumed(number, server.resume(worker, at_most).await)
                    });
                }
                Action::Poll { number, worker, wait } => {
                    let poll = self
                        .call(async move |server| Happened::Polled(number, server.poll(worker, wait).await));
                    self.poll = Some((number, poll));
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
        self.call(async move |server| {
            Happened::Registered(number, server.register(&options.who, &key).await)
        });
    }

    /// Whatever was acked must be on disk first: what comes back after a crash would bear the old signature.
    fn give_key(&self, number: u64, worker: u64, key: Text) {
        let flushed = self.journal.flush();
        self.call(async move |server| {
            let given = match flushed.await {
                Ok(()) => server.give_key(worker, &key).await,
                Err(_) => Err(Trouble::NoAnswer(None)),
            };
            Happened::KeyGiven(number, given)
        });
    }

    fn replace_key(&self, number: u64) {
        let (keys, tell) = (Arc::clone(&self.keys), self.exchange.reporter());
        tokio::task::spawn_blocking(move || {
            let replaced = keys.lock().unwrap_or_else(PoisonError::into_inner).replace();
            tell(Happened::Replaced(number, replaced.map_err(|error| error.to_string().into())));
        });
    }

    fn begin(&mut self, work: Work) {
        let (number, cancel) = (work.number, self.exchange.begin(work.number));
        tracing::info!(assignment = work.assignment.id, "begun");
        let handler = Arc::clone(&self.handler);
        let running = tokio::spawn(async move { handler.run(&work, &cancel).await });
        self.exchange.spawn(async move {
            let broke_off = |error| {
                let error = format!("the handler broke off: {error}");
                End::Done(super::core::Outcome::Error(error.into()))
            };
            Happened::Ended(number, running.await.unwrap_or_else(broke_off))
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
        self.call(async move |server| Happened::Submitted(entry, server.submit(assignment, bytes).await));
    }

    /// Calls the server; what it says happens to the core.
    fn call<F>(&self, call: impl FnOnce(Arc<Server>) -> F + Send + 'static) -> AbortHandle
    where
        F: Future<Output = Happened> + Send,
    {
        let server = Arc::clone(&self.server);
        self.exchange.spawn(async move { call(server).await })
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

/// What an earlier life left: the core numbers it 1, 2, 3 ….
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

const LIMITS: Limits =
    Limits { segment_bytes: 4 << 20, reserve_bytes: 2 << 20, entry_bytes_max: wire::BODY_BYTES_MAX };
/// P6: how long a server may hold back the answer to a poll.
const POLL_WAIT: Millis = Millis(20_000);
