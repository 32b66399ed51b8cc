//! The rows, and what is done with them.

use super::{frames::FrameTables, pool::PoolTables};
use crate::{Batch, Cutoffs, FeedEntry, Loaded};
use muster_model::{
    AccountChange, AlertRecord, ApiKeyRecord, AuditRecord, Change, Fact, JobId, JobRecord, Key, KeyRecord,
    LaneRecord, LogRecord, LoginRecord, Name, ReportId, ReportRecord, ReportSubject, ScheduleId,
    ScheduleRecord, SecretRecord, ShareRecord, SubmissionKey, TaskId, TaskRecord, Timestamp, UserId,
    UserRecord, WorkerLogRecord, WorkerRecord,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, RangeInclusive},
    sync::Arc,
};

/// All rows of a store in memory.
#[derive(Clone, Default)]
pub(crate) struct Tables {
    pub(crate) epoch: u64,
    pub(crate) jobs: BTreeMap<JobId, JobRecord>,
    pub(crate) tasks: BTreeMap<TaskId, TaskRecord>,
    pub(crate) lanes: BTreeMap<Name, LaneRecord>,
    pub(crate) workers: BTreeMap<Name, WorkerRecord>,
    pub(crate) logs: BTreeMap<(TaskId, u32), LogRecord>,
    pub(crate) worker_logs: Vec<WorkerLogRecord>,
    pub(crate) alerts: BTreeMap<(Timestamp, u128), AlertRecord>,
    pub(crate) feed: Vec<(Timestamp, Arc<FeedEntry>)>,
    shares: BTreeMap<(Name, JobId), ShareRecord>,
    stops: BTreeSet<(Name, TaskId)>,
    secrets: BTreeMap<Name, Vec<SecretRecord>>,
    reports: Vec<ReportRecord>,
    report_ids: BTreeMap<ReportId, (ReportSubject, Timestamp)>,
    keys: BTreeMap<SubmissionKey, KeyRecord>,
    job_seq: u64,
    pub(crate) frames: FrameTables,
    pub(crate) accounts: AccountTables,
    pub(crate) pool: PoolTables,
    pub(crate) schedules: BTreeMap<ScheduleId, ScheduleRecord>,
}

impl Tables {
    /// The last number of the feed; its newest entry is never deleted.
    pub(crate) fn feed_seq(&self) -> u64 {
        self.feed.last().map_or(0, |(_, entry)| entry.seq)
    }

    /// The tasks of a job.
    pub(crate) fn tasks_of(&self, job: JobId) -> impl Iterator<Item = &TaskRecord> {
        self.tasks.range(tasks_of(job)).map(|(_, task)| task)
    }

    /// Hands over everything that is live.
    pub(crate) fn load(&self, sink: &mut dyn FnMut(Loaded)) {
        self.workers.values().cloned().map(Loaded::Worker).for_each(&mut *sink);
        self.lanes.values().cloned().map(Loaded::Lane).for_each(&mut *sink);
        let mut open: Vec<&JobRecord> = self.jobs.values().filter(|job| job.open).collect();
        open.sort_by_key(|job| job.seq);
        for job in &open {
            sink(Loaded::Job(JobRecord { payload: None, ..(*job).clone() }));
        }
        for task in open.iter().flat_map(|job| self.tasks_of(job.id)) {
            sink(Loaded::Task(TaskRecord { result: None, ..task.clone() }));
        }
        self.shares.values().cloned().map(Loaded::Share).for_each(&mut *sink);
        for (worker, task) in &self.stops {
            sink(Loaded::Stop(worker.clone(), *task));
        }
        for (worker, secrets) in &self.secrets {
            sink(Loaded::Secrets(worker.clone(), secrets.clone()));
        }
        sink(Loaded::JobSeq(self.job_seq));
        if let Some((newest, _)) = self.report_ids.last_key_value() {
            sink(Loaded::NewestReport(newest.clone()));
        }
        self.frames.load(sink);
        self.accounts.load(sink);
        self.pool.load(sink);
        self.schedules.values().for_each(|schedule| sink(Loaded::Schedule(Box::new(schedule.clone()))));
    }

