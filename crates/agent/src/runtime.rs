//! The agent as it runs: the core, with a disk, a network, devices and a clock around it.

use crate::{
    Attached, Backend,
    core::{
        Action, Core, Drain, Found, NoAnswer, Progress, PullRequest, PulledWork, Settings, SnapshotError,
        Status, Work,
    },
    driver::{Cause, StepFailure},
    execute::Executor,
    outgoing::{Outgoing, Packed},
};
use muster_contract_nodes::{NotACallback, read_event, write_event, write_heartbeat};
use muster_model::{Millis, Timestamp};
use muster_spool::{Limits, SpoolError};
use muster_worker_kit::{
    exchange::{Event, Exchange, pause_until, publish},
    journal::{Journal, JournalEvent, SegmentState},
    process::wait_for_earlier_life,
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashMap},
    fmt, io,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::{sync::watch, task::AbortHandle};

/// An agent at work.
pub struct Agent {
    core: Core,
    journal: Journal,
    backend: Arc<Backend>,
    executor: Arc<Executor>,
    options: Options,
    /// Lately appended events, so that sending them need not read the disk.
    fresh: BTreeMap<u64, Vec<u8>>,
    /// Requests some of whose events are being read from the disk.
    outgoing: Vec<Outgoing>,
    pulls: HashMap<u64, AbortHandle>,
    /// Reason why devices could not be listed the last time.
    trouble: Option<Cause>,
    /// No new segment of the spool is tried before this.
    next_segment_at: Timestamp,
    exchange: Exchange<Self>,
    report: watch::Sender<Report>,
}

impl Agent {
    /// Opens the spool, waits until nothing of an earlier life runs any more, and reports what it interrupted.
    ///
    /// # Errors
    /// The spool is in use, damaged or of another version.
    pub async fn open(options: Options, backend: Backend, executor: Executor) -> Result<Self, AgentError> {
        let limits = Limits { segment_bytes: options.segment_bytes, ..Limits::default() };
        let (spool, recovered) = Journal::open(&options.spool, limits)?;
        // Nothing is begun while a program of an earlier life could still drive a device.
        wait_for_earlier_life(&options.guard_lock(), "agent").await.map_err(|error| AgentError::Io {
            what: "waiting for what an earlier agent left".into(),
            error,
        })?;
        let exchange = Exchange::new();
        let journal = Journal::start(spool, SegmentState::FromOwner, exchange.reporter(Self::journalled))?;
        let found = found(recovered, journal.last())?;
        let waiting = found.pending.len();
        let timeouts = executor.timeouts().map(|(id, timeout)| (id.to_owned(), timeout)).collect();
        let settings = Settings { slots: options.slots, wait: WAIT, sends: SENDS, batch: BATCH, timeouts };
        let core = Core::new(settings, &options.new_spool_id, found, (options.now)())?;
        tracing::info!(node = options.node, waiting, spool = %options.spool.display(), "the agent is up");
        let report = watch::Sender::new(Report::new(&options, core.status()));
        let mut agent = Self {
            core,
            journal,
            backend: Arc::new(backend),
            executor: Arc::new(executor),
            options,
            fresh: BTreeMap::new(),
            outgoing: Vec::new(),
            pulls: HashMap::new(),
            trouble: None,
            next_segment_at: Timestamp::default(),
            exchange,
            report,
        };
        agent.write_snapshot();
        Ok(agent)
    }

