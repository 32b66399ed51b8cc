//! The rows as the store was told them.

use super::{Verdict, calendar::Calendar, ensure};
use muster_model::{
    AlertRecord, Change, JobId, JobRecord, LaneRecord, Name, Recorded, ReportId, ReportSubject,
    SubmissionKey, TaskId, TaskRecord, TaskStatus, WorkerRecord,
};
use std::collections::{BTreeMap, BTreeSet};

/// All durable rows that the checks look at.
#[derive(Default)]
pub(super) struct Mirror {
    pub(super) jobs: BTreeMap<JobId, JobRecord>,
    pub(super) tasks: BTreeMap<TaskId, TaskRecord>,
    pub(super) lanes: BTreeMap<Name, LaneRecord>,
    pub(super) workers: BTreeMap<Name, WorkerRecord>,
    pub(super) reports: BTreeMap<ReportId, (ReportSubject, Recorded)>,
    pub(super) keys: BTreeMap<SubmissionKey, JobId>,
    pub(super) running: BTreeSet<TaskId>,
    /// The one row of each run on each device.
    served: BTreeMap<(JobId, Name), TaskId>,
    pub(super) feed: u64,
    pub(super) alerts: Vec<AlertRecord>,
    /// Runs that a worker has not said to be over there.
    pub(super) shares: BTreeSet<(Name, JobId)>,
    /// Tasks that a worker is told to stop.
    pub(super) stops: BTreeSet<(Name, TaskId)>,
    pub(super) calendar: Calendar,
}

/// The rows a batch changed, as they were before it.
#[derive(Default)]
pub(super) struct Before {
    pub(super) jobs: BTreeMap<JobId, Option<JobRecord>>,
    pub(super) tasks: BTreeMap<TaskId, Option<TaskRecord>>,
    pub(super) lanes: BTreeMap<Name, Option<LaneRecord>>,
    pub(super) workers: BTreeMap<Name, Option<WorkerRecord>>,
}

impl Mirror {
    pub(super) fn write(&mut self, change: &Change, before: &mut Before) -> Verdict {
        match change {
            Change::Job(job) => {
                let old = self.jobs.insert(job.id, (**job).clone());
                before.jobs.entry(job.id).or_insert(old);
            }
            Change::Task(task) => self.write_task(task, before)?,
            Change::Lane(lane) => {
                let old = self.lanes.insert(lane.id.clone(), (**lane).clone());
                before.lanes.entry(lane.id.clone()).or_insert(old);
            }
            Change::Worker(worker) => {
                let old = self.workers.insert(worker.id.clone(), (**worker).clone());
                before.workers.entry(worker.id.clone()).or_insert(old);
            }
            Change::Report(report) => {
                let old = self.reports.insert(report.id.clone(), (report.subject, report.effect));
                ensure(old.is_none(), "report_taken_twice", || format!("{:?}", report.id))?;
            }
            Change::Key(key) => {
                let old = self.keys.insert(key.key.clone(), key.job);
                ensure(old.is_none(), "key_made_two_jobs", || format!("{:?}", key.key))?;
            }
            Change::Share(share) => drop(self.shares.insert((share.worker.clone(), share.job))),
            Change::ShareGone { worker, job } => drop(self.shares.remove(&(worker.clone(), *job))),
            Change::Stop { worker, task, gone: false } => drop(self.stops.insert((worker.clone(), *task))),
            Change::Stop { worker, task, gone: true } => drop(self.stops.remove(&(worker.clone(), *task))),
            Change::Schedule(schedule) => self.calendar.write(schedule)?,
            Change::ScheduleGone(id) => drop(self.calendar.standing.remove(id)),
            Change::Alert(alert) => self.alerts.push(alert.clone()),
            _ => {}
        }
        Ok(())
    }

    fn write_task(&mut self, task: &TaskRecord, before: &mut Before) -> Verdict {
        let served = self.served.insert((task.id.job, task.lane.clone()), task.id);
        ensure(served.is_none_or(|served| served == task.id), "device_served_twice", || {
            format!("{} has two rows in run {}", task.lane, task.id.job)
        })?;
        match task.status {
            TaskStatus::Running => self.running.insert(task.id),
            _ => self.running.remove(&task.id),
        };
        let old = self.tasks.insert(task.id, task.clone());
        before.tasks.entry(task.id).or_insert(old);
        Ok(())
    }
}
