//! A ledger of what was promised and what is durable, independent of the engine.
//!
//! It reads what the store is told, what leaves the coordinator, and when whom was heard of; from these
//! alone it knows what must hold.

mod agent;
mod answer;
mod frames;
mod history;
mod mirror;
mod pool;
mod queue;
mod term;

use crate::{client::Fleet, coordinator::speaker, network::Ticket, scene::Counts, stage::Account};
pub(crate) use agent::Written;
pub(crate) use answer::SentAnswer;
pub(crate) use frames::FrameBook;
use history::Histories;
use mirror::{Before, Mirror};
use muster_coordinator::LeaseTimes;
use muster_model::{
    Change, Command, Fence, JobId, JobRecord, LaneRecord, Name, Report, ReportBatch, ReportId, ReportKind,
    Settings, TaskRecord, TaskReport, TaskStatus, Timestamp, WorkerMessage, WorkerRecord,
};
use muster_store::Batch;
pub(crate) use pool::PoolBook;
use std::collections::BTreeMap;
pub(crate) use term::{Takeover, Terms};

/// Something that does not hold.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) check: &'static str,
    pub(crate) detail: String,
}

impl Broken {
    pub(crate) fn new(check: &'static str, detail: String) -> Self {
        Self { check, detail }
    }
}

/// True if it holds.
pub(crate) type Verdict = Result<(), Broken>;

/// Says what is broken.
pub(crate) fn broken(check: &'static str, detail: impl FnOnce() -> String) -> Verdict {
    Err(Broken::new(check, detail()))
}

/// Holds when it is true.
pub(crate) fn ensure(holds: bool, check: &'static str, detail: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { broken(check, detail) }
}

/// The reports of a batch, without its heartbeats.
fn reports_of(batch: &ReportBatch) -> impl Iterator<Item = &Report> {
    batch.messages.iter().filter_map(|message| match message {
        WorkerMessage::Report(report) => Some(&**report),
        WorkerMessage::Heartbeat { .. } => None,
    })
}

/// The ledger.
pub(crate) struct Checker {
    settings: Settings,
    /// Counts what becomes durable.
    seen: Counts,
    mirror: Mirror,
    histories: Histories,
    /// When the coordinator heard of each worker, oldest first.
    heard: BTreeMap<Name, Vec<Timestamp>>,
    up_since: Timestamp,
    /// When a job was last handed out, by task.
    shown: BTreeMap<muster_model::TaskId, Timestamp>,
    /// The attempt that each report named, by report.
    spoken: BTreeMap<ReportId, ReportedAttempt>,
    told: u64,
    agents: agent::Agents,
    executed: agent::Executed,
    /// Of sessions.
    pub(crate) frames: FrameBook,
    /// Of the pool.
    pub(crate) pool: PoolBook,
    /// Of those who lead.
    pub(crate) terms: Terms,
}

/// The attempt and the fence a report names, where it does.
struct ReportedAttempt {
    attempt: Option<u16>,
    fence: Option<Fence>,
}

impl Checker {
    pub(crate) fn new(settings: Settings, lease: Option<LeaseTimes>, seen: &Counts) -> Self {
        Self {
            settings,
            seen: seen.clone(),
            mirror: Mirror::default(),
            histories: Histories::new(seen),
            heard: BTreeMap::new(),
            up_since: Timestamp(0),
            shown: BTreeMap::new(),
            spoken: BTreeMap::new(),
            told: 0,
            agents: agent::Agents::new(),
            executed: agent::Executed::new(),
            frames: FrameBook::new(settings.frames, seen),
            pool: PoolBook::new(settings.pool, seen),
            terms: Terms::new(lease),
        }
    }

    /// A new life begins: silence counts from now (N15).
    pub(crate) fn life_begins(&mut self, now: Timestamp) {
        self.up_since = now;
        for heard in self.heard.values_mut() {
            heard.push(now);
        }
        for shown in self.shown.values_mut() {
            *shown = now;
        }
        self.frames.life_begins(now);
        self.pool.life_begins(now);
    }

    /// The coordinator takes a request, at a moment by its clock.
    pub(crate) fn takes(&mut self, ticket: &Ticket, now: Timestamp) -> Verdict {
        if let Some(worker) = speaker(&ticket.command) {
            self.heard_of(worker, now);
        }
        match &*ticket.command {
            Command::Report(report) => self.spoke(report)?,
            Command::ReportBatch(batch) => reports_of(batch).try_for_each(|report| self.spoke(report))?,
            Command::Frames(command) => self.frames.taken(command, ticket.exchange, now),
            Command::Pool(command) => self.pool.taken(command, ticket.exchange, now),
            _ => {}
        }
        Ok(())
    }

    /// The coordinator takes a message of a worker.
    fn heard_of(&mut self, worker: &Name, now: Timestamp) {
        match self.heard.get_mut(worker) {
            Some(heard) => heard.push(now),
            None => drop(self.heard.insert(worker.clone(), vec![now])),
        }
    }

    /// The coordinator takes a report; what it says is compared with what it does.
    fn spoke(&mut self, report: &Report) -> Verdict {
        if let ReportKind::Task(TaskReport { attempt, fence, .. }) = &report.kind {
            let (attempt, fence) = (*attempt, *fence);
            self.spoken.entry(report.id.clone()).or_insert(ReportedAttempt { attempt, fence });
        }
        self.agent_heard(report)
    }