    /// Its status, whenever that changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Report> {
        self.report.subscribe()
    }

    /// Works until it is asked to drain, and then until what runs has ended and was reported, as far as it can be.
    pub async fn run(mut self, mut drain: watch::Receiver<Option<Drain>>) {
        self.discover_after(Duration::ZERO);
        let mut flush_until: Option<Timestamp> = None;
        loop {
            self.act();
            self.show();
            if self.is_over(&mut flush_until) {
                break;
            }
            let pause = self.pause(flush_until);
            tokio::select! {
                event = self.exchange.next() => self.handle(event),
                Ok(()) = drain.changed() => {
                    let wanted = *drain.borrow_and_update();
                    if let Some(drain) = wanted {
                        self.drain(drain);
                    }
                }
                () = tokio::time::sleep(pause) => self.core.wake((self.options.now)()),
            }
            // Whatever else has happened meanwhile shares one sync.
            while let Some(event) = self.exchange.try_next() {
                self.handle(event);
            }
        }
        self.journal.close().await;
    }

    /// Handles an event.
    fn handle(&mut self, event: Event<Self>) {
        let now = (self.options.now)();
        event(self, now);
    }

    fn journalled(&mut self, event: JournalEvent, now: Timestamp) {
        match event {
            JournalEvent::Durable { up_to, in_reserve: true } => self.core.durable_in_reserve(up_to, now),
            JournalEvent::Durable { up_to, in_reserve: false } => {
                if self.core.status().spool_full {
                    tracing::info!("the spool can be written again");
                }
                self.core.durable(up_to, now);
            }
            JournalEvent::Failed(error) => {
                if !self.core.status().spool_full {
                    tracing::error!(%error, "the spool cannot be written: no new task is begun until it can");
                }
                self.core.spool_failed(now);
            }
            JournalEvent::SegmentFull => self.begin_segment(now),
            JournalEvent::Read(number, body) => self.read(number, body.as_deref(), now),
        }
    }

    /// Looks for devices after a pause.
    fn discover_after(&self, pause: Duration) {
        let executor = Arc::clone(&self.executor);
        let discover = async move {
            tokio::time::sleep(pause).await;
            executor.fleet.discover().await
        };
        self.exchange.spawn(discover, |agent, seen, now| {
            agent.look(seen, now);
            agent.discover_after(agent.executor.fleet.look_every());
        });
    }

    /// Takes a look at the devices. The same trouble every few seconds is told once.
    fn look(&mut self, seen: Result<Vec<Attached>, StepFailure>, now: Timestamp) {
        match seen {
            Ok(devices) => {
                if self.trouble.take().is_some() {
                    tracing::info!("devices are listed again");
                }
                self.core.devices_seen(devices, now);
            }
            Err(failure) => {
                if self.trouble.replace(failure.cause) != Some(failure.cause) {
                    tracing::warn!(error = %failure, "devices cannot be listed");
                }
                self.core.devices_unknown(now);
            }
        }
    }

    /// Does what the core wants done.
    fn act(&mut self) {
        while let Some(action) = self.core.next_action() {
            match action {
                Action::Append(number, event) => {
                    let body = write_event(&self.options.node, &event);
                    let appended = self.journal.append(body.clone());
                    assert_eq!(appended, number, "the core and the spool count alike");
                    self.fresh.insert(number, body);
                    if self.fresh.len() > FRESH_MAX {
                        self.fresh.pop_first();
                    }
                }
                Action::Ack(number) => {
                    self.fresh.remove(&number);
                    self.journal.ack(number);
                }
                Action::SetAside(number, refusal) => {
                    self.fresh.remove(&number);
                    tracing::error!(number, status = refusal.status, detail = %refusal.detail,
                        "the backend refused an event for good; it was set aside: see `muster agent aside`");
                    self.journal.set_aside(number, format!("{} {}", refusal.status, refusal.detail));
                }
                Action::Send(numbers) => self.gather(&numbers),
                Action::Pull(request) => self.pull(request),
                Action::Heartbeat(mut beat) => {
                    let backend = Arc::clone(&self.backend);
                    beat.vendor_ws_ok = self.executor.fleet.vendor_ws_ok();
                    let body = write_heartbeat(&self.options.node, &beat);
                    tokio::spawn(async move { backend.send(body).await });
                }
                Action::Begin(work) => self.begin(work),
                Action::Kill(work) => self.exchange.kill(work),
            }
        }
    }

    /// The segment is full. That is said until there is a new one, which must not be tried all the time.
    fn begin_segment(&mut self, now: Timestamp) {
        if self.next_segment_at <= now {
            self.next_segment_at = now + SEGMENT_EVERY;
            self.write_snapshot();
        }
    }

    /// Begins a segment with what the core knows; all that it follows from must stand in the log before it.
    fn write_snapshot(&mut self) {
        self.act();
        self.journal.snapshot(self.core.snapshot());
    }

    fn pull(&mut self, request: PullRequest) {
        let (backend, number) = (Arc::clone(&self.backend), request.number);
        let pull = async move { backend.pull(&request).await };
        self.pulls.insert(
            number,
            self.exchange.spawn(pull, move |agent, answer, now| agent.pulled(number, answer, now)),
        );
    }

    fn pulled(&mut self, number: u64, answer: Result<PulledWork, String>, now: Timestamp) {
        self.pulls.remove(&number);
        let answer = answer.map_err(|error| {
            tracing::warn!(error, "no answer to a pull");
            NoAnswer
        });
        self.core.pulled(number, answer, now);
    }

    /// No new work; a question that waits at the backend is taken back, so that nothing is handed to who is leaving.
    fn drain(&mut self, drain: Drain) {
        let now = (self.options.now)();
        self.core.drain(drain, now);
        for (number, asking) in std::mem::take(&mut self.pulls) {
            asking.abort();
            self.core.pulled(number, Err(NoAnswer), now);
        }
    }

    /// Sends events whose bodies are at hand; the others are read first.
    fn gather(&mut self, numbers: &[u64]) {
        let body = |number: &u64| (*number, self.fresh.get(number).cloned());
        let outgoing = Outgoing::new(numbers.iter().map(body));
        let awaited: Vec<u64> = outgoing.awaited().collect();
        awaited.iter().for_each(|number| self.journal.read(*number));
        self.outgoing.push(outgoing);
        self.send_gathered((self.options.now)());
    }

    fn read(&mut self, number: u64, body: Option<&[u8]>, now: Timestamp) {
        let _ = self.outgoing.iter_mut().any(|outgoing| outgoing.read(number, body));
        self.send_gathered(now);
    }

    fn send_gathered(&mut self, now: Timestamp) {
        let is_complete = |outgoing: &mut Outgoing| outgoing.awaited().next().is_none();
        let complete: Vec<Outgoing> = self.outgoing.extract_if(.., is_complete).collect();
        for outgoing in complete {
            let Packed { numbers, bodies, left } = outgoing.pack();
            if bodies.is_empty() {
                self.core.sent(left, now);
                continue;
            }
            let backend = Arc::clone(&self.backend);
            let send = async move { backend.send_all(bodies).await };
            self.exchange.spawn(send, move |agent, answers, now| {
                agent.core.sent(numbers.into_iter().zip(answers).chain(left), now);
            });
        }
    }

    fn begin(&mut self, work: Work) {
        let (number, cancel) = (work.number, self.exchange.begin(work.number));
        let executor = Arc::clone(&self.executor);
        let report = self.exchange.reporter(move |agent: &mut Self, (step, status): (String, _), now| {
            agent.core.stepped(number, Progress { step: &step, status }, now);
        });
        let run = async move {
            let progress = |step: &str, status| report((step.to_owned(), status));
            executor.run(&work.job, &work.handle, &progress, &cancel).await
        };
        self.exchange.spawn(run, move |agent, end, now| {
            agent.exchange.ended(number);
            agent.core.ended(number, end, now);
        });
    }

    fn show(&self) {
        let report = Report::new(&self.options, self.core.status());
        let was_degraded = self.report.borrow().degraded;
        match (was_degraded, report.degraded) {
            (false, true) => tracing::error!(
                spooled = report.spooled,
                "degraded: the backend takes no reports; they are kept, and what runs goes on"
            ),
            (true, false) => tracing::info!("the backend takes reports again"),
            _ => {}
        }
        publish(&self.report, report);
    }

    /// Reports whether it may leave: asked to, nothing runs, and what is left could not be delivered in time.
    fn is_over(&self, flush_until: &mut Option<Timestamp>) -> bool {
        if !self.core.status().draining || !self.core.is_idle() {
            return false;
        }
        let now = (self.options.now)();
        let until = *flush_until.get_or_insert(now + FLUSH);
        self.core.is_drained() || now >= until
    }

    fn pause(&self, flush_until: Option<Timestamp>) -> Duration {
        let deadline = flush_until.into_iter().fold(self.core.next_wake(), Timestamp::min);
        pause_until(Some(deadline), (self.options.now)())
    }
}

