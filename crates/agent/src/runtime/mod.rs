//! The agent as it runs: the core, with a disk, a network, devices and a clock around it.

mod journal;
mod options;
mod report;
mod watch;

pub use options::Options;
pub use report::Report;

use crate::{
    Attached, Backend, End, StepStatus,
    core::{
        Action, Answer, Core, Drain, Found, NoAnswer, PullAnswer, PullRequest, Settings, SnapshotError, Work,
    },
    driver::{Cause, StepFailure},
    execute::Executor,
    wire::{self, NotACallback},
};
use journal::Journal;
use muster_model::{Millis, Timestamp};
use muster_spool::SpoolError;
use std::{
    collections::{BTreeMap, HashMap},
    io,
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch as channel},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

/// Why an agent cannot run.
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
        /// What was tried.
        what: String,
        /// What came of it.
        error: io::Error,
    },
}

/// Something that happened outside the core.
enum Happened {
    Durable { up_to: u64, in_reserve: bool },
    SpoolFailed(SpoolError),
    SegmentFull,
    Read(u64, Vec<u8>),
    Pulled(u64, Result<PullAnswer, String>),
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
    works: HashMap<u64, CancellationToken>,
    pulls: HashMap<u64, AbortHandle>,
    /// Why devices could not be listed the last time.
    trouble: Option<Cause>,
    /// No new segment of the spool is tried before this.
    next_segment_at: Timestamp,
    happened: mpsc::UnboundedReceiver<Happened>,
    tell: mpsc::UnboundedSender<Happened>,
    report: channel::Sender<Report>,
}

impl Agent {
    /// Opens the spool, waits until nothing of an earlier life runs any more, and reports what it interrupted.
    ///
    /// # Errors
    /// The spool is in use, damaged or of another version.
    pub async fn open(options: Options, backend: Backend, executor: Executor) -> Result<Self, AgentError> {
        let (tell, happened) = mpsc::unbounded_channel();
        let (spool, recovered) = journal::open(&options.spool, options.segment_bytes)?;
        wait_for_earlier_life(&options).await?;
        if let Some(cut) = &recovered.cut {
            tracing::warn!(file = cut.file, bytes = cut.bytes, "cut a torn end off the spool");
        }
        let journal = Journal::start(spool, tell.clone())?;
        let found = found(recovered, journal.last)?;
        let waiting = found.pending.len();
        let timeouts = executor.timeouts().map(|(id, timeout)| (id.to_owned(), timeout)).collect();
        let settings = Settings { slots: options.slots, wait: WAIT, sends: SENDS, timeouts };
        let core = Core::new(settings, &options.new_spool_id, found, (options.now)())?;
        tracing::info!(node = options.node, waiting, spool = %options.spool.display(), "the agent is up");
        let report = channel::Sender::new(Report::new(&options, core.status()));
        let mut agent = Self {
            core,
            journal,
            backend: Arc::new(backend),
            executor: Arc::new(executor),
            options,
            fresh: BTreeMap::new(),
            works: HashMap::new(),
            pulls: HashMap::new(),
            trouble: None,
            next_segment_at: Timestamp::default(),
            happened,
            tell,
            report,
        };
        agent.write_snapshot();
        Ok(agent)
    }

    /// How it is, whenever that changes.
    #[must_use]
    pub fn watch(&self) -> channel::Receiver<Report> {
        self.report.subscribe()
    }

    /// Works until it is asked to drain, and then until what runs has ended and was reported, as far as it can be.
    pub async fn run(mut self, mut drain: channel::Receiver<Option<Drain>>) {
        let discovering = tokio::spawn(watch::devices(Arc::clone(&self.executor), self.tell.clone()));
        let mut flush_until: Option<Timestamp> = None;
        loop {
            self.act();
            self.show();
            if self.is_over(&mut flush_until) {
                break;
            }
            let pause = self.pause(flush_until);
            tokio::select! {
                Some(happened) = self.happened.recv() => self.note(happened),
                Ok(()) = drain.changed() => {
                    let wanted = *drain.borrow_and_update();
                    if let Some(drain) = wanted {
                        self.drain(drain);
                    }
                }
                () = tokio::time::sleep(pause) => self.core.wake((self.options.now)()),
            }
            // Whatever else has happened meanwhile shares one sync.
            while let Ok(happened) = self.happened.try_recv() {
                self.note(happened);
            }
        }
        discovering.abort();
        self.journal.close().await;
    }

