//! Q2, Q6, Q7: one active run per queue, the oldest; and a run ends only when it is over.

use super::{
    Verdict, ensure,
    mirror::{Before, Mirror},
};
use crate::scene::Scene;
use muster_model::{JobId, JobRecord, JobStatus, LaneRecord, Scope, TaskId, TaskRecord, TaskStatus};
use std::collections::BTreeMap;

pub(super) fn check(mirror: &Mirror, before: &Before, scene: &mut Scene) -> Verdict {
    if before.jobs.is_empty() {
        return Ok(());
    }
    for (id, old) in &before.jobs {
        let job = &mirror.jobs[id];
        let ended_before = old.as_ref().is_some_and(|old| old.status.is_ended());
        match old {
            Some(old) if ended_before => check_ended(job, old)?,
            _ if job.status.is_ended() => check_end(mirror, before, job, scene)?,
            _ => {}
        }
    }
    check_order(mirror)
}

/// Per queue, of the runs that have not ended the oldest is active, and no other.
fn check_order(mirror: &Mirror) -> Verdict {
    let mut open: BTreeMap<_, Vec<&JobRecord>> = BTreeMap::new();
    for job in mirror.jobs.values().filter(|job| !job.status.is_ended()) {
        open.entry(&job.queue).or_default().push(job);
    }
    for jobs in open.values_mut() {
        jobs.sort_by_key(|job| job.seq);
        let right = |(place, job): (usize, &&JobRecord)| (place == 0) == (job.status == JobStatus::Running);
        ensure(jobs.iter().enumerate().all(right), "active_run_not_the_oldest", || format!("{jobs:?}"))?;
    }
    Ok(())
}

/// What ended stays as it ended.
fn check_ended(job: &JobRecord, old: &JobRecord) -> Verdict {
    let same = job.status == old.status && job.completed_at == old.completed_at && (old.open || !job.open);
    ensure(same, "ended_run_changes", || format!("{old:?} became {job:?}"))
}

fn check_end(mirror: &Mirror, before: &Before, job: &JobRecord, scene: &mut Scene) -> Verdict {
    let rows = || rows_of(mirror, job.id);
    let completed = rows().any(|row| row.status == TaskStatus::Completed);
    scene.count(match job.status {
        JobStatus::Success => "run success",
        JobStatus::Failed => "run failed",
        _ => "run cancelled",
    });
    if job.status == JobStatus::Cancelled {
        let waits = rows().find(|row| row.status == TaskStatus::Pending);
        return ensure(waits.is_none(), "cancelled_run_waits", || format!("{waits:?}"));
    }
    let live = rows().find(|row| !row.status.is_ended());
    ensure(live.is_none(), "run_ends_with_live_rows", || format!("{job:?} with {live:?}"))?;
    ensure(completed == (job.status == JobStatus::Success), "run_ends_wrongly", || format!("{job:?}"))?;
    for row in rows().filter(|row| row.attempt == 0) {
        scene.count("row skipped");
        ensure(row.status == TaskStatus::Cancelled, "skipped_row", || format!("{row:?}"))?;
    }
    let steady = mirror.lanes.values().filter(|lane| !before.lanes.contains_key(&lane.id));
    let lacking =
        steady.filter(|lane| is_target(job, lane)).find(|lane| rows().all(|row| row.lane != lane.id));
    ensure(lacking.is_none(), "run_ends_before_its_devices", || format!("{job:?} lacks {lacking:?}"))
}

fn rows_of(mirror: &Mirror, job: JobId) -> impl Iterator<Item = &TaskRecord> {
    let all = TaskId { job, ordinal: 0 }..=TaskId { job, ordinal: u32::MAX };
    mirror.tasks.range(all).map(|(_, row)| row)
}

fn is_target(job: &JobRecord, lane: &LaneRecord) -> bool {
    let in_scope = match &job.scope {
        Scope::All => true,
        Scope::Workers(workers) => workers.contains(&lane.worker),
        Scope::Devices(devices) => devices.contains(&lane.id),
        Scope::Labels(labels) => labels.iter().all(|(key, value)| lane.labels.get(key) == Some(value)),
    };
    in_scope && !lane.failed
}
