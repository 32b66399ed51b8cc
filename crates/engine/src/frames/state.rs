//! State of sessions: workers, open sessions, ranges that are not done, ids.

use crate::kernel::{Map, PlantedBug, Timers};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use muster_model::{
    ChunkRecord, Digest, Effect, EntryId, FrameChange, FrameRange, FrameSettings, FrameTaskId,
    FrameTaskRecord, FrameTaskStatus, IdRange, Millis, Name, QuarantineRecord, Ratio, Removal, RendererState,
    SessionId, SessionRecord, SessionStatus, Timestamp,
};

/// Everything live of contract S.
#[derive(Clone, Debug, Default)]
pub(crate) struct Farm {
    pub(crate) settings: FrameSettings,
    pub(crate) epoch: u64,
    /// Time when the term began (S19).
    pub(crate) began_at: Timestamp,
    /// The latest time that was handed in.
    pub(crate) latest: Timestamp,
    /// Between PauseAll and ResumeAll (S6).
    pub(crate) paused: bool,
    pub(crate) ids: Allocator,
    pub(crate) renderers: BTreeMap<Name, Renderer>,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    /// Open sessions by age: the oldest is served first.
    pub(crate) by_age: BTreeMap<u64, SessionId>,
    /// Those of them that have something to give out.
    pub(crate) offering: BTreeSet<u64>,
    pub(crate) session_seq: u64,
    /// Live chunks and whose they are.
    pub(crate) chunks: Map<u64, FrameTaskId>,
    /// Entries whose files are not moved yet.
    pub(crate) quarantine: BTreeMap<EntryId, QuarantineRecord>,
    pub(crate) timers: Timers<FarmTimer>,
    /// Counts ranges that came back, so that they stand in line.
    pub(crate) order: u64,
    pub(crate) crew: Crew,
    /// Changes of state since the term began, for the metrics (S7).
    pub(crate) transitions: BTreeMap<(RendererState, RendererState), u64>,
    pub(crate) recent: RecentFrames,
    pub(crate) dirty: DirtyFrames,
    pub(crate) bug: PlantedBug,
}

/// The `GlobalIdAllocator` (S12): what was granted lies below `next_id`, for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocator {
    pub(crate) next_chunk: u64,
    pub(crate) next_id: u64,
}

/// Timers: each names what to look at when it is due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FarmTimer {
    /// Is this worker silent (S8), its rest after a failed push over, or can it be forgotten (S6)?
    Renderer(Name),
    /// Has this assignment been heard of lately?
    Stall(FrameTaskId, u16),
    /// Is the next try of this push due (S3)?
    Push(FrameTaskId, u16),
    /// May a range go back to a worker that failed it (S26b)?
    Avoidance,
    /// Are there workers that did not come back with their tasks (S19)?
    NewTerm,
}

/// A session that is not closed.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) seq: u64,
    pub(crate) status: SessionStatus,
    pub(crate) total: u64,
    pub(crate) per_task: u64,
    pub(crate) strict: bool,
    pub(crate) output: Box<str>,
    pub(crate) digest: Digest,
    pub(crate) created_at: Timestamp,
    /// Not written to the store yet.
    pub(crate) body: Option<Box<str>>,
    /// Frames nobody was given yet: stretches by their first frame.
    pub(crate) uncut: BTreeMap<u64, u64>,
    /// Ranges that were cut and are not done, by their first frame.
    pub(crate) tasks: BTreeMap<u64, FrameTask>,
    /// Those of them that wait, in line.
    pub(crate) ready: BTreeSet<(u64, u64)>,
    /// Frames done.
    pub(crate) done: u64,
    /// Ranges that were given up or skipped, by their first frame (S23b, S26b).
    pub(crate) failed: BTreeMap<u64, Box<FrameTaskRecord>>,
    /// All frames are done or given up, and the manifest with this mark is being written.
    pub(crate) merging: Option<u64>,
}

/// A range that was cut and is not done.
#[derive(Clone, Debug)]
pub(crate) struct FrameTask {
    pub(crate) range: FrameRange,
    pub(crate) attempt: u16,
    /// Attempts that failed, and attempts that lost their worker: each halves the range at last (S26b).
    pub(crate) failures: u16,
    pub(crate) losses: u16,
    /// The workers that failed or lost it.
    pub(crate) losers: Vec<Name>,
    /// Until then it goes to none of them while there is another worker (S26b). Not durable.
    pub(crate) avoids_until: Option<Timestamp>,
    /// The frame at which its last attempt failed, as its progress told (S26b). Not durable.
    pub(crate) suspect: Option<u64>,
    /// The worker that has or last had it.
    pub(crate) worker: Name,
    /// Of its last attempt.
    pub(crate) ids: IdRange,
    pub(crate) created_at: Timestamp,
    pub(crate) granted_at: Timestamp,
    pub(crate) confirmed_at: Option<Timestamp>,
    pub(crate) dropped: u64,
    pub(crate) error: Option<Box<str>>,
    /// It waits because a worker was lost.
    pub(crate) lost: bool,
    /// Its place in line while it waits.
    pub(crate) order: u64,
    pub(crate) lease: Option<Assignment>,
}

