//! Events in the life of a job.

use crate::{
    Mutant,
    devices::{
        rule::{eligible, job_end},
        state::{Job, LaneIx, State, Timer, WaitingLanes, WorkerIx},
    },
};
use alloc::{boxed::Box, collections::BTreeSet, vec::Vec};
use muster_model::{Change, Event, JobId, JobStatus, KeyRecord, Submission, Timestamp};

/// End of a job.
struct JobEnd {
    status: JobStatus,
    error: Option<Box<str>>,
    at: Timestamp,
}

impl State {
    pub(super) fn apply_to_job(&mut self, event: &Event) {
        match event {
            Event::JobSubmitted { job, submission, at } => self.enqueue(*job, submission, *at),
            Event::JobActivated { job, at } => self.activate(*job, *at),
            Event::JobEnded { job, status, error, at, .. } => {
                self.end_job(*job, JobEnd { status: *status, error: error.clone(), at: *at });
            }
            Event::JobClosed { job } => self.close_job(*job),
            _ => {}
        }
    }

    fn enqueue(&mut self, id: JobId, submission: &Submission, at: Timestamp) {
        self.job_seq += 1;
        let seq = self.job_seq;
        let job = Job {
            id,
            seq,
            queue: submission.queue.clone(),
            status: JobStatus::Pending,
            scope: submission.scope.clone(),
            max_attempts: submission.max_attempts.unwrap_or(self.settings.max_attempts),
            created_at: at,
            started_at: None,
            completed_at: None,
            error: None,
            tasks: 0,
            completed: 0,
            open: 0,
            pending: BTreeSet::new(),
            lacking: 0,
            shared_by: BTreeSet::new(),
            closed: false,
        };
        let mut record = self.job_record(&job);
        record.payload = Some(submission.payload.clone());
        self.dirty.history.push(Change::Job(Box::new(record)));
        self.add_job(job);
        if let Some(key) = &submission.key {
            let alone = self.queues[&submission.queue].active.is_none()
                && self.queues[&submission.queue].waiting.len() == 1;
            let status = if alone { JobStatus::Running } else { JobStatus::Pending };
            let record = KeyRecord { key: key.clone(), digest: submission.digest, job: id, status, at };
            self.recent.keys.insert(key.clone(), record.clone());
            self.dirty.history.push(Change::Key(record));
        }
        self.dirty.check_queues = true;
    }

    /// Puts a job into its queue.
    pub(crate) fn add_job(&mut self, job: Job) {
        self.job_ids.insert(job.id, job.seq);
        if !job.status.is_ended() {
            let queue = self.queues.entry(job.queue.clone()).or_default();
            match job.is_active() {
                true => queue.active = Some(job.seq),
                false => _ = queue.waiting.insert(job.seq),
            }
        }
        self.jobs.insert(job.seq, job);
    }

    fn activate(&mut self, id: JobId, at: Timestamp) {
        let Some(job) = self.job_mut(id) else { return };
        job.status = JobStatus::Running;
        job.started_at = Some(at);
        let (seq, queue) = (job.seq, job.queue.clone());
        let queue = self.queues.entry(queue).or_default();
        queue.waiting.remove(&seq);
        queue.active = Some(seq);
        self.dirty.jobs.insert(seq);
        self.begin_serving(seq, at);
    }

    /// Counts the targets of a job that has become active, and sets what will move it on.
    pub(crate) fn begin_serving(&mut self, seq: u64, now: Timestamp) {
        let lacking = eligible::count_targets(self, &self.jobs[&seq].scope);
        let waits_until = job_end::waits_until(self, &self.jobs[&seq]);
        self.jobs.get_mut(&seq).expect("the caller has it").lacking = lacking;
        self.timers.set(waits_until, Timer::Job(seq));
        if !self.long_away.is_empty() && !self.has_bug(Mutant::GraceForgotten) {
            self.timers.set(now, Timer::Skip(seq, LaneIx(0)));
        }
        self.dirty.woken_all = true;
        self.dirty.check_jobs.insert(seq);
    }

    fn end_job(&mut self, id: JobId, end: JobEnd) {
        let Some(job) = self.job_mut(id) else { return };
        job.status = end.status;
        job.error = end.error;
        job.completed_at = Some(end.at);
        job.lacking = 0;
        let (seq, queue) = (job.seq, job.queue.clone());
        let sharers: Vec<_> = job.shared_by.iter().copied().collect();
        if let Some(queue) = self.queues.get_mut(&queue) {
            queue.waiting.remove(&seq);
            queue.active = queue.active.filter(|active| *active != seq);
        }
        for ix in sharers {
            let Some(share) = self.workers[ix].shares.get_mut(seq) else {
                continue;
            };
            share.waiting = WaitingLanes::default();
            share.lacking = 0;
            self.announce_share(ix, seq);
            self.announce_stop(ix, seq);
        }
        self.dirty.jobs.insert(seq);
        self.dirty.check_jobs.insert(seq);
        self.dirty.check_queues = true;
    }

    /// Lets a worker hear that it must stop what it runs of a job; what it never confirmed is not handed out again.
    fn announce_stop(&mut self, ix: WorkerIx, seq: u64) {
        let worker = &mut self.workers[ix];
        if worker.live.iter().any(|task| task.job == seq) {
            worker.unconfirmed.retain(|(_, task)| task.job != seq);
            worker.news = true;
            self.dirty.woken.insert(ix);
        }
    }

    /// A job of which nothing is live leaves memory; a worker that has not reported the end of its share
    /// keeps that share.
    fn close_job(&mut self, id: JobId) {
        let Some(seq) = self.job_ids.remove(&id) else {
            return;
        };
        let Some(mut job) = self.jobs.remove(&seq) else {
            return;
        };
        job.closed = true;
        let record = self.job_record(&job);
        self.tasks.forget_job(seq);
        self.recent.jobs.insert(id, job.status);
        self.dirty.history.push(Change::Job(Box::new(record)));
        self.timers.clear(job_end::waits_until(self, &job), Timer::Job(seq));
        for ix in &job.shared_by {
            let shares = &mut self.workers[*ix].shares;
            if shares.get(seq).is_some_and(|share| share.first.is_none()) {
                shares.remove(seq);
            }
        }
        if self.queues.get(&job.queue).is_some_and(|queue| queue.active.is_none() && queue.waiting.is_empty())
        {
            self.queues.remove(&job.queue);
        }
    }
}
