//! The ledger of sessions: what was granted, handed in and promised, independent of the engine.
//!
//! Like the rest of the ledger it reads what the store is told, what leaves the coordinator, what reaches the disk and
//! when whom was heard of. What a batch says of ids and of workers' states stands in it in the order in which it was
//! decided; rows come after, as they are in the end.

mod answer;
mod chunk;
mod rows;
mod session;
mod worker;

use super::{Verdict, broken, ensure};
use crate::{farm::FarmView, scene::Counts};
use chunk::Ids;
use muster_model::{
    Change, ChunkState, DiagnosticKind, DiagnosticRecord, Digest, EntryId, FrameChange, FrameCommand,
    FrameHandout, FrameRange, FrameSettings, FrameTaskId, FrameTaskStatus, Heartbeat, Millis, Name, Ratio,
    RendererState, SessionId, SessionRecord, Timestamp,
};
use muster_store::Batch;
use rows::{Before, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// The ledger.
#[derive(Default)]
pub(crate) struct FrameBook {
    settings: FrameSettings,
    seen: Counts,
    rows: Rows,
    ids: Ids,
    /// State of each worker according to its transitions, and since when.
    states: BTreeMap<Name, (RendererState, Timestamp)>,
    /// When the coordinator heard of each worker (S8).
    heard: BTreeMap<Name, Vec<Timestamp>>,
    /// Heartbeats and registrations of each worker in this life (S8, S10).
    said: BTreeMap<Name, Vec<Said>>,
    /// When each worker last had to stand still, its queue full.
    full_at: BTreeMap<Name, Timestamp>,
    /// Number of pushes of each attempt in this life, and time of the last one (S3).
    pushes: BTreeMap<(FrameTaskId, u16), (u32, Timestamp)>,
    /// Tasks that were to be placed by hand, and when (S6).
    by_hand: BTreeSet<(FrameTaskId, Timestamp)>,
    /// Whom a person approved, and when (S9).
    approved: BTreeSet<(Name, Timestamp)>,
    /// When something was heard of each live task.
    news: BTreeMap<FrameTaskId, Timestamp>,
    /// Lives of the coordinator so far, and when the last began.
    life: u32,
    up_since: Timestamp,
    /// When this life first looked round after workers had had their time to come back with their tasks (S19).
    closed_at: Option<Timestamp>,
    /// When requests were taken in this life, first and last, by exchange: they may be doubled.
    taken: BTreeMap<u64, (Timestamp, Timestamp)>,
    /// Accepted completions; never removed.
    accepted: BTreeMap<(FrameTaskId, u16), Accepted>,
    /// Frames that an attempt was told to have dropped, and that was answered.
    dropped: BTreeMap<(FrameTaskId, u16), u64>,
    /// Workers that came back with their task in this life (S19).
    rebound: BTreeSet<(FrameTaskId, u16, u64)>,
    /// Tasks that each worker must be ordered to stop with its next heartbeat, and since when (S2).
    stops: BTreeMap<(Name, FrameTaskId), Timestamp>,
    /// Sessions that somebody wants to be cancelled.
    cancelling: BTreeSet<SessionId>,
    /// Sessions whose failed frames somebody wants to be rendered again.
    retrying: BTreeSet<SessionId>,
    /// Pauses and resumes that no durable row tells of yet.
    steered: Steered,
    /// When everything was last told to go on.
    resumed_at: Timestamp,
    /// Files on the disk.
    manifests: BTreeMap<SessionId, Vec<(FrameRange, u64)>>,
    written: BTreeMap<SessionId, BTreeSet<u64>>,
    moved: BTreeSet<EntryId>,
}

/// A completion that was taken.
struct Accepted {
    worker: Name,
    digest: Digest,
    chunk: u64,
}

/// A heartbeat, or that a worker enrolled.
#[derive(Clone, Copy, Debug)]
struct Said {
    at: Timestamp,
    queue: Ratio,
    is_fine: bool,
    is_beat: bool,
}

impl Said {
    /// A heartbeat after what was said before. Without a round trip of its own it is judged by its lateness (S8b).
    fn of(heartbeat: &Heartbeat, settings: &FrameSettings, before: Option<&Self>, at: Timestamp) -> Self {
        let before = before.filter(|said| said.is_beat);
        let lateness = || before.map(|said| at - (said.at + settings.heartbeat));
        let is_slow = heartbeat.rtt.or_else(lateness).is_some_and(|rtt| rtt > settings.rtt_max);
        let is_fine = !heartbeat.error && heartbeat.queue_ratio < settings.degraded_ratio && !is_slow;
        Self { at, queue: heartbeat.queue_ratio, is_fine, is_beat: true }
    }

    fn is_full(&self) -> bool {
        self.queue.0 >= 1_000_000
    }
}

/// Pauses and resumes since the last durable batch.
#[derive(Default)]
struct Steered {
    all: bool,
    sessions: BTreeSet<SessionId>,
}

impl FrameBook {
    pub(super) fn new(settings: FrameSettings, seen: &Counts) -> Self {
        Self { settings, seen: seen.clone(), ..Self::default() }
    }

    /// A new life begins: silence counts from now (S8), and nothing that was only said is remembered.
    pub(super) fn life_begins(&mut self, now: Timestamp) {
        self.life += 1;
        (self.up_since, self.closed_at) = (now, None);
        self.heard.values_mut().for_each(|heard| heard.push(now));
        self.news.values_mut().for_each(|news| *news = now);
        self.taken.clear();
        self.rebound.clear();
        self.stops.clear();
        self.said.clear();
        self.pushes.clear();
    }

    /// The coordinator takes a request.
    pub(crate) fn taken(&mut self, command: &FrameCommand, exchange: u64, now: Timestamp) {
        self.taken.entry(exchange).or_insert((now, now)).1 = now;
        match command {
            FrameCommand::Heartbeat(heartbeat) => {
                self.heard_of(&heartbeat.worker, now);
                let told = self.said.entry(heartbeat.worker.clone()).or_default();
                let said = Said::of(heartbeat, &self.settings, told.last(), now);
                if said.is_full() || told.last().is_some_and(Said::is_full) {
                    self.full_at.insert(heartbeat.worker.clone(), now);
                }
                told.push(said);
            }
            FrameCommand::Register(registration) => {
                self.heard_of(&registration.worker, now);
                // Earlier heartbeats of the worker no longer count.
                let said = Said { at: now, queue: Ratio(0), is_fine: false, is_beat: false };
                self.said.entry(registration.worker.clone()).or_default().push(said);
            }
            FrameCommand::Approve { worker, .. } => _ = self.approved.insert((worker.clone(), now)),
            FrameCommand::Assign { task, .. } => _ = self.by_hand.insert((task.clone(), now)),
            FrameCommand::Progress(progress) => {
                let held = self.rows.held_by(&progress.worker);
                let tasks: Vec<FrameTaskId> = progress.task.iter().cloned().chain(held).collect();
                tasks.iter().for_each(|task| self.news_of(task, now));
            }
            FrameCommand::MoreIds { worker, .. } => {
                let held: Vec<FrameTaskId> = self.rows.held_by(worker).collect();
                held.iter().for_each(|task| self.news_of(task, now));
            }
            FrameCommand::Rebind { held: Some(held), .. } if self.may_come_back(now) => {
                self.rebound.insert((held.task.clone(), held.attempt, held.chunk));
            }
            FrameCommand::Steer { session, to } => {
                self.steered.sessions.insert(session.clone());
                if *to == muster_model::Steering::Cancel {
                    self.cancelling.insert(session.clone());
                }
            }
            FrameCommand::Broadcast { .. } => self.steered.all = true,
            FrameCommand::Retry(request) => _ = self.retrying.insert(request.session.clone()),
            _ => {}
        }
    }

    /// The coordinator looks what is due.
    pub(crate) fn ticked(&mut self, now: Timestamp) {
        if self.closed_at.is_none() && now >= self.up_since + self.settings.rebind_within {
            self.closed_at = Some(now);
        }
    }

    /// A batch has become durable.
    pub(super) fn durable(&mut self, batch: &Batch, sealed_at: Timestamp) -> Verdict {
        let mut before = Before::default();
        for change in &batch.changes {
            let Change::Frames(change) = change else { continue };
            match change {
                FrameChange::Chunk(record) => self.write_chunk(record, &mut before)?,
                FrameChange::Transition(moved) => self.write_transition(moved, &mut before)?,
                FrameChange::Diagnostic(line) => self.write_line(line),
                row => self.rows.write(row, &mut before)?,
            }
        }
        if before.is_empty() {
            return Ok(());
        }
        if self.steered.all || before.farm.is_some_and(|farm| farm.paused) {
            self.resumed_at = sealed_at;
        }
        self.check_ids(&before)?;
        self.check_workers(&before)?;
        self.check_ranges(&before)?;
        self.check_sessions(&before)?;
        self.steered = Steered::default();
        Ok(())
    }

    /// S20b: the diagnostics log tells of every range that is halved, skipped or tried again, in the order of events.
    fn write_line(&mut self, line: &DiagnosticRecord) {
        let Some(task) = &line.task else { return };
        match line.kind {
            DiagnosticKind::Split => {
                self.seen.count("range halved");
                let middle = line.text.split_once("halved at ").and_then(|(_, rest)| rest.split(':').next());
                if let Some(middle) = middle.and_then(|middle| middle.parse().ok()) {
                    self.ids.split(task, middle);
                }
            }
            DiagnosticKind::Skipped => {
                self.seen.count("range skipped by a manifest");
                for counts in [&mut self.ids.failures, &mut self.ids.skips] {
                    *counts.entry(task.clone()).or_default() += 1;
                }
            }
            DiagnosticKind::Retried => {
                self.seen.count("failed range retried");
                self.ids.begin_anew(task);
            }
            DiagnosticKind::GivenUp => self.seen.count("frame given up"),
            _ => {}
        }
    }

    /// A task is on its way to its worker: four times at most, and not at once again (S3).
    pub(crate) fn pushes(&mut self, handout: &FrameHandout, now: Timestamp) -> Verdict {
        let key = (handout.task.clone(), handout.attempt);
        let (times, last) = self.pushes.get(&key).copied().unwrap_or((0, Timestamp(0)));
        self.pushes.insert(key, (times + 1, now));
        let in_time = times < 4 && last + Millis(1_000) <= now;
        ensure(in_time, "pushed_too_often", || format!("{handout:?} {times} times, last at {last:?}"))
    }

    /// Records the manifest that is on the disk from now on.
    pub(crate) fn manifest_written(&mut self, session: &SessionId, fragments: Vec<(FrameRange, u64)>) {
        self.manifests.insert(session.clone(), fragments);
    }

    pub(crate) fn session_written(&mut self, session: &SessionId, replays: &[u64]) {
        self.written.insert(session.clone(), replays.iter().copied().collect());
    }

    pub(crate) fn files_moved(&mut self, entry: &EntryId) {
        self.moved.insert(entry.clone());
    }

    /// The farm as people see it.
    pub(crate) fn view(&self) -> FarmView {
        let kept = self.rows.chunks.values().filter(|chunk| chunk.record.state != ChunkState::Retired);
        let failed = self.rows.tasks.values().filter(|task| task.status == FrameTaskStatus::Failed);
        FarmView {
            renderers: self.rows.renderers.values().map(|row| (row.id.clone(), row.state)).collect(),
            sessions: self.sessions().cloned().collect(),
            failed: failed.cloned().collect(),
            chunks: kept.map(|chunk| (chunk.record.ids.chunk, chunk.record.task.clone())).collect(),
            entries: self.rows.quarantine.values().cloned().collect(),
            paused: self.rows.farm.paused,
        }
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &SessionRecord> {
        self.rows.sessions.values()
    }

    /// A session as the store has it.
    pub(crate) fn session(&self, id: &SessionId) -> Option<&SessionRecord> {
        self.rows.sessions.get(id)
    }

    /// When a request was first and last taken.
    fn taken_at(&self, exchange: u64) -> (Timestamp, Timestamp) {
        self.taken.get(&exchange).copied().unwrap_or((Timestamp(0), Timestamp(0)))
    }

    /// True if a worker that comes back now with its task may keep it: in time, or before anybody looked at the time.
    fn may_come_back(&self, now: Timestamp) -> bool {
        now <= self.up_since + self.settings.rebind_within
            || self.closed_at.is_none_or(|closed| now <= closed)
    }

    fn heard_of(&mut self, worker: &Name, now: Timestamp) {
        self.heard.entry(worker.clone()).or_default().push(now);
    }

    fn news_of(&mut self, task: &FrameTaskId, now: Timestamp) {
        if let Some(news) = self.news.get_mut(task) {
            *news = now;
        }
    }

    fn state(&self, worker: &Name) -> RendererState {
        self.states.get(worker).map_or(RendererState::Registered, |(state, _)| *state)
    }
}

/// Maximum time for a decision, its commit and the delivery of the response.
const SLACK: Millis = Millis(3_000);
