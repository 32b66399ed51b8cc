//! Events in the life of a session: it begins, is steered, ends, and runs again for what failed (S26b).

use crate::frames::state::{Farm, FrameTask, Session};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
};
use muster_model::{
    ClosedSession, Effect, FrameEvent, FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus, SessionId,
    SessionStatus, SessionSubmission, Timestamp,
};

/// End of a session.
struct SessionEnd {
    status: SessionStatus,
    error: Option<Box<str>>,
    at: Timestamp,
}

impl Farm {
    pub(super) fn apply_to_session(&mut self, event: &FrameEvent) {
        match event {
            FrameEvent::SessionSubmitted { submission, at } => self.take_session(submission, *at),
            FrameEvent::SessionSteered { session, status, .. } => self.steer(session, *status),
            FrameEvent::SessionEnded { session, status, error, at } => {
                self.end_session(session, SessionEnd { status: *status, error: error.clone(), at: *at });
            }
            FrameEvent::SessionReopened { closed, .. } => self.reopen_session(closed),
            _ => {}
        }
    }

    /// An ended session runs again. Whatever of it is not done counts as failed, until it is retried.
    fn reopen_session(&mut self, closed: &ClosedSession) {
        let ClosedSession { record, ranges, uncut } = closed;
        let id = record.id.clone();
        let as_failed = |range: &FrameTaskRecord| {
            Box::new(FrameTaskRecord { status: FrameTaskStatus::Failed, result: None, ..range.clone() })
        };
        self.by_age.insert(record.seq, id.clone());
        self.sessions.insert(
            id.clone(),
            Session {
                status: SessionStatus::Running,
                uncut: uncut.iter().map(|range| (range.start, range.end)).collect(),
                done: record.completed_frames,
                failed: ranges.iter().map(|range| (range.id.start, as_failed(range))).collect(),
                ..Session::new(record)
            },
        );
        self.recent.sessions.remove(&id);
        // A server of version 4 cancelled what was left of a failed session. From now on it counts as failed, in the store too.
        for range in ranges.iter().filter(|range| range.status != FrameTaskStatus::Failed) {
            self.recent.tasks.insert(range.id.clone(), as_failed(range));
            self.dirty.ended.insert(range.id.clone());
        }
        self.reindex(&id);
        self.dirty.sessions.insert(id.clone());
        self.dirty.effects.push(Effect::WriteSession { session: id });
        self.dirty.check_supply = true;
    }

    fn take_session(&mut self, submission: &SessionSubmission, at: Timestamp) {
        self.session_seq += 1;
        let id = submission.session.clone();
        self.by_age.insert(self.session_seq, id.clone());
        self.sessions.insert(
            id.clone(),
            Session {
                seq: self.session_seq,
                status: SessionStatus::Running,
                total: submission.total_frames,
                per_task: submission.frames_per_task.max(1),
                strict: submission.strict,
                output: submission.output.clone(),
                digest: submission.digest,
                created_at: at,
                body: Some(submission.body.clone()),
                uncut: BTreeMap::from([(0, submission.total_frames)]),
                tasks: BTreeMap::new(),
                ready: BTreeSet::new(),
                done: 0,
                failed: BTreeMap::new(),
                merging: None,
            },
        );
        self.reindex(&id);
        self.dirty.sessions.insert(id.clone());
        self.dirty.effects.push(Effect::WriteSession { session: id });
        self.dirty.check_supply = true;
    }

    fn steer(&mut self, id: &SessionId, status: SessionStatus) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.status = status;
            // Wakes lease holders: the session's old status may have kept their ranges from them.
            let leased = session.tasks.values().filter(|task| task.lease.is_some());
            self.dirty.woken.extend(leased.map(|task| task.worker.clone()));
        }
        self.reindex(id);
        self.dirty.sessions.insert(id.clone());
        self.dirty.check_supply |= status == SessionStatus::Running;
    }

    /// The session leaves memory; what waited of it ends with it.
    fn end_session(&mut self, id: &SessionId, end: SessionEnd) {
        let SessionEnd { status, error, at } = end;
        let Some(session) = self.sessions.get(id) else {
            return;
        };
        let mut record = self.session_record(id, session);
        (record.status, record.error, record.ended_at, record.open) = (status, error, Some(at), false);
        for start in session.tasks.keys().copied() {
            let task = FrameTaskId { session: id.clone(), start };
            if let Some(mut record) = self.task_record(&task) {
                (record.status, record.ended_at) = (FrameTaskStatus::Cancelled, Some(at));
                self.recent.tasks.insert(task.clone(), Box::new(record));
                self.dirty.ended.insert(task.clone());
            }
            self.dirty.tasks.remove(&task);
        }
        if let Some(session) = self.sessions.remove(id) {
            record.body = session.body;
            self.by_age.remove(&session.seq);
            self.offering.remove(&session.seq);
        }
        self.dirty.sessions.remove(id);
        self.dirty.history.push(muster_model::FrameChange::Session(Box::new(record.clone())));
        record.body = None;
        self.recent.sessions.insert(id.clone(), Box::new(record));
    }
}