/// A live lease on a range.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    /// Ids granted beyond the first (S1).
    pub(crate) extra: Vec<IdRange>,
    /// By push: tries made.
    pub(crate) pushes: Option<u8>,
    /// Its worker was told of it.
    pub(crate) shown: bool,
    /// Frames made so far, as told.
    pub(crate) processed: u64,
    /// Time when it was last heard of.
    pub(crate) heard_at: Timestamp,
    /// Deadline of the next liveness check.
    pub(crate) watched_at: Option<Timestamp>,
    /// Lines it left in the diagnostics log.
    pub(crate) lines: usize,
    /// From an earlier term, and its worker has not come back with it yet (S19).
    pub(crate) unbound: bool,
}

/// Decisions that may not be committed yet, remembered until the store can be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentFrames {
    pub(crate) tasks: Map<FrameTaskId, Box<FrameTaskRecord>>,
    pub(crate) sessions: Map<SessionId, Box<SessionRecord>>,
    pub(crate) chunks: Map<u64, Box<ChunkRecord>>,
}

/// Marks left by applying events.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirtyFrames {
    pub(crate) history: Vec<FrameChange>,
    pub(crate) renderers: BTreeSet<Name>,
    pub(crate) sessions: BTreeSet<SessionId>,
    pub(crate) tasks: BTreeSet<FrameTaskId>,
    pub(crate) ended: BTreeSet<FrameTaskId>,
    pub(crate) farm: bool,
    pub(crate) effects: Vec<Effect>,
    pub(crate) woken: BTreeSet<Name>,
    /// Sessions whose frames may all be done.
    pub(crate) check_sessions: BTreeSet<SessionId>,
    /// Work or a place for it may have appeared.
    pub(crate) check_supply: bool,
    /// Those who wait for work may be woken.
    pub(crate) check_wake: bool,
}

impl Default for Allocator {
    fn default() -> Self {
        Self { next_chunk: 1, next_id: 1 }
    }
}

impl Farm {
    pub(crate) fn has_bug(&self, mutant: crate::Mutant) -> bool {
        self.bug.is(mutant)
    }

    pub(crate) fn task(&self, id: &FrameTaskId) -> Option<&FrameTask> {
        self.sessions.get(&id.session)?.tasks.get(&id.start)
    }

    pub(crate) fn task_mut(&mut self, id: &FrameTaskId) -> Option<&mut FrameTask> {
        self.sessions.get_mut(&id.session)?.tasks.get_mut(&id.start)
    }

    /// Changes a worker, with what the crew amounts to taken down before and put up after.
    pub(crate) fn change_renderer(&mut self, name: &Name, change: impl FnOnce(&mut Renderer)) {
        self.adjust_renderer(name, change);
        self.dirty.renderers.insert(name.clone());
    }

    /// As [`Self::change_renderer`], for what is not durable.
    pub(crate) fn adjust_renderer(&mut self, name: &Name, change: impl FnOnce(&mut Renderer)) {
        if let Some(renderer) = self.renderers.get_mut(name) {
            self.crew.take_down(renderer, name);
            change(renderer);
            self.crew.put_up(renderer, name);
        }
    }

    /// True if anything of a session is given out now.
    pub(crate) fn gives_out(&self, id: &SessionId) -> bool {
        !self.paused && self.sessions.get(id).is_some_and(Session::is_serving)
    }

    /// Keeps up which sessions have something to give out.
    pub(crate) fn reindex(&mut self, id: &SessionId) {
        if let Some(session) = self.sessions.get(id) {
            match session.has_work() {
                true => self.offering.insert(session.seq),
                false => self.offering.remove(&session.seq),
            };
        }
    }

    /// Sets the timer that looks at a worker, unless an earlier one is set.
    pub(crate) fn arm(&mut self, name: &Name) {
        if let Some(renderer) = self.renderers.get_mut(name)
            && let Some(next) = renderer.next_look(&self.settings)
        {
            self.timers.arm(&mut renderer.armed, next, FarmTimer::Renderer(name.clone()));
        }
    }
}

