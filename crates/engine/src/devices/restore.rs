//! Builds the state back from what a store kept.
//!
//! Rows go in by the same doors as events: the indexes are put up by the code that keeps them up.

use crate::{
    Engine, Mutant,
    devices::{
        rule::eligible,
        state::{
            Job, Lane, LaneIx, LaneRow, Lease, RowState, Rows, State, Task, TaskRef, Timer, Worker, WorkerIx,
        },
    },
    kernel::storage::MaybeTime,
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use muster_model::{
    AccountChange, FrameChange, JobRecord, LaneRecord, LeaseKind, Name, PoolChange, ReportId, ScheduleRecord,
    SecretRecord, Settings, ShareCounts, ShareRecord, TaskId, TaskRecord, TaskStatus, Timestamp,
    WorkerRecord, WorkerStatus,
};

/// An engine to be. Hand it workers, then lanes, then jobs, then their tasks, then the rest.
///
/// The rows may be older than the term: only [`Self::finish`] knows when that begins, and what counts from
/// there waits for it.
#[derive(Debug)]
pub struct Restoring {
    state: State,
    /// Targets that have a row, per active job.
    served: BTreeMap<u64, u32>,
    counts: BTreeMap<(WorkerIx, u64), ShareCounts>,
    shares: Vec<(WorkerIx, ShareRecord)>,
}

impl Restoring {
    /// Begins.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let farm = crate::frames::Farm { settings: settings.frames, ..crate::frames::Farm::default() };
        let pool = crate::pool::Pool::new(settings.pool);
        let state = State { settings, farm, pool, ..State::default() };
        Self { state, served: BTreeMap::new(), counts: BTreeMap::new(), shares: Vec::new() }
    }

    /// Switches a planted bug on.
    #[cfg(feature = "mutants")]
    pub fn plant(&mut self, mutant: crate::Mutant) {
        self.state.plant(mutant);
    }

    /// Takes a record of sessions of frames.
    pub fn frames(&mut self, record: FrameChange) {
        self.state.farm.take_loaded(record);
    }

    /// Takes a record of accounts.
    pub fn accounts(&mut self, record: AccountChange) {
        self.state.accounts.take_loaded(record);
    }

    /// Takes a schedule.
    pub fn schedule(&mut self, record: ScheduleRecord) {
        self.state.schedules.take_loaded(record);
    }

    /// Takes a record of the pool.
    pub fn pool(&mut self, record: PoolChange) {
        self.state.pool.take_loaded(record);
    }

    /// Takes the last of the ids of reports, in the order of their texts (N5).
    pub fn newest_report(&mut self, id: ReportId) {
        if !self.state.has_bug(Mutant::StoredReportsForgotten) {
            self.state.recent.reports.restore(id);
        }
    }

    /// Takes the largest age number given to a session so far.
    pub fn session_seq(&mut self, seq: u64) {
        self.state.farm.session_seq = self.state.farm.session_seq.max(seq);
    }

    /// Takes a worker.
    pub fn worker(&mut self, record: WorkerRecord) {
        let fresh = Worker::new(record.id, NOT_YET);
        self.state.workers.add(Worker {
            online: record.status == WorkerStatus::Online,
            status_since: record.status_since,
            cap: record.cap,
            draining: record.draining,
            paused_until: record.paused_until,
            lease_until: record.lease_until,
            heartbeat_late_since: record.heartbeat_late_since,
            created_at: record.created_at,
            news: true,
            ..fresh
        });
    }

    /// Takes a device.
    pub fn lane(&mut self, record: LaneRecord) {
        let Some(worker) = self.state.workers.ix(&record.worker) else {
            return;
        };
        let ix = LaneIx(self.state.lanes.add(Lane {
            name: record.id,
            handle: record.handle,
            worker,
            attachment: record.attachment,
            failed: record.failed,
            offline_since: record.offline_since.into(),
            rows: Rows::default(),
            labels: (!record.labels.is_empty()).then(|| Box::new(record.labels)),
            note: record.note,
            created_at: record.created_at,
            taken: None,
        }));
        self.state.add_to_indexes(ix);
        if let Some(since) = record.offline_since {
            self.state.timers.set(since + self.state.settings.offline_grace, Timer::Lane(ix));
        }
    }

    /// Takes an open job.
    pub fn job(&mut self, record: JobRecord) {
        self.state.job_seq = self.state.job_seq.max(record.seq);
        self.state.add_job(Job {
            id: record.id,
            seq: record.seq,
            queue: record.queue,
            status: record.status,
            scope: record.scope,
            max_attempts: record.max_attempts,
            created_at: record.created_at,
            started_at: record.started_at,
            completed_at: record.completed_at,
            error: record.error,
            tasks: record.tasks,
            completed: 0,
            open: 0,
            pending: BTreeSet::new(),
            lacking: 0,
            shared_by: BTreeSet::new(),
            closed: false,
        });
    }

    /// Takes the largest age number given to a job so far.
    pub fn job_seq(&mut self, seq: u64) {
        self.state.job_seq = self.state.job_seq.max(seq);
    }

    /// Takes a task of an open job, ended or not.
    pub fn task(&mut self, record: TaskRecord) {
        let (Some(task), Some(lane), Some(worker)) = (
            self.state.task_ref(record.id),
            self.state.lanes.ix(&record.lane),
            self.state.workers.ix(&record.worker),
        ) else {
            return;
        };
        self.count(&record, task, worker);
        let job = &self.state.jobs[&task.job];
        if eligible::is_target(&self.state, job, &self.state.lanes[lane]) {
            *self.served.entry(task.job).or_default() += 1;
        }
        let row = match record.status {
            TaskStatus::Pending => RowState::Pending,
            TaskStatus::Running => RowState::Running,
            _ => RowState::Ended,
        };
        self.state.lanes[lane].set_row(LaneRow::new(task, row));
        if row != RowState::Ended {
            self.live_task(task, &TaskPlace { lane, worker }, record);
        }
    }

    /// Takes a worker's part of a job.
    pub fn share(&mut self, record: ShareRecord) {
        if let Some(ix) = self.state.workers.ix(&record.worker) {
            self.shares.push((ix, record));
        }
    }

    /// Takes a worker's secrets.
    pub fn secrets(&mut self, worker: &Name, secrets: Vec<SecretRecord>) {
        if let Some(ix) = self.state.workers.ix(worker) {
            self.state.workers[ix].secrets = secrets;
        }
    }

    /// Takes a task that a worker must still be told to stop.
    pub fn stop(&mut self, worker: &Name, task: TaskId) {
        if let Some(ix) = self.state.workers.ix(worker) {
            self.state.workers[ix].superseded.insert(task);
        }
    }

    /// The engine of a term that begins `now`: silence, redelivery and who must come back count from here (N15, N2,
    /// P5, S19). Its first command should be `Tick`.
    #[must_use]
    pub fn finish(mut self, epoch: u64, now: Timestamp) -> Engine {
        self.state.farm.epoch = epoch;
        self.state.pool.finish_loading(now);
        let active: Vec<u64> = self.state.active_jobs().map(|job| job.seq).collect();
        for seq in active {
            self.state.begin_serving(seq, now);
            let served = self.served.get(&seq).copied().unwrap_or(0);
            self.state.jobs.get_mut(&seq).expect("it is active").lacking -= served;
        }
        for (ix, record) in core::mem::take(&mut self.shares) {
            self.put_share(ix, record);
        }
        for number in 0..u32::try_from(self.state.workers.len()).unwrap_or(u32::MAX) {
            self.begin_watching(WorkerIx(number), now);
        }
        self.state.dirty.check_jobs = self.state.jobs.keys().copied().collect();
        self.state.dirty.check_queues = true;
        self.state.dirty.woken_all = true;
        self.state.farm.finish_loading(now);
        Engine { state: self.state }
    }

    /// Counts a worker's silence, and when it is told again of what it did not confirm.
    fn begin_watching(&mut self, ix: WorkerIx, now: Timestamp) {
        let State { workers, tasks, timers, settings, .. } = &mut self.state;
        let worker = &mut workers[ix];
        worker.last_seen = now;
        worker.granted_under = u32::try_from(worker.live.len()).unwrap_or(u32::MAX);
        for task in &worker.live {
            let lease = tasks.get_mut(task).and_then(|task| task.lease.as_mut());
            lease.expect("what is live is leased").shown_at = now;
        }
        if !worker.unconfirmed.is_empty() {
            worker.unconfirmed = worker.unconfirmed.iter().map(|(_, task)| (now, *task)).collect();
            timers.set(now + settings.redeliver_after, Timer::Redelivery(ix));
        }
        self.state.arm(ix);
    }

    /// The share of an open job is counted from its rows; that of a job gone is as it was written.
    fn put_share(&mut self, ix: WorkerIx, record: ShareRecord) {
        let seq = self.state.job_ids.get(&record.job).copied();
        let active = seq.filter(|seq| self.state.jobs[seq].is_active());
        let mut share = match active {
            Some(seq) => self.state.draw_up_share(ix, seq),
            None => crate::devices::state::Share::new(record.job),
        };
        share.first = Some(record.first.ordinal);
        share.counts = record.counts;
        if let Some(seq) = seq {
            share.counts = self.counts.get(&(ix, seq)).copied().unwrap_or_default();
            if active.is_none() {
                let live = self.state.workers[ix].live.iter().filter(|task| task.job == seq);
                share.open_rows = u32::try_from(live.count()).unwrap_or(u32::MAX);
            }
            self.state.jobs.get_mut(&seq).expect("its number is known").shared_by.insert(ix);
        }
        let key = seq.unwrap_or_else(|| self.free_key(ix));
        self.state.workers[ix].shares.insert(key, share);
    }

    /// A key below every age number still to be given, for the share of a job that has left memory.
    fn free_key(&self, ix: WorkerIx) -> u64 {
        let shares = &self.state.workers[ix].shares;
        (0..).find(|key| !shares.contains(*key) && !self.state.jobs.contains_key(key)).unwrap_or(0)
    }

    fn count(&mut self, record: &TaskRecord, task: TaskRef, worker: WorkerIx) {
        let job = self.state.jobs.get_mut(&task.job).expect("its number is known");
        job.tasks = job.tasks.max(task.ordinal);
        let counts = self.counts.entry((worker, task.job)).or_default();
        let attempt = u32::from(record.attempt);
        match record.status {
            TaskStatus::Completed => {
                job.completed += 1;
                counts.completed += 1;
                counts.failed_attempts += attempt.saturating_sub(1);
            }
            TaskStatus::Failed => {
                counts.failed += 1;
                counts.failed_attempts += attempt;
            }
            TaskStatus::Pending => counts.failed_attempts += attempt,
            TaskStatus::Running | TaskStatus::Cancelled => {
                counts.failed_attempts += attempt.saturating_sub(1)
            }
        }
        if !record.status.is_ended() {
            job.open += 1;
        }
        if record.status == TaskStatus::Pending {
            job.pending.insert(task.ordinal);
        }
    }

    fn live_task(&mut self, at: TaskRef, place: &TaskPlace, record: TaskRecord) {
        let TaskPlace { lane, worker } = *place;
        let state = &mut self.state;
        state.order += 1;
        let leased = record.status == TaskStatus::Running;
        let lease = leased.then(|| Lease {
            until: record.lease_until.unwrap_or(NOT_YET),
            timeout_at: record.timeout_at.unwrap_or(NOT_YET),
            shown_at: NOT_YET,
        });
        if leased {
            state.workers[worker].live.insert(at);
            state.workers[worker].presence += u32::from(record.lease == LeaseKind::Presence);
            if record.lease == LeaseKind::Presence
                && record.confirmed_at.is_none()
                && !state.jobs[&at.job].status.is_ended()
            {
                state.workers[worker].unconfirmed.insert((NOT_YET, at));
            }
        }
        let task = Task {
            lane,
            worker,
            attempt: record.attempt,
            max_attempts: record.max_attempts,
            fence: record.fence,
            kind: record.lease,
            lease,
            granted_at: record.started_at.unwrap_or(record.created_at),
            confirmed_at: record.confirmed_at.into(),
            ended_at: MaybeTime::NONE,
            timed_out: record.timed_out,
            error: record.error,
            created_at: record.created_at,
            order: state.order,
            logs: record.logs,
        };
        state.tasks.insert(at, task);
        if leased {
            state.note_due(worker, at);
        }
    }
}

/// Device and worker of a live task.
struct TaskPlace {
    lane: LaneIx,
    worker: WorkerIx,
}

/// Stands for the beginning of the term, which is not known before everything was handed over. A lease without an end
/// is over by then.
const NOT_YET: Timestamp = Timestamp(0);
