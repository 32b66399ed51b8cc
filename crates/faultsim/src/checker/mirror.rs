//! The rows as the store was told them, and their comparison with what an engine restores.

use super::{Broken, Checker, Verdict, broken, ensure, queue::Calendar};
use muster_engine::Engine;
use muster_model::{
    AlertRecord, AssignmentId, Change, EntryId, FrameChange, FrameTaskId, JobId, JobRecord, LaneRecord, Name,
    PoolChange, PoolWorkerId, Recorded, ReportId, ReportSubject, SessionId, Settings, SubmissionKey, TaskId,
    TaskRecord, TaskStatus, Timestamp, WorkerRecord,
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
                let old = self.jobs.remove(&job.id);
                // A submission is written once.
                let submitted = old.as_ref().and_then(|old| old.payload.clone());
                let payload = job.payload.clone().or(submitted);
                self.jobs.insert(job.id, JobRecord { payload, ..(**job).clone() });
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

impl Checker {
    pub(crate) fn rows_are(
        &self,
        held: &[Change],
        load: &mut dyn FnMut(Settings) -> Result<Engine, Broken>,
    ) -> Verdict {
        self.seen.count("rows compared");
        let engine = load(self.settings)?;
        engine.check_invariants().or_else(|broke| broken("restored_invariant", || broke))?;
        let mut kept: Vec<Change> = engine.live_rows().into_iter().map(durable_part).collect();
        let mut held: Vec<Change> = held.iter().cloned().map(durable_part).collect();
        for rows in [&mut kept, &mut held] {
            rows.sort_by_key(place);
        }
        let differing = held.iter().zip(&kept).find(|(held, kept)| held != kept);
        ensure(differing.is_none(), "store_unlike_memory", || format!("held and kept: {differing:?}"))?;
        ensure(held.len() == kept.len(), "store_unlike_memory", || {
            format!("{} rows held, {} kept", held.len(), kept.len())
        })
    }
}

/// Signs of life are written now and then only.
fn durable_part(row: Change) -> Change {
    match row {
        Change::Worker(mut worker) => {
            worker.last_seen = Timestamp(0);
            Change::Worker(worker)
        }
        Change::Frames(FrameChange::Renderer(mut renderer)) => {
            renderer.last_heartbeat = None;
            Change::Frames(FrameChange::Renderer(renderer))
        }
        Change::Pool(PoolChange::Worker(mut worker)) => {
            (worker.last_seen, worker.specs_json) = (None, None);
            Change::Pool(PoolChange::Worker(worker))
        }
        row => row,
    }
}

/// Key to sort rows by, because the store returns rows by name and memory returns them by age.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum RowKey {
    Worker(Name),
    Lane(Name),
    Job(JobId),
    Task(TaskId),
    Renderer(Name),
    Session(SessionId),
    Range(FrameTaskId),
    Quarantine(EntryId),
    Member(PoolWorkerId),
    Assignment(AssignmentId),
    Elsewhere,
}

fn place(row: &Change) -> RowKey {
    match row {
        Change::Worker(worker) => RowKey::Worker(worker.id.clone()),
        Change::Lane(lane) => RowKey::Lane(lane.id.clone()),
        Change::Job(job) => RowKey::Job(job.id),
        Change::Task(task) => RowKey::Task(task.id),
        Change::Frames(FrameChange::Renderer(renderer)) => RowKey::Renderer(renderer.id.clone()),
        Change::Frames(FrameChange::Session(session)) => RowKey::Session(session.id.clone()),
        Change::Frames(FrameChange::Task(task)) => RowKey::Range(task.id.clone()),
        Change::Frames(FrameChange::Quarantine(entry)) => RowKey::Quarantine(entry.id.clone()),
        Change::Pool(PoolChange::Worker(worker)) => RowKey::Member(worker.id),
        Change::Pool(PoolChange::Assignment(assignment)) => RowKey::Assignment(assignment.id),
        _ => RowKey::Elsewhere,
    }
}
