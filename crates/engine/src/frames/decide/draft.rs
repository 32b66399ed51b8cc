//! A decision in the making, and the ends that several decisions share.

use crate::{
    Context, Mutant,
    frames::{
        rule::{
            health,
            split::{self, Verdict},
        },
        state::{Farm, FrameTask, Renderer, Session},
    },
};
use alloc::{borrow::ToOwned, boxed::Box, collections::BTreeSet, format, vec::Vec};
use muster_model::{
    AlertKind, AlertRecord, ChunkRecord, EntryId, Event, Fact, FrameEvent, FrameRejection, FrameTaskId,
    FrameTaskRecord, IdRange, Key, Name, RangeEnd, Removal, RendererState, SessionId, SessionRecord,
    SessionStatus, Timestamp,
};

/// A decision in the making.
pub(crate) struct Draft<'a> {
    pub(crate) farm: &'a Farm,
    pub(crate) now: Timestamp,
    pub(crate) events: Vec<Event>,
    context: &'a Context<'a>,
    /// Assignments and sessions that this very decision ends.
    ended: BTreeSet<FrameTaskId>,
    closed: BTreeSet<SessionId>,
}

/// Change of a worker's state.
#[derive(Clone, Copy)]
pub(crate) struct Transition {
    pub(crate) from: RendererState,
    pub(crate) to: RendererState,
}

/// Attempt that granted ids belong to.
pub(crate) struct Holder<'a> {
    pub(crate) task: &'a FrameTaskId,
    pub(crate) attempt: u16,
    pub(crate) worker: &'a Name,
    /// Directory of its session.
    pub(crate) output: &'a str,
}