    /// The fact for a key.
    pub(crate) fn fact(&self, key: &Key) -> Option<Fact> {
        match key {
            Key::Report(id) => self.report_ids.get(id).map(|(subject, _)| Fact::Report(Some(*subject))),
            Key::Task(id) => {
                let ended = self.tasks.get(id).filter(|task| task.status.is_ended());
                ended.map(|task| Fact::Task(Box::new(task.clone())))
            }
            Key::Job(id) => self.jobs.get(id).filter(|job| !job.open).map(|job| Fact::Job(job.status)),
            Key::Submission(key) => self.keys.get(key).map(|found| Fact::Submission(found.clone())),
            Key::Session(id) => self.frames.closed_session(id).map(|found| Fact::Session(Box::new(found))),
            Key::FrameTask(id) => self.frames.ended_task(id).map(|found| Fact::FrameTask(Box::new(found))),
            Key::Chunk(chunk) => {
                self.frames.chunks.get(chunk).map(|found| Fact::Chunk(Box::new(found.clone())))
            }
            Key::PoolEnd(job) => self.pool.ends.get(job).cloned().map(Fact::PoolEnd),
            Key::Assignment(id) => self.pool.assignment(*id).map(|found| Fact::Assignment(Box::new(found))),
            Key::PoolSubmission(client, key) => self.pool.key(*client, key).map(Fact::PoolSubmission),
        }
    }

    /// Writes a batch.
    pub(crate) fn write(&mut self, batch: &Batch) {
        for change in &batch.changes {
            self.write_change(change);
        }
        for (worker, at) in &batch.sightings {
            if let Some(worker) = self.workers.get_mut(worker) {
                worker.last_seen = worker.last_seen.max(*at);
            }
        }
        self.pool.sight(&batch.pool_sightings);
        let before = self.feed.last().map_or(Timestamp(0), |(at, _)| *at);
        let at = batch.moment().unwrap_or(before);
        self.feed.extend(batch.feed.iter().map(|entry| (at, Arc::clone(entry))));
    }

    fn write_change(&mut self, change: &Change) {
        match change {
            Change::Job(job) => self.write_job(job),
            Change::Task(task) => drop(self.tasks.insert(task.id, (**task).clone())),
            Change::Lane(lane) => drop(self.lanes.insert(lane.id.clone(), (**lane).clone())),
            Change::Worker(worker) => drop(self.workers.insert(worker.id.clone(), (**worker).clone())),
            Change::Share(share) => {
                self.shares.insert((share.worker.clone(), share.job), share.clone());
            }
            Change::ShareGone { worker, job } => drop(self.shares.remove(&(worker.clone(), *job))),
            Change::Stop { worker, task, gone: false } => {
                self.stops.insert((worker.clone(), *task));
            }
            Change::Stop { worker, task, gone: true } => {
                self.stops.remove(&(worker.clone(), *task));
            }
            Change::Secrets(worker, secrets) if secrets.is_empty() => drop(self.secrets.remove(worker)),
            Change::Secrets(worker, secrets) => drop(self.secrets.insert(worker.clone(), secrets.clone())),
            Change::Log(log) => drop(self.logs.insert((log.task, log.seq), log.clone())),
            Change::WorkerLog(log) => self.worker_logs.push(log.clone()),
            Change::Report(report) => self.write_report(report),
            Change::Key(key) => drop(self.keys.insert(key.key.clone(), key.clone())),
            Change::Alert(alert) => self.write_alert(alert),
            Change::Frames(change) => self.frames.write(change),
            Change::Pool(change) => self.pool.write(change),
            Change::Accounts(change) => self.accounts.write(change),
            Change::Schedule(schedule) => drop(self.schedules.insert(schedule.id, (**schedule).clone())),
            Change::ScheduleGone(id) => drop(self.schedules.remove(id)),
        }
    }

    fn write_job(&mut self, job: &JobRecord) {
        self.job_seq = self.job_seq.max(job.seq);
        let old = self.jobs.remove(&job.id).and_then(|old| old.payload);
        let payload = job.payload.clone().or(old);
        self.jobs.insert(job.id, JobRecord { payload, ..job.clone() });
    }

    fn write_report(&mut self, report: &ReportRecord) {
        self.report_ids.insert(report.id.clone(), (report.subject, report.at));
        self.reports.push(report.clone());
    }

    fn write_alert(&mut self, alert: &AlertRecord) {
        self.alerts.retain(|_, old| old.id != alert.id);
        self.alerts.insert((alert.at, alert.id), alert.clone());
    }