impl Farm {
    /// Halves a waiting range. The first half keeps the task, the second one is a task of its own; both begin with all
    /// their attempts. The half without the suspected frame goes first: it shows whether the rest is well.
    pub(super) fn split(&mut self, id: &FrameTaskId, middle: u64, at: Timestamp) {
        let orders = (self.next_order(), self.next_order());
        let Some(session) = self.sessions.get_mut(&id.session) else {
            return;
        };
        let Some(whole) = session.tasks.remove(&id.start) else {
            return;
        };
        session.ready.remove(&(whole.order, id.start));
        let is_first_suspected = whole.suspect.is_some_and(|frame| frame < middle);
        let (first_order, second_order) = if is_first_suspected { (orders.1, orders.0) } else { orders };
        let half = |range: FrameRange, order: u64| FrameTask {
            range,
            order,
            failures: 0,
            losses: 0,
            suspect: whole.suspect.filter(|frame| (range.start..range.end).contains(frame)),
            ..whole.clone()
        };
        let first = half(FrameRange { start: id.start, end: middle }, first_order);
        let second = half(FrameRange { start: middle, end: whole.range.end }, second_order);
        for (task, created_at) in [(first, whole.created_at), (second, at)] {
            session.ready.insert((task.order, task.range.start));
            let half = FrameTaskId { session: id.session.clone(), start: task.range.start };
            session.tasks.insert(half.start, FrameTask { created_at, ..task });
            self.dirty.tasks.insert(half);
        }
        self.dirty.check_supply = true;
    }

    /// Gives a waiting range up.
    pub(super) fn give_up(&mut self, id: &FrameTaskId, error: &str, at: Timestamp) {
        let Some(mut record) = self.task_record(id) else {
            return;
        };
        (record.status, record.ended_at) = (FrameTaskStatus::Failed, Some(at));
        record.error = Some(error.into());
        if let Some(session) = self.sessions.get_mut(&id.session)
            && let Some(task) = session.tasks.remove(&id.start)
        {
            session.ready.remove(&(task.order, id.start));
        }
        self.keep_failed(record);
    }

    /// A completed range counts as failed: it stays out of the manifest.
    pub(super) fn skip(&mut self, record: &FrameTaskRecord, reason: &str, at: Timestamp) {
        if let Some(session) = self.sessions.get_mut(&record.id.session) {
            session.done -= record.end - record.id.start;
        }
        let (status, ended_at) = (FrameTaskStatus::Failed, Some(at));
        let failures = record.failures.saturating_add(1);
        let record = record.clone();
        self.keep_failed(FrameTaskRecord {
            status,
            ended_at,
            failures,
            error: Some(reason.into()),
            ..record
        });
    }

    /// A failed range waits again, as if nobody had tried it yet; only its attempts go on counting.
    pub(super) fn retry_range(&mut self, id: &FrameTaskId) {
        let order = self.next_order();
        let Some(session) = self.sessions.get_mut(&id.session) else {
            return;
        };
        let Some(record) = session.failed.remove(&id.start) else {
            return;
        };
        let restored = FrameTask::restored(&record, order);
        let task = FrameTask {
            failures: 0,
            losses: 0,
            losers: Default::default(),
            lost: false,
            dropped: 0,
            ..restored
        };
        session.merging = None;
        session.ready.insert((order, id.start));
        session.tasks.insert(id.start, task);
        self.recent.tasks.remove(id);
        self.dirty.ended.remove(id);
        self.reindex(&id.session);
        self.dirty.tasks.insert(id.clone());
        self.dirty.sessions.insert(id.session.clone());
        self.dirty.check_supply = true;
    }

    fn keep_failed(&mut self, record: FrameTaskRecord) {
        let id = record.id.clone();
        let record = Box::new(record);
        if let Some(session) = self.sessions.get_mut(&id.session) {
            session.failed.insert(id.start, record.clone());
        }
        self.recent.tasks.insert(id.clone(), record);
        self.reindex(&id.session);
        self.dirty.tasks.remove(&id);
        self.dirty.sessions.insert(id.session.clone());
        self.dirty.check_sessions.insert(id.session.clone());
        self.dirty.ended.insert(id);
    }
}