impl Session {
    /// A session of which nothing is cut yet.
    pub(crate) fn new(record: &SessionRecord) -> Self {
        Self {
            seq: record.seq,
            status: record.status,
            total: record.total_frames,
            per_task: record.frames_per_task,
            strict: record.strict,
            output: record.output.clone(),
            digest: record.digest,
            created_at: record.created_at,
            body: None,
            uncut: BTreeMap::from([(0, record.total_frames)]),
            tasks: BTreeMap::new(),
            ready: BTreeSet::new(),
            done: 0,
            failed: BTreeMap::new(),
            merging: None,
        }
    }
}

impl FrameTask {
    /// Its status.
    pub(crate) fn status(&self) -> FrameTaskStatus {
        match (&self.lease, self.confirmed_at, self.lost) {
            (Some(_), None, _) => FrameTaskStatus::Assigned,
            (Some(_), Some(_), _) => FrameTaskStatus::Running,
            (None, _, true) => FrameTaskStatus::Lost,
            (None, _, false) => FrameTaskStatus::Pending,
        }
    }
}

impl Session {
    pub(crate) fn is_serving(&self) -> bool {
        self.status == SessionStatus::Running
    }

    pub(crate) fn has_work(&self) -> bool {
        self.is_serving() && !(self.ready.is_empty() && self.uncut.is_empty())
    }

    pub(crate) fn failed_frames(&self) -> u64 {
        self.failed.values().map(|record| record.end - record.id.start).sum()
    }

    pub(crate) fn uncut_frames(&self) -> u64 {
        self.uncut.iter().map(|(start, end)| end - start).sum()
    }

    /// The uncut stretch that holds a frame.
    pub(crate) fn stretch_of(&self, frame: u64) -> Option<FrameRange> {
        let (start, end) = self.uncut.range(..=frame).next_back()?;
        (frame < *end).then_some(FrameRange { start: *start, end: *end })
    }
}

/// A worker.
#[derive(Clone, Debug)]
pub(crate) struct Renderer {
    pub(crate) state: RendererState,
    pub(crate) state_since: Timestamp,
    pub(crate) token_hash: [u8; 32],
    pub(crate) endpoint: Option<Box<str>>,
    pub(crate) slots: u32,
    /// Failed ranges and losses that may count towards its diagnosis (S8).
    pub(crate) failures: Vec<Timestamp>,
    pub(crate) losses: Vec<Timestamp>,
    /// Time when it last completed a range (S26b).
    pub(crate) last_completed: Option<Timestamp>,
    /// Reaction to its removal, and the sessions it held ranges of then (S6).
    pub(crate) removal: Option<Removal>,
    pub(crate) removed_from: Vec<SessionId>,
    pub(crate) registered_at: Timestamp,
    /// Not written to the store yet.
    pub(crate) description: Option<Box<str>>,
    pub(crate) live: BTreeSet<FrameTaskId>,

    // The fields below are not durable.
    /// Silence counts from here: the last heartbeat, or the start of the term.
    pub(crate) heard_at: Timestamp,
    pub(crate) last_heartbeat: Option<Timestamp>,
    /// Arrival of the last heartbeat in this term: the next one is late by what exceeds the interval (S8b).
    pub(crate) beat_at: Option<Timestamp>,
    /// Its last heartbeat took long, or came late (S8b).
    pub(crate) is_slow: bool,
    /// Fine heartbeats in a row.
    pub(crate) fine: u32,
    /// One of its heartbeats was fine, since it registered.
    pub(crate) was_fine: bool,
    /// Since when all heartbeats were fine.
    pub(crate) fine_since: Option<Timestamp>,
    pub(crate) queue_ratio: Ratio,
    pub(crate) gpu_usage: Option<Ratio>,
    pub(crate) last_frame: Option<u64>,
    /// Of its latest progress.
    pub(crate) max_queue_ratio: Option<Ratio>,
    /// Frames per 1000 seconds, as its completed ranges tell.
    pub(crate) rate: Option<u64>,
    /// Requests of it that wait for a task.
    pub(crate) waiting: u32,
    /// It told in this term what it is at (S19).
    pub(crate) bound: bool,
    /// Number of times it must still be told to resume after a pause.
    pub(crate) resume_owed: u8,
    /// Tasks it must be told to stop, and how often still.
    pub(crate) stops: BTreeMap<FrameTaskId, u8>,
    /// No push to it before, after some that failed.
    pub(crate) rests_until: Option<Timestamp>,
    /// Removed, and calling since: a zombie until then (S6).
    pub(crate) zombie_until: Option<Timestamp>,
    pub(crate) armed: Option<Timestamp>,
}