    /// Deletes what is old, a bounded number of jobs at a time; answers whether more remains.
    pub(crate) fn prune(&mut self, cutoffs: &Cutoffs) -> bool {
        self.reports.retain(|report| report.at >= cutoffs.history);
        self.worker_logs.retain(|log| log.at >= cutoffs.history);
        self.alerts.retain(|_, alert| alert.at >= cutoffs.history);
        self.report_ids.retain(|_, (_, at)| *at >= cutoffs.report_ids);
        self.keys.retain(|_, key| key.at >= cutoffs.keys);
        self.prune_feed(cutoffs.history);
        let old = |job: &&JobRecord| !job.open && job.completed_at.is_some_and(|at| at < cutoffs.history);
        let jobs: Vec<JobId> = self.jobs.values().filter(old).map(|job| job.id).take(JOBS_MAX).collect();
        for job in &jobs {
            self.prune_job(*job);
        }
        self.accounts.prune(cutoffs.history);
        let mut more = self.frames.prune(cutoffs.history);
        more |= self.pool.prune(cutoffs);
        more || jobs.len() == JOBS_MAX
    }

    /// Deletes from the front only: the feed has no gaps. The newest entry says how far it was numbered.
    fn prune_feed(&mut self, cutoff: Timestamp) {
        let young = self.feed.iter().position(|(at, _)| *at >= cutoff).unwrap_or(self.feed.len());
        self.feed.drain(..young.min(self.feed.len().saturating_sub(1)));
    }

    fn prune_job(&mut self, job: JobId) {
        self.jobs.remove(&job);
        let range = tasks_of(job);
        let logs = (Bound::Included((*range.start(), 0)), Bound::Included((*range.end(), u32::MAX)));
        let logs: Vec<_> = self.logs.range(logs).map(|(key, _)| *key).collect();
        logs.iter().for_each(|key| drop(self.logs.remove(key)));
        let tasks: Vec<_> = self.tasks.range(range).map(|(id, _)| *id).collect();
        tasks.iter().for_each(|id| drop(self.tasks.remove(id)));
    }
}

fn tasks_of(job: JobId) -> RangeInclusive<TaskId> {
    TaskId { job, ordinal: 0 }..=TaskId { job, ordinal: u32::MAX }
}

/// All rows of accounts of a store in memory.
#[derive(Clone, Default)]
pub(crate) struct AccountTables {
    pub(crate) users: BTreeMap<UserId, UserRecord>,
    pub(crate) api_keys: BTreeMap<u64, ApiKeyRecord>,
    /// Acts by the order they were done in.
    pub(crate) audit: BTreeMap<u64, AuditRecord>,
    logins: BTreeMap<u128, LoginRecord>,
}

impl AccountTables {
    /// Hands over everything that is live, and keys that were taken back: numbering goes on after them.
    pub(crate) fn load(&self, sink: &mut dyn FnMut(Loaded)) {
        let users = self.users.values().map(|user| AccountChange::User(Box::new(user.clone())));
        let logins = self.logins.values().copied().map(AccountChange::Login);
        let keys = self.api_keys.values().map(|key| AccountChange::ApiKey(Box::new(key.clone())));
        users.chain(logins).chain(keys).map(Loaded::Accounts).for_each(sink);
    }

    /// Writes a row.
    pub(crate) fn write(&mut self, change: &AccountChange) {
        match change {
            AccountChange::User(user) => drop(self.users.insert(user.id, (**user).clone())),
            AccountChange::Login(login) => drop(self.logins.insert(login.id, *login)),
            AccountChange::LoginGone(id) => drop(self.logins.remove(id)),
            AccountChange::ApiKey(key) => drop(self.api_keys.insert(key.id, (**key).clone())),
            AccountChange::Audit(act) => {
                let place = self.audit.last_key_value().map_or(1, |(place, _)| place + 1);
                self.audit.insert(place, act.clone());
            }
        }
    }

    /// Deletes what is old.
    pub(crate) fn prune(&mut self, cutoff: Timestamp) {
        self.audit.retain(|_, act| act.at >= cutoff);
        self.logins.retain(|_, login| login.expires_at >= cutoff);
        // The key with the largest number stays: numbering goes on from it.
        let last = self.api_keys.last_key_value().map(|(id, _)| *id);
        self.api_keys.retain(|id, key| Some(*id) == last || key.revoked_at.is_none_or(|at| at >= cutoff));
    }
}

/// Jobs that one call deletes at most.
const JOBS_MAX: usize = 100;