    /// Tells the core what happened.
    fn note(&mut self, happened: Happened) {
        let now = (self.options.now)();
        if let Happened::Pulled(number, _) = &happened {
            self.pulls.remove(number);
        }
        match happened {
            Happened::Durable { up_to, in_reserve: true } => self.core.durable_in_reserve(up_to, now),
            Happened::Durable { up_to, in_reserve: false } => {
                if self.core.status().spool_full {
                    tracing::info!("the spool can be written again");
                }
                self.core.durable(up_to, now);
            }
            Happened::SpoolFailed(error) => {
                if !self.core.status().spool_full {
                    tracing::error!(%error, "the spool cannot be written: no new task is begun until it can");
                }
                self.core.spool_failed(now);
            }
            Happened::SegmentFull => self.begin_segment(now),
            Happened::Read(number, body) => self.send(number, body),
            Happened::Pulled(number, Ok(answer)) => self.core.pulled(number, Ok(answer), now),
            Happened::Pulled(number, Err(error)) => {
                tracing::warn!(error, "no answer to a pull");
                self.core.pulled(number, Err(NoAnswer), now);
            }
            Happened::Sent(number, answer) => self.core.sent(number, answer, now),
            Happened::Stepped(work, step, status) => self.core.stepped(work, (&step, status), now),
            Happened::Ended(work, end) => {
                self.works.remove(&work);
                self.core.ended(work, end, now);
            }
            Happened::Devices(seen) => self.look(seen, now),
        }
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
                    let body = wire::write_event(&self.options.node, &event);
                    self.journal.append(number, body.clone());
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
                Action::Heartbeat(beat) => {
                    let backend = Arc::clone(&self.backend);
                    let body = wire::write_heartbeat(&self.options.node, &beat, self.executor.vendor_ws_ok());
                    tokio::spawn(async move { backend.send(body).await });
                }
                Action::Begin(work) => self.begin(work),
                Action::Kill(work) => {
                    if let Some(cancel) = self.works.get(&work) {
                        cancel.cancel();
                    }
                }
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
        let (backend, tell, number) = (Arc::clone(&self.backend), self.tell.clone(), request.number);
        let asking = tokio::spawn(async move {
            let answer = backend.pull(&request).await;
            let _ = tell.send(Happened::Pulled(number, answer));
        });
        self.pulls.insert(number, asking.abort_handle());
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
        let (backend, tell) = (Arc::clone(&self.backend), self.tell.clone());
        tokio::spawn(async move {
            let answer = backend.send(body).await;
            let _ = tell.send(Happened::Sent(number, answer));
        });
    }

    fn begin(&mut self, work: Work) {
        let cancel = CancellationToken::new();
        self.works.insert(work.number, cancel.clone());
        let (executor, tell) = (Arc::clone(&self.executor), self.tell.clone());
        tokio::spawn(async move {
            let number = work.number;
            let progress = |step: &str, status| {
                let _ = tell.send(Happened::Stepped(number, step.to_owned(), status));
            };
            let end = executor.run(&work.job, &work.handle, &progress, &cancel).await;
            let _ = tell.send(Happened::Ended(number, end));
        });
    }

    fn show(&self) {
        let report = Report::new(&self.options, self.core.status());
        self.report.send_if_modified(|shown| {
            match (shown.degraded, report.degraded) {
                (false, true) => tracing::error!(
                    spooled = report.spooled,
                    "degraded: the backend takes no reports; they are kept, and what runs goes on"
                ),
                (true, false) => tracing::info!("the backend takes reports again"),
                _ => {}
            }
            let is_news = *shown != report;
            *shown = report;
            is_news
        });
    }

    /// Whether it may leave: asked to, nothing runs, and what is left could not be delivered in time.
    fn is_over(&self, flush_until: &mut Option<Timestamp>) -> bool {
        if !self.core.status().draining || !self.core.is_idle() {
            return false;
        }
        let now = (self.options.now)();
        let until = *flush_until.get_or_insert(now + FLUSH);
        self.core.is_drained() || now >= until
    }

    fn pause(&self, flush_until: Option<Timestamp>) -> Duration {
        let until = flush_until.map_or(self.core.next_wake(), |until| until.min(self.core.next_wake()));
        let pause = until - (self.options.now)();
        Duration::from_millis(u64::try_from(pause.0).unwrap_or(0))
    }
}

/// Nothing is begun while a program of an earlier life could still drive a device.
async fn wait_for_earlier_life(options: &Options) -> Result<(), AgentError> {
    let lock = options.guard_lock();
    let mut gone = pin!(muster_worker_kit::process::wait_for_earlier_guards(&lock));
    let waited = match tokio::time::timeout(SILENT_WAIT, &mut gone).await {
        Ok(waited) => waited,
        Err(_) => {
            tracing::warn!(lock = %lock.display(), "programs of an earlier agent still run; waiting until they are gone");
            gone.await
        }
    };
    waited.map_err(|error| AgentError::Io { what: "waiting for what an earlier agent left".into(), error })
}

fn found(recovered: muster_spool::Recovered, last: u64) -> Result<Found, AgentError> {
    let read = |entries: Vec<(muster_spool::Seq, Vec<u8>)>| {
        let event = |(seq, bytes): (muster_spool::Seq, Vec<u8>)| {
            let event = wire::read_event(&bytes).map_err(|error| AgentError::Entry(seq.0, error))?;
            Ok((seq.0, event))
        };
        entries.into_iter().map(event).collect::<Result<Vec<_>, AgentError>>()
    };
    let (since, pending) = (read(recovered.since)?, read(recovered.pending)?);
    Ok(Found { snapshot: recovered.snapshot, since, pending, last })
}

/// Programs are killed within moments; only what cannot be killed takes longer.
const SILENT_WAIT: Duration = Duration::from_secs(2);
const WAIT: Millis = Millis(30_000);
/// Events of different tasks that are on their way at once.
const SENDS: usize = 16;
/// The least time between two tries to begin a segment of the spool.
const SEGMENT_EVERY: Millis = Millis(1_000);
/// Bodies that are kept in memory besides on disk.
const FRESH_MAX: usize = 1_024;
/// How long a leaving agent tries to deliver what it has to say; the rest waits on disk for its next life.
const FLUSH: Millis = Millis(10_000);
