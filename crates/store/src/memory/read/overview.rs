//! Reads about everything at once.

use super::MemoryReader;
use crate::{
    Backlog, FleetView, LaneView, OpenCounts, OverviewReader, POOL_JOBS_LOOKED_AT, StoreError,
    memory::tables::Tables,
};
use muster_model::{
    Attachment, JobId, JobStatus, Name, PoolJobId, SessionId, SessionStatus, TaskId, TaskStatus, Timestamp,
};
use std::collections::BTreeMap;

impl OverviewReader for MemoryReader {
    fn fleet(&self) -> Result<FleetView, StoreError> {
        let tables = self.tables();
        let running = tables.tasks.values().filter(|task| task.status == TaskStatus::Running);
        let running: BTreeMap<&Name, TaskId> = running.map(|task| (&task.lane, task.id)).collect();
        let lanes = tables.lanes.values().map(|lane| LaneView {
            id: lane.id.clone(),
            worker: lane.worker.clone(),
            status: lane.status,
            attached: lane.attachment == Attachment::Online,
            running: running.get(&lane.id).copied(),
        });
        Ok(FleetView { workers: tables.workers.values().cloned().collect(), lanes: lanes.collect() })
    }

    fn backlog(&self) -> Result<Backlog, StoreError> {
        let tables = self.tables();
        let (jobs, sessions) = (jobs(&tables), sessions(&tables));
        Ok(Backlog { jobs, sessions, oldest_pool_job: oldest_pool_job(&tables) })
    }
}

fn jobs(tables: &Tables) -> OpenCounts<JobId> {
    let open = || tables.jobs.values().filter(|job| job.open);
    let of = |status: JobStatus| open().filter(move |job| job.status == status);
    let oldest = of(JobStatus::Pending).min_by_key(|job| job.seq);
    OpenCounts {
        pending: of(JobStatus::Pending).count() as u64,
        running: of(JobStatus::Running).count() as u64,
        paused: 0,
        oldest: oldest.map(|job| (job.id, job.created_at)),
    }
}

fn sessions(tables: &Tables) -> OpenCounts<SessionId> {
    let open = || tables.frames.sessions.values().filter(|session| session.open);
    let is_begun = |id: &SessionId| tables.frames.tasks_of(id).next().is_some();
    let running = || open().filter(|session| session.status == SessionStatus::Running);
    let pending = || running().filter(|session| !is_begun(&session.id));
    let oldest = pending().min_by_key(|session| session.seq);
    OpenCounts {
        pending: pending().count() as u64,
        running: running().filter(|session| is_begun(&session.id)).count() as u64,
        paused: open().filter(|session| session.status == SessionStatus::Paused).count() as u64,
        oldest: oldest.map(|session| (session.id.clone(), session.created_at)),
    }
}

fn oldest_pool_job(tables: &Tables) -> Option<(PoolJobId, Timestamp)> {
    let first = tables.pool.oldest_open();
    let window = PoolJobId(first)..PoolJobId(first.saturating_add(POOL_JOBS_LOOKED_AT));
    let mut jobs = tables.pool.jobs.range(window).map(|(_, job)| job);
    let is_had = |id: PoolJobId| tables.pool.assignments_of(id).any(|assignment| assignment.state.is_live());
    let found = jobs.find(|job| !tables.pool.ends.contains_key(&job.id) && !is_had(job.id));
    found.map(|job| (job.id, job.created_at))
}
