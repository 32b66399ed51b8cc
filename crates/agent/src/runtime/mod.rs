//! The agent as it runs: the core, with a disk, a network, devices and a clock around it.

mod options;

pub use options::{AgentError, Options};

use crate::{
    Attached, Backend, End, StepStatus,
    core::{
        Action, Answer, Core, Drain, Found, NoAnswer, Progress, PullRequest, PulledWork, Settings, Status,
        Work,
    },
    driver::{Cause, StepFailure},
    execute::Executor,
};
use muster_contract_nodes::{read_event, write_event, write_heartbeat};
use muster_model::{Millis, Timestamp};
use muster_spool::Limits;
use muster_worker_kit::{
    exchange::{Exchange, pause_until, publish},
    journal::{Journal, JournalEvent, SegmentState},
    process::wait_for_earlier_life,
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::watch, task::AbortHandle};

/// Something that happened outside the core.
enum Happened {
    Journal(JournalEvent),
    Pulled(u64, Result<PulledWork, String>),
    Sent(u64, Answer),
    Stepped(u64, String, StepStatus),
    Ended(u64, End),
    Devices(Result<Vec<Attached>, StepFailure>),
}

/// An agent at work.
pub struct Agent {
    core: Core,
    journal: Journal,
    backend: Arc<Backend>,
    executor: Arc<Executor>,
    options: Options,
    /// What was appended lately, so that sending it need not read the disk.
    fresh: BTreeMap<u64, Vec<u8>>,
    pulls: HashMap<u64, AbortHandle>,
    /// Why devices could not be listed the last time.
    trouble: Option<Cause>,
    /// No new segment of the spool is tried before this.
    next_segment_at: Timestamp,
    exchange: Exchange<Happened>,
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
        let report = exchange.reporter();
        let journal =
            Journal::start(spool, SegmentState::FromOwner, move |event| report(Happened::Journal(event)))?;
        let found = found(recovered, journal.last())?;
        let waiting = found.pending.len();
        let timeouts = executor.timeouts().map(|(id, timeout)| (id.to_owned(), timeout)).collect();
        let settings = Settings { slots: options.slots, wait: WAIT, sends: SENDS, timeouts };
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
                happened = self.exchange.next() => self.note(happened),
                Ok(()) = drain.changed() => {
                    let wanted = *drain.borrow_and_update();
                    if let Some(drain) = wanted {
                        self.drain(drain);
                    }
                }
                () = tokio::time::sleep(pause) => self.core.wake((self.options.now)()),
            }
            // Whatever else has happened meanwhile shares one sync.
            while let Some(happened) = self.exchange.try_next() {
                self.note(happened);
            }
        }
        self.journal.close().await;
    }

    /// Tells the core what happened.
    fn note(&mut self, happened: Happened) {
        let now = (self.options.now)();
        if let Happened::Pulled(number, _) = &happened {
            self.pulls.remove(number);
        }
        match happened {
            Happened::Journal(event) => self.journalled(event, now),
            Happened::Pulled(number, Ok(answer)) => self.core.pulled(number, Ok(answer), now),
            Happened::Pulled(number, Err(error)) => {
                tracing::warn!(error, "no answer to a pull");
                self.core.pulled(number, Err(NoAnswer), now);
            }
            Happened::Sent(number, answer) => self.core.sent(number, answer, now),
            Happened::Stepped(work, step, status) => {
                self.core.stepped(work, Progress { step: &step, status }, now)
            }
            Happened::Ended(work, end) => {
                self.exchange.ended(work);
                self.core.ended(work, end, now);
            }
            Happened::Devices(seen) => {
                self.look(seen, now);
                self.discover_after(self.executor.fleet().look_every());
            }
        }
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
            JournalEvent::Read(number, Some(body)) => self.send(number, body),
            // Not sent, then; it is tried again like any that got no answer.
            JournalEvent::Read(number, None) => self.core.sent(number, Answer::None, now),
        }
    }

    /// Looks for devices after a pause.
    fn discover_after(&self, pause: Duration) {
        let executor = Arc::clone(&self.executor);
        self.exchange.spawn(async move {
            tokio::time::sleep(pause).await;
            Happened::Devices(executor.fleet().discover().await)
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
                Action::Send(number) => match self.fresh.get(&number) {
                    Some(body) => self.send(number, body.clone()),
                    None => self.journal.read(number),
                },
                Action::Pull(request) => self.pull(request),
                Action::Heartbeat(mut beat) => {
                    let backend = Arc::clone(&self.backend);
                    beat.vendor_ws_ok = self.executor.vendor_ws_ok();
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
        let pull = async move { Happened::Pulled(number, backend.pull(&request).await) };
        self.pulls.insert(number, self.exchange.spawn(pull));
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

    fn send(&self, number: u64, body: Vec<u8>) {
        let backend = Arc::clone(&self.backend);
        self.exchange.spawn(async move { Happened::Sent(number, backend.send(body).await) });
    }

    fn begin(&mut self, work: Work) {
        let (number, cancel) = (work.number, self.exchange.begin(work.number));
        let (executor, report) = (Arc::clone(&self.executor), self.exchange.reporter());
        self.exchange.spawn(async move {
            let progress = |step: &str, status| report(Happened::Stepped(number, step.to_owned(), status));
            Happened::Ended(number, executor.run(&work.job, &work.handle, &progress, &cancel).await)
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
    /// How many may be.
    pub slots: u32,
    /// Tasks that wait for their device or a slot.
    pub queued: usize,
    /// Events that no backend has taken.
    pub spooled: usize,
    /// Whether the last pull was answered.
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

const WAIT: Millis = Millis(30_000);
/// Events of different tasks that are on their way at once.
const SENDS: usize = 16;
/// The least time between two tries to begin a segment of the spool.
const SEGMENT_EVERY: Millis = Millis(1_000);
/// Bodies that are kept in memory besides on disk.
const FRESH_MAX: usize = 1_024;
/// How long a leaving agent tries to deliver what it has to say; the rest waits on disk for its next life.
const FLUSH: Millis = Millis(10_000);
