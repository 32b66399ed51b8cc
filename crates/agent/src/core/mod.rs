//! The agent's mind: lanes, slots, retries, pulls, bookkeeping. It has no clock, no disk and no network.
//!
//! Its driver tells it what happened (the methods below), takes what it wants done from
//! [`Core::next_action`], and wakes it at [`Core::next_wake`]. Two promises tie it to its spool: an action that speaks
//! of an event follows only after [`Core::durable`] said that the event is on disk; and a job is begun only after its
//! `task_started` is (N19, N22b).

mod action;
mod books;
mod outbox;
mod pull;
mod snapshot;
mod work;

#[cfg(test)]
mod tests;

pub(crate) use action::bounded;
pub use action::{
    Action, Answer, BatchResponse, Drain, End, NoAnswer, Progress, PullRequest, Refusal, Status, Work,
};
pub use muster_contract_nodes::{
    AnnouncedRun, Attempt, Event, EventKind, Heartbeat, Outcome, PulledWork, TIMEOUT,
};
pub use snapshot::SnapshotError;

use crate::{Attached, Text};
use books::Books;
use muster_model::{Attachment, FailureReason, Millis, Timestamp};
use outbox::{Link, Outbox, Together};
use pull::Pulls;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use work::Lanes;

/// Settings of an agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of tasks that run at once (N18).
    pub slots: u32,
    /// Time that a pull may wait for work (N1).
    pub wait: Millis,
    /// Number of events that may be in flight at once, each in a request of its own.
    pub sends: usize,
    /// Number of events in one request, where the backend takes several (N25).
    pub batch: usize,
    /// Timeout of a task of a workflow, where the agent knows the workflow (N22).
    pub timeouts: BTreeMap<String, Millis>,
}

/// Content of the spool at a restart.
#[derive(Debug, Default)]
pub struct Found {
    /// The newest snapshot.
    pub snapshot: Option<Vec<u8>>,
    /// Every event after it, with its number.
    pub since: Vec<(u64, Event)>,
    /// Every event that no backend has taken, with its number.
    pub pending: Vec<(u64, Event)>,
    /// The last number that was given.
    pub last: u64,
}

/// The agent's mind.
#[derive(Debug)]
pub struct Core {
    settings: Settings,
    /// Names this spool: event ids are made of it, so that an agent with a new spool never repeats one.
    spool_id: Text,
    last_event: u64,
    last_work: u64,
    devices: Option<BTreeMap<Text, Attached>>,
    lanes: Lanes,
    books: Books,
    /// Runs that hold nothing more here, as soon as what is in hand of them has ended.
    finishing: BTreeSet<Text>,
    outbox: Outbox,
    link: Link,
    together: Together,
    pulls: Pulls,
    heartbeat_at: Timestamp,
    tidy_at: Timestamp,
    is_spool_full: bool,
    drain: Option<Drain>,
    actions: VecDeque<Action>,
}

impl Core {
    /// An agent with what its spool holds. `new_id` names the spool if it is new.
    ///
    /// A task that was begun and never ended is reported as failed: nobody knows what became of it (N22b).
    ///
    /// # Errors
    /// The snapshot is none of this version.
    pub fn new(
        settings: Settings,
        new_id: &str,
        found: Found,
        now: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let (spool_id, mut books) = match &found.snapshot {
            Some(snapshot) => snapshot::read(snapshot)?,
            None => (new_id.into(), Books::default()),
        };
        for (number, event) in &found.since {
            books.apply(*number, event);
        }
        let mut outbox = Outbox::default();
        for (number, event) in &found.pending {
            outbox.push(*number, event, true);
        }
        for book in books.runs.values_mut() {
            let is_taken = book.closed_by.is_some_and(|number| !outbox.holds(number));
            book.closed_at = book.closed_at.or(is_taken.then_some(now));
        }
        let mut core = Self {
            settings,
            spool_id,
            last_event: found.last,
            last_work: 0,
            devices: None,
            lanes: Lanes::default(),
            books,
            finishing: BTreeSet::new(),
            outbox,
            link: Link::default(),
            together: Together::default(),
            pulls: Pulls::default(),
            heartbeat_at: now + FIRST_LOOK,
            tidy_at: now + TIDY_EVERY,
            is_spool_full: false,
            drain: None,
            actions: VecDeque::new(),
        };
        for (attempt, started_at) in core.books.begun() {
            let outcome = Outcome::Failed { reason: FailureReason::Unknown, error: "agent restarted".into() };
            core.report(EventKind::TaskFinished { attempt, started_at, outcome }, now);
        }
        core.settle(now);
        Ok(core)
    }