/// The status of an agent, for people and for `GET /status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The name of this PC.
    pub node: String,
    /// In one or two words; the worst that is true.
    pub state: &'static str,
    /// Devices attached.
    pub devices: usize,
    /// Those that are online.
    pub online: usize,
    /// Tasks in execution.
    pub running: usize,
    /// Upper limit of these.
    pub slots: u32,
    /// Tasks that wait for their device or a slot.
    pub queued: usize,
    /// Events that no backend has taken.
    pub spooled: usize,
    /// True if the last pull was answered.
    pub reachable: bool,
    /// Reports have not reached the backend for a while (N20).
    pub degraded: bool,
}

impl Report {
    fn new(options: &Options, status: Status) -> Self {
        Self {
            node: options.node.clone(),
            state: state(&status),
            devices: status.devices,
            online: status.online,
            running: status.running,
            slots: options.slots,
            queued: status.queued,
            spooled: status.spooled,
            reachable: status.reachable,
            degraded: status.degraded,
        }
    }
}

const fn state(status: &Status) -> &'static str {
    match status {
        Status { draining: true, .. } => "draining",
        Status { spool_full: true, .. } => "spool full",
        Status { degraded: true, .. } => "degraded",
        Status { recovering: true, .. } => "recovering",
        Status { reachable: false, .. } => "no answer",
        _ => "ok",
    }
}