/// Files of a worker in the directory of a session.
pub(crate) struct Files<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) output: &'a str,
    pub(crate) worker: &'a Name,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(farm: &'a Farm, context: &'a Context<'a>) -> Self {
        let (ended, closed) = (BTreeSet::new(), BTreeSet::new());
        Self { farm, now: context.now, events: Vec::new(), context, ended, closed }
    }

    pub(crate) fn add(&mut self, event: FrameEvent) {
        self.events.push(Event::Frames(event));
    }

    pub(crate) fn renderer(&self, worker: &Name) -> Result<&'a Renderer, FrameRejection> {
        self.farm.renderers.get(worker).ok_or(FrameRejection::RendererUnknown)
    }

    pub(crate) fn is_removed(&self, worker: &Name) -> bool {
        self.farm.renderers.get(worker).is_some_and(|renderer| renderer.state == RendererState::Removed)
    }

    /// An open session; else why there is none.
    pub(crate) fn session(&self, id: &SessionId) -> Result<&'a Session, FrameRejection> {
        self.farm.sessions.get(id).ok_or_else(|| match self.closed_session(id) {
            Some(closed) => FrameRejection::SessionEnded { session: id.clone(), status: closed.status },
            None => FrameRejection::SessionUnknown,
        })
    }

    pub(crate) fn closed_session(&self, id: &SessionId) -> Option<&'a SessionRecord> {
        self.farm.recent.sessions.get(id).map(|record| &**record).or_else(|| {
            match self.context.facts.get(&Key::Session(id.clone())) {
                Some(Fact::Session(record)) => Some(&**record),
                _ => None,
            }
        })
    }

    /// A range that has ended. One that is in memory has not, whatever the store told before it was reopened.
    pub(crate) fn ended_task(&self, id: &FrameTaskId) -> Option<&'a FrameTaskRecord> {
        if self.farm.task(id).is_some() {
            return None;
        }
        self.farm.recent.tasks.get(id).map(|record| &**record).or_else(|| {
            match self.context.facts.get(&Key::FrameTask(id.clone())) {
                Some(Fact::FrameTask(record)) => Some(&**record),
                _ => None,
            }
        })
    }

    /// Granted ids that are live no more.
    pub(crate) fn past_chunk(&self, chunk: u64) -> Option<&'a ChunkRecord> {
        self.farm.recent.chunks.get(&chunk).map(|record| &**record).or_else(|| {
            match self.context.facts.get(&Key::Chunk(chunk)) {
                Some(Fact::Chunk(record)) => Some(&**record),
                _ => None,
            }
        })
    }

    /// Moves a worker from one state to another.
    pub(crate) fn move_renderer(&mut self, worker: &Name, transition: Transition, cause: &str) {
        let Transition { from, to } = transition;
        let (worker, at) = (worker.clone(), self.now);
        self.add(FrameEvent::RendererMoved { worker, from, to, cause: cause.into(), at });
    }

    /// A live assignment of an open session.
    pub(crate) fn live(&self, id: &FrameTaskId) -> Option<(&'a Session, &'a FrameTask)> {
        let session = self.farm.sessions.get(&id.session)?;
        let task = session.tasks.get(&id.start).filter(|task| task.lease.is_some())?;
        (!self.ended.contains(id)).then_some((session, task))
    }

    /// Ends an assignment: its ids are retired, its files set apart, its range waits again (S13, S15, S16).
    pub(crate) fn end_range(&mut self, id: &FrameTaskId, end: RangeEnd, error: Option<Box<str>>) {
        let Some((session, task)) = self.live(id) else {
            return;
        };
        self.ended.insert(id.clone());
        let (attempt, at) = (task.attempt, self.now);
        self.add(FrameEvent::RangeEnded { task: id.clone(), attempt, end, error, at });
        let extra = task.lease.iter().flat_map(|lease| lease.extra.iter().copied());
        let all = [task.ids].into_iter().chain(extra);
        for ids in all.filter(|_| !self.farm.has_bug(Mutant::ChunkNotRetired)) {
            let holder = Holder { task: id, attempt, worker: &task.worker, output: &session.output };
            self.retire(ids, &holder, end.as_str());
        }
    }

    /// Ends an assignment that went wrong: its range is tried again, halved, or given up (S26b). Returns whether that
    /// counts against its worker (S8).
    pub(crate) fn fail_range(&mut self, id: &FrameTaskId, end: RangeEnd, error: Option<Box<str>>) -> bool {
        let Some((_, task)) = self.live(id) else {
            return false;
        };
        let blames = health::blames_worker(self.farm, task, end, self.now);
        let verdict = split::judge(self.farm, task, end);
        let why = error.clone().unwrap_or_else(|| end.as_str().into());
        self.end_range(id, end, error);
        let (task, at) = (id.clone(), self.now);
        match verdict {
            Verdict::Retry => {}
            Verdict::Split(middle) => self.add(FrameEvent::RangeSplit { task, middle, at }),
            Verdict::GiveUp if self.farm.has_bug(Mutant::PoisonForgiven) => {}
            Verdict::GiveUp => self.add(FrameEvent::RangeGivenUp { task, error: why, at }),
        }
        blames
    }

    /// Ends a session, and with it what is held of it (S26).
    pub(crate) fn end_session(&mut self, id: &SessionId, status: SessionStatus, error: Option<Box<str>>) {
        let Some(session) = self.farm.sessions.get(id).filter(|_| !self.closed.contains(id)) else {
            return;
        };
        self.closed.insert(id.clone());
        for start in session.tasks.keys() {
            let task = FrameTaskId { session: id.clone(), start: *start };
            self.end_range(&task, RangeEnd::SessionEnded, None);
        }
        self.add(FrameEvent::SessionEnded { session: id.clone(), status, error, at: self.now });
    }

    /// Counts a loss or failure against a worker; too many in a while put it into quarantine (S8).
    pub(crate) fn blame(&mut self, worker: &Name, state: RendererState) {
        let Some(renderer) = self.farm.renderers.get(worker) else {
            return;
        };
        let lost = state == RendererState::Lost;
        self.add(FrameEvent::FailureCounted { worker: worker.clone(), lost, at: self.now });
        if health::is_too_much(self.farm, renderer, self.now) {
            let settings = &self.farm.settings;
            let span = settings.quarantine_window.0 / 1000;
            let cause = format!("lost or failing {} times within {span} s", settings.quarantine_after);
            self.quarantine(worker, state, &cause);
        }
    }

    /// Keeps a worker away from work: what it holds goes back (S9, invariant 11).
    pub(crate) fn quarantine(&mut self, worker: &Name, from: RendererState, cause: &str) {
        self.move_renderer(worker, Transition { from, to: RendererState::Quarantined }, cause);
        if !self.farm.has_bug(Mutant::QuarantineKeepsLease) {
            self.give_back(worker, RangeEnd::GivenBack);
        }
    }

    /// Notes how a removed worker takes its removal, and whose files it may still write (S6).
    pub(crate) fn change_removal(&mut self, worker: &Name, to: Removal, sessions: Vec<SessionId>) {
        self.add(FrameEvent::RemovalChanged { worker: worker.clone(), to, sessions });
    }

    /// Notes that a removed worker calls: it knows of its removal, or goes on as if there was none (S6).
    pub(crate) fn hear_zombie(&mut self, worker: &Name) {
        self.add(FrameEvent::ZombieHeard { worker: worker.clone(), at: self.now });
        if self.farm.renderers.get(worker).is_some_and(Renderer::is_unanswered) {
            self.change_removal(worker, Removal::Known, Vec::new());
        }
    }

    /// Ends everything a worker holds, without blame.
    pub(crate) fn give_back(&mut self, worker: &Name, end: RangeEnd) {
        for task in self.held(worker) {
            self.end_range(&task, end, None);
        }
    }

    pub(crate) fn held(&self, worker: &Name) -> Vec<FrameTaskId> {
        let held = self.farm.renderers.get(worker).into_iter().flat_map(|renderer| &renderer.live);
        held.cloned().collect()
    }

    /// Notes that ids will never be used, and has their files moved to quarantine (S13, S15).
    pub(crate) fn retire(&mut self, ids: IdRange, holder: &Holder<'_>, reason: &str) {
        let Holder { task, attempt, worker, output } = *holder;
        let retired = FrameEvent::ChunkRetired {
            ids,
            task: task.clone(),
            worker: worker.clone(),
            attempt,
            reason: reason.into(),
            at: self.now,
        };
        self.add(retired);
        self.set_apart(EntryId::Chunk(ids.chunk), &Files { session: &task.session, output, worker });
    }

    /// Has files moved to quarantine, for the first time or once more (S15).
    pub(crate) fn set_apart(&mut self, entry: EntryId, files: &Files<'_>) {
        let (session, worker, at) = (files.session.clone(), files.worker.clone(), self.now);
        self.add(FrameEvent::QuarantineWanted { entry, session, output: files.output.into(), worker, at });
    }

    /// Raises an alert about a worker, or about the worker that a session last used.
    pub(crate) fn alert(&mut self, kind: AlertKind, worker: &Name, message: &str) {
        // Several alerts of one command need ids of their own.
        let place = u64::try_from(self.events.len()).unwrap_or(u64::MAX / 4);
        let id = self.context.number(u64::MAX / 2 - place);
        let (worker, at) = (worker.clone(), self.now);
        let message = message.to_owned().into();
        self.events.push(Event::AlertRaised(AlertRecord { id, kind, worker, job: None, message, at }));
    }
}