/// Totals over the workers that may work; kept up by `Farm::change_renderer`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crew {
    /// Workers that may work.
    pub(crate) able: u64,
    /// Those of them whose rate is known, and the sum of these rates.
    pub(crate) rated: u64,
    pub(crate) rate_sum: u64,
    /// Those that take tasks by push and have a free slot: the healthy ones, and the others.
    pub(crate) reachable: [BTreeSet<Name>; 2],
    /// Those that wait for a task and have a free slot.
    pub(crate) hungry: BTreeSet<Name>,
}

impl Renderer {
    pub(crate) fn new(token_hash: [u8; 32], slots: u32, at: Timestamp) -> Self {
        Self {
            state: RendererState::Registered,
            state_since: at,
            token_hash,
            endpoint: None,
            slots,
            failures: Vec::new(),
            losses: Vec::new(),
            last_completed: None,
            removal: None,
            removed_from: Vec::new(),
            registered_at: at,
            description: None,
            live: BTreeSet::new(),
            heard_at: at,
            last_heartbeat: None,
            beat_at: None,
            is_slow: false,
            fine: 0,
            was_fine: false,
            fine_since: None,
            queue_ratio: Ratio::default(),
            gpu_usage: None,
            last_frame: None,
            max_queue_ratio: None,
            rate: None,
            waiting: 0,
            bound: true,
            resume_owed: 0,
            stops: BTreeMap::new(),
            rests_until: None,
            zombie_until: None,
            armed: None,
        }
    }

    /// True if it was removed and has shown no sign of knowing it (S6).
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self.removal, Some(Removal::Waiting | Removal::Silent))
    }

    /// The effect that tells it by push that it was removed (S6); `None` if it cannot be reached.
    pub(crate) fn dismissal(&self, name: &Name) -> Option<Effect> {
        let (worker, endpoint, token_hash) = (name.clone(), self.endpoint.clone()?, self.token_hash);
        Some(Effect::Dismiss { worker, endpoint, token_hash })
    }

    pub(crate) fn has_free_slot(&self) -> bool {
        self.live.len() < self.slots as usize
    }

    /// True if it has sent a good heartbeat: a worker gets no work before (S8).
    pub(crate) fn is_heard(&self) -> bool {
        match self.state {
            RendererState::Registered => self.fine > 0,
            RendererState::Healthy => true,
            _ => self.was_fine,
        }
    }

    pub(super) fn next_look(&self, settings: &FrameSettings) -> Option<Timestamp> {
        let last = self.state_since.max(self.heard_at);
        match self.state {
            RendererState::Removed if self.removal == Some(Removal::Waiting) => {
                Some(last + settings.silence_max())
            }
            RendererState::Removed if self.removal == Some(Removal::Silent) => Some(last + FORGET_LOST_AFTER),
            RendererState::Removed => Some(last + FORGET_AFTER),
            RendererState::Lost => Some(last + FORGET_LOST_AFTER),
            RendererState::Quarantined => None,
            _ => {
                let silent = self.heard_at + settings.silence_max();
                Some(self.rests_until.map_or(silent, |rest| rest.min(silent)))
            }
        }
    }
}

impl Crew {
    pub(crate) fn take_down(&mut self, renderer: &Renderer, name: &Name) {
        self.hungry.remove(name);
        for reachable in &mut self.reachable {
            reachable.remove(name);
        }
        if renderer.state.may_work() {
            self.able -= 1;
            self.rated -= u64::from(renderer.rate.is_some());
            self.rate_sum -= renderer.rate.unwrap_or(0);
        }
    }

    pub(crate) fn put_up(&mut self, renderer: &Renderer, name: &Name) {
        if !renderer.state.may_work() {
            return;
        }
        self.able += 1;
        self.rated += u64::from(renderer.rate.is_some());
        self.rate_sum += renderer.rate.unwrap_or(0);
        if !renderer.has_free_slot() {
            return;
        }
        if renderer.waiting > 0 {
            self.hungry.insert(name.clone());
        }
        if renderer.endpoint.is_some() && renderer.bound {
            let [healthy, others] = &mut self.reachable;
            let place = if renderer.state == RendererState::Healthy { healthy } else { others };
            place.insert(name.clone());
        }
    }
}

/// Time for which a lost worker is remembered.
pub(crate) const FORGET_LOST_AFTER: Millis = Millis::from_secs(30 * 86_400);
/// Time for which a removed worker is remembered after it was last heard of (S6).
pub(crate) const FORGET_AFTER: Millis = Millis::from_secs(3600);