fn found(recovered: muster_spool::Recovered, last: u64) -> Result<Found, AgentError> {
    let read = |entries: Vec<(muster_spool::Seq, Vec<u8>)>| {
        let event = |(seq, bytes): (muster_spool::Seq, Vec<u8>)| {
            let event = read_event(&bytes).map_err(|error| AgentError::Entry(seq.0, error))?;
            Ok((seq.0, event))
        };
        entries.into_iter().map(event).collect::<Result<Vec<_>, AgentError>>()
    };
    let (since, pending) = (read(recovered.since)?, read(recovered.pending)?);
    Ok(Found { snapshot: recovered.snapshot, since, pending, last })
}

/// The options of an agent.
#[derive(Clone)]
pub struct Options {
    /// The name of this PC.
    pub node: String,
    /// Number of tasks that run at once (N18).
    pub slots: u32,
    /// The spool's directory; a `work` directory and a lock live beside it there.
    pub spool: PathBuf,
    /// Size of a file of the spool before the next is begun.
    pub segment_bytes: u64,
    /// Names the spool if it is new: random, so that no two spools ever share one.
    pub new_spool_id: String,
    /// Tells the time; never less than it was.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Options {
    /// The file that guards of programs lock while they live.
    #[must_use]
    pub fn guard_lock(&self) -> PathBuf {
        self.spool.join("guards.lock")
    }

    /// Directory for files of running tasks.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.spool.join("work")
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("node", &self.node)
            .field("slots", &self.slots)
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}

/// Reason why an agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The spool does not open.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The spool holds what no agent of this version wrote.
    #[error("entry {0} of the spool: {1}; use the muster that wrote it to empty the spool")]
    Entry(u64, NotACallback),
    /// The spool's snapshot is none of this version.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Something on this PC does not work.
    #[error("{what}: {error}")]
    Io {
        /// The operation.
        what: String,
        /// The result.
        error: io::Error,
    },
}

const WAIT: Millis = Millis(30_000);
/// Events of different tasks that are on their way at once.
const SENDS: usize = 16;
/// Events in one request, where the backend takes several (N25).
const BATCH: usize = 100;
/// The least time between two tries to begin a segment of the spool.
const SEGMENT_EVERY: Millis = Millis(1_000);
/// Bodies that are kept in memory besides on disk.
const FRESH_MAX: usize = 1_024;
/// Time that a leaving agent tries to deliver its events; the rest waits on disk for its next life.
const FLUSH: Millis = Millis(10_000);
