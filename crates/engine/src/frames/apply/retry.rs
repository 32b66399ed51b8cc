//! Ranges that are halved, given up, skipped and tried again (S23b, S26b).

use crate::frames::state::{Farm, FrameTask};
use alloc::boxed::Box;
use muster_model::{FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus, Timestamp};

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