    /// Everything a later life needs besides the events after it.
    ///
    /// # Panics
    /// When there are actions left to take: events that the snapshot covers must stand in the log before it, or a crash
    /// right after it would lose them.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let is_ahead = self.actions.iter().any(|action| matches!(action, Action::Append(..)));
        assert!(!is_ahead, "a snapshot covers nothing that is not appended yet");
        snapshot::write(&self.spool_id, &self.books)
    }

    /// The next thing to be done outside, if anything is.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// All devices attached now (N1b).
    pub fn devices_seen(&mut self, devices: Vec<Attached>, now: Timestamp) {
        let devices: BTreeMap<Text, Attached> =
            devices.into_iter().map(|attached| (attached.device.clone(), attached)).collect();
        if self.devices.is_none() {
            self.heartbeat_at = self.heartbeat_at.min(now);
        }
        if self.devices.as_ref() != Some(&devices) {
            self.devices = Some(devices);
            self.pulls.devices_changed();
        }
        self.settle(now);
    }

    /// Nothing is known about any device at the moment: what was attached is reported as being in error.
    pub fn devices_unknown(&mut self, now: Timestamp) {
        let known = self.devices.iter().flat_map(BTreeMap::values).cloned();
        let unknown = known.map(|attached| Attached { attachment: Attachment::Error, ..attached });
        self.devices_seen(unknown.collect(), now);
    }

    /// Everything up to an event is on disk.
    pub fn durable(&mut self, up_to: u64, now: Timestamp) {
        self.is_spool_full = false;
        self.is_on_disk(up_to, now);
    }

    /// Everything up to an event is on disk, but only in room that was reserved for what runs: nothing new is begun or
    /// asked for (N19).
    pub fn durable_in_reserve(&mut self, up_to: u64, now: Timestamp) {
        self.is_spool_full = true;
        self.is_on_disk(up_to, now);
    }

    /// The spool could not be written; what was appended is kept in memory and tried again.
    ///
    /// Running tasks go on, nothing new is begun or asked for (N19).
    pub fn spool_failed(&mut self, now: Timestamp) {
        self.is_spool_full = true;
        self.settle(now);
    }

    /// No new work from now on; see [`Core::is_drained`].
    pub fn drain(&mut self, drain: Drain, now: Timestamp) {
        self.drain = Some(drain);
        for job in self.lanes.clear_waiting() {
            // Not reported: the backend hands it out again, and no attempt is lost by it.
            self.books.forget(&job.task);
        }
        if drain == Drain::HandBack {
            let tasks: Vec<Text> =
                self.lanes.running().map(|running| running.work.job.task.clone()).collect();
            tasks.iter().for_each(|task| self.cut(task, work::Cut::Stopped("handed back: the agent stops")));
        }
        self.settle(now);
    }

    /// True if nothing runs any more; events may still wait in the spool.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.lanes.running_count() == 0 && self.lanes.waiting_count() == 0
    }

    /// True if nothing runs any more and everything was taken.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.is_idle() && self.outbox.len() == 0 && self.finishing.is_empty()
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Timestamp) {
        self.cut_overdue(now);
        if self.tidy_at <= now {
            self.books.tidy(now);
            self.tidy_at = now + TIDY_EVERY;
        }
        self.settle(now);
    }

    /// When it must be woken, whatever happens until then.
    #[must_use]
    pub fn next_wake(&self) -> Timestamp {
        let deadlines = self.lanes.running().filter(|running| running.cut.is_none());
        let deadlines = deadlines.filter_map(|running| running.deadline);
        let sends = self.outbox.ready_at(self.flow()).map(|at| at.max(self.link.opens_at()));
        let pull = self.pulls.next_at(self.devices.is_some());
        let others = [self.heartbeat_at, self.tidy_at];
        deadlines.chain(sends).chain(pull).chain(others).min().expect("there are always heartbeats")
    }

    /// Status, for people.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            devices: self.devices.as_ref().map_or(0, BTreeMap::len),
            online: self.online(),
            running: self.lanes.running_count(),
            queued: self.lanes.waiting_count(),
            spooled: self.outbox.len(),
            degraded: self.link.is_degraded(),
            recovering: self.link.is_recovering(),
            spool_full: self.is_spool_full,
            draining: self.drain.is_some(),
            reachable: self.pulls.is_reachable(),
        }
    }

    fn is_on_disk(&mut self, up_to: u64, now: Timestamp) {
        self.outbox.durable(up_to);
        self.begin_durable(up_to, now);
        self.settle(now);
    }

    /// Everything that follows from what just happened.
    fn settle(&mut self, now: Timestamp) {
        self.begin_work(now);
        self.finish_runs(now);
        self.beat(now);
        self.pump(now);
        self.pull(now);
    }

    fn online(&self) -> usize {
        let devices = self.devices.iter().flat_map(BTreeMap::values);
        devices.filter(|attached| attached.attachment == Attachment::Online).count()
    }

    fn beat(&mut self, now: Timestamp) {
        if self.heartbeat_at > now {
            return;
        }
        self.heartbeat_at = now + HEARTBEAT_EVERY;
        self.actions.push_back(Action::Heartbeat(Heartbeat {
            at: now,
            connected: self.online() as u64,
            running: self.lanes.running_count() as u64,
            queued: self.books.unstarted(),
            // The core knows no channel; whoever sends the heartbeat does.
            vendor_ws_ok: true,
            degraded: self.link.is_degraded(),
        }));
    }
}

/// Time that the first heartbeat waits for a look at the devices, about which it speaks.
const FIRST_LOOK: Millis = Millis(5_000);
const HEARTBEAT_EVERY: Millis = Millis(30_000);
const TIDY_EVERY: Millis = Millis(60_000);
