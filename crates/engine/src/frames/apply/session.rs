//! Sessions come and go.

use crate::frames::state::{Farm, Session};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
};
use muster_model::{
    ClosedSession, Effect, FrameEvent, FrameTaskId, FrameTaskRecord, FrameTaskStatus, SessionId,
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
            // Somebody may hold what they could not be told meanwhile.
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