    /// Checks a batch that has become durable; it was sealed at `sealed_at`, by the clock of its life.
    pub(crate) fn durable(&mut self, batch: &Batch, sealed_at: Timestamp) -> Verdict {
        let mut before = Before::default();
        for change in &batch.changes {
            self.mirror.write(change, &mut before)?;
        }
        self.check_calendar(&batch.changes)?;
        for change in &batch.changes {
            if let Change::Log(log) = change {
                // Stores append a line to the row of its task, so the two come together.
                ensure(before.tasks.contains_key(&log.task), "log_without_row", || format!("{log:?}"))?;
                self.check_timeout(log, &before)?;
                self.histories.write(log, &self.mirror)?;
            }
        }
        for id in before.tasks.keys() {
            let row = &self.mirror.tasks[id];
            history::check_row(row, before.tasks[id].as_ref(), &self.settings)?;
            self.histories.agree(row)?;
        }
        self.check_grants(batch, &before)?;
        self.check_reports(batch)?;
        self.check_offline(&before)?;
        self.check_queue(&before)?;
        self.frames.durable(batch, sealed_at)?;
        self.pool.durable(batch, sealed_at)?;
        self.feed_is_durable(batch)
    }

    /// Looks at what must not last, after every step.
    pub(crate) fn after_step(&self, now: Timestamp) -> Verdict {
        self.check_overdue(now)?;
        self.frames.after_step(now)?;
        self.pool.after_step(now)
    }

    /// True if no run is open, no row live, no lane held, and no node has anything left to say of a run.
    pub(crate) fn is_quiet(&self) -> bool {
        let Mirror { running, jobs, shares, stops, calendar, .. } = &self.mirror;
        let free = calendar.standing.is_empty();
        free && running.is_empty()
            && shares.is_empty()
            && stops.is_empty()
            && jobs.values().all(|job| !job.open)
    }

    /// The last look, once all is quiet.
    pub(crate) fn at_rest(&self) -> Verdict {
        let live = self.mirror.tasks.values().find(|task| !task.status.is_ended());
        ensure(live.is_none(), "live_row_at_rest", || format!("{live:?}"))?;
        self.frames.at_rest()?;
        self.histories.lanes_are_free()
    }

    /// Describes the rows that keep the ledger from being quiet.
    pub(crate) fn unrest(&self) -> String {
        let jobs: Vec<_> = self.mirror.jobs.values().filter(|job| job.open).collect();
        let rows = self.mirror.tasks.values().filter(|task| !task.status.is_ended());
        let rows: Vec<_> = rows.map(|task| (task.id, &task.lane, task.status)).collect();
        let lanes = self.mirror.lanes.values().filter(|lane| !lane.failed);
        let lanes: Vec<_> =
            lanes.map(|lane| (&lane.id, &lane.worker, lane.attachment, lane.offline_since)).collect();
        let workers: Vec<_> = self.mirror.workers.values().collect();
        let Mirror { shares, stops, .. } = &self.mirror;
        let (frames, pool) = (self.frames.unrest(), self.pool.unrest());
        format!(
            "open jobs {jobs:?}, live rows {rows:?}, shares {shares:?}, stops {stops:?}, lanes {lanes:?}, workers {workers:?}; {frames}; {pool}"
        )
    }

    /// Summarizes the tasks in the store, the run summaries that agents reported, and the alerts.
    pub(crate) fn account(&self) -> Account {
        let rows = |status| self.mirror.tasks.values().filter(|row| row.status == status).count() as u64;
        Account {
            completed: rows(TaskStatus::Completed),
            failed: rows(TaskStatus::Failed),
            attempts: self.mirror.tasks.values().map(|row| u64::from(row.attempt)).sum(),
            told: self.agents.values().flat_map(agent::AgentBook::summaries).collect(),
            alerts: self.mirror.alerts.iter().map(|alert| alert.message.to_string()).collect(),
        }
    }

    /// Number of runs that the calendar created.
    pub(crate) fn calendar_runs(&self) -> usize {
        self.mirror.calendar.runs()
    }

    /// The fleet as operators see it.
    pub(crate) fn fleet(&self) -> Fleet {
        let failed = self.mirror.lanes.values().filter(|lane| lane.failed);
        Fleet {
            workers: self.mirror.workers.keys().cloned().collect(),
            lanes: self.mirror.lanes.keys().cloned().collect(),
            failed: failed.map(|lane| lane.id.clone()).collect(),
            running: self.mirror.running.iter().copied().collect(),
            schedules: self.mirror.calendar.standing.keys().copied().collect(),
        }
    }

    /// A run as the store has it.
    pub(crate) fn job(&self, run: JobId) -> Option<&JobRecord> {
        self.mirror.jobs.get(&run)
    }

    /// The rows of a run on whose devices it failed.
    pub(crate) fn failed_rows(&self, run: JobId) -> impl Iterator<Item = &TaskRecord> {
        queue::rows_of(&self.mirror, run).filter(|row| row.status == TaskStatus::Failed)
    }

    /// A device as the store has it.
    pub(crate) fn lane(&self, lane: &Name) -> Option<&LaneRecord> {
        self.mirror.lanes.get(lane)
    }

    /// A PC as the store has it.
    pub(crate) fn worker(&self, worker: &Name) -> Option<&WorkerRecord> {
        self.mirror.workers.get(worker)
    }

    fn running(&self) -> impl Iterator<Item = &TaskRecord> {
        let rows = self.mirror.running.iter().filter_map(|id| self.mirror.tasks.get(id));
        rows.filter(|row| row.status == TaskStatus::Running)
    }
}
