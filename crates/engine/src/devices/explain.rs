//! Q16: the one rule that holds something back.

use crate::devices::{
    rule::{contest, eligible, job_end, slot},
    state::{Job, Lane, LaneIx, RowState, State, TaskRef, WorkerIx},
};
use alloc::vec::Vec;
use muster_model::{Cause, Explanation, JobId, JobStatus, Name, Subject, TaskId, Timestamp};

/// The explanation for what memory knows.
pub(crate) fn explain(state: &State, subject: Subject, now: Timestamp) -> Option<Explanation> {
    let cause = match &subject {
        Subject::Job(id) => job(state, *id, now)?,
        Subject::Task(id) => task(state, *id, now)?,
        Subject::Lane(name) => lane(state, name, now)?,
        Subject::Worker(name) => worker(state, name, now)?,
        Subject::Session(id) => Cause::Frames(state.farm.explain_session(id, now)?),
        Subject::Range(id) => Cause::Frames(state.farm.explain_range(id, now)?),
        Subject::Renderer(name) => Cause::Frames(state.farm.explain_renderer(name, now)?),
        Subject::PoolJob(id) => Cause::Pool(state.pool.explain(*id)?),
        Subject::Member(id) => Cause::Member(state.pool.explain_member(*id)?),
        Subject::Schedule(id) => state.schedules.explain(*id, now)?,
    };
    let heartbeat_late_since = match &subject {
        Subject::Worker(name) => late_heartbeat(state, name),
        _ => None,
    };
    Some(Explanation { subject, cause, heartbeat_late_since })
}

/// Since when the heartbeat of an online worker has been late (N8c).
fn late_heartbeat(state: &State, name: &Name) -> Option<Timestamp> {
    let worker = &state.workers[state.workers.ix(name)?];
    worker.heartbeat_late_since.filter(|_| worker.online)
}

fn job(state: &State, id: JobId, now: Timestamp) -> Option<Cause> {
    let Some(job) = state.job(id) else {
        return state.recent.jobs.get(&id).map(|status| Cause::JobEnded { status: *status, outcome: None });
    };
    if job.status.is_ended() {
        return Some(Cause::JobEnded { status: job.status, outcome: None });
    }
    if job.status == JobStatus::Pending {
        let (active, ahead) = ahead_of(state, job);
        return Some(Cause::QueuedBehind { active, ahead });
    }
    let waiting = u32::try_from(job.pending.len()).unwrap_or(u32::MAX);
    if job.open > waiting {
        return Some(Cause::Running { leases: job.open - waiting });
    }
    if job.tasks == 0 && job.lacking == 0 {
        if let Some(lane) = out_of_service(state, job) {
            return Some(Cause::DeviceError { lane });
        }
        return Some(Cause::WaitingForDevices { until: job_end::waits_until(state, job) });
    }
    let first_waiting = job.pending.first().map(|ordinal| TaskRef { job: job.seq, ordinal: *ordinal });
    first_waiting
        .map(|task| state.tasks[&task].lane)
        .or_else(|| first_target(state, job))
        .map(|ix| lane_for(state, job, &state.lanes[ix], now))
}

/// The active job of a waiting job's queue, and how many come before it.
fn ahead_of(state: &State, job: &Job) -> (JobId, u32) {
    let queue = &state.queues[&job.queue];
    let ahead = queue.waiting.range(..job.seq).count() + usize::from(queue.active.is_some());
    let active = queue.active.map_or(job.id, |seq| state.jobs[&seq].id);
    (active, u32::try_from(ahead).unwrap_or(u32::MAX))
}

/// The oldest waiting job that is for one of these lanes, as the cause why they have nothing to do yet.
fn queued_for(state: &State, lanes: &[LaneIx]) -> Option<Cause> {
    const JOBS_LOOKED_AT: usize = 1000;
    let waiting = state.queues.values().flat_map(|queue| queue.waiting.iter());
    let jobs = waiting.take(JOBS_LOOKED_AT).map(|seq| &state.jobs[seq]);
    let meant = jobs.filter(|job| lanes.iter().any(|ix| eligible::is_target(state, job, &state.lanes[*ix])));
    meant.min_by_key(|job| job.seq).map(|job| {
        let (active, ahead) = ahead_of(state, job);
        Cause::WorkQueuedBehind { job: job.id, active, ahead }
    })
}

/// A lane that the job would be for, were it in service.
fn out_of_service(state: &State, job: &Job) -> Option<Name> {
    const LANES_LOOKED_AT: usize = 10_000;
    let lanes = state.lanes.iter().take(LANES_LOOKED_AT).map(|(_, lane)| lane);
    let mut broken = lanes.filter(|lane| lane.failed && eligible::in_scope(state, &job.scope, lane));
    broken.next().map(|lane| lane.name.clone())
}

/// A target without a row; only the shares of the workers are looked at, each of which is small.
fn first_target(state: &State, job: &Job) -> Option<LaneIx> {
    const WORKERS_LOOKED_AT: usize = 1000;
    let workers = state.workers.iter().take(WORKERS_LOOKED_AT);
    let lanes = workers.flat_map(|(_, worker)| worker.lanes.iter().copied());
    let mut lanes = lanes.filter(|ix| eligible::standing(state, job, *ix).lacking);
    lanes.next()
}

fn task(state: &State, id: TaskId, now: Timestamp) -> Option<Cause> {
    let Some(live) = state.task(id) else {
        return state.recent.tasks.get(&id).map(|task| Cause::TaskEnded { status: task.status });
    };
    let job = state.job(id.job)?;
    if let Some(lease) = live.lease {
        if job.status.is_ended() {
            return Some(Cause::Stopping { task: id });
        }
        if !live.confirmed_at.is_some() {
            return Some(Cause::AwaitingRedelivery {
                task: id,
                at: lease.shown_at + state.settings.redeliver_after,
            });
        }
        return Some(Cause::Running { leases: 1 });
    }
    match lane_for(state, job, &state.lanes[live.lane], now) {
        Cause::AwaitingPull { .. } => Some(Cause::AwaitingRetry { task: id, attempt: live.attempt }),
        cause => Some(cause),
    }
}

fn lane(state: &State, name: &Name, now: Timestamp) -> Option<Cause> {
    let ix = state.lanes.ix(name)?;
    let lane = &state.lanes[ix];
    if let Some(busy) = lane.busy() {
        return task(state, state.task_id(busy), now);
    }
    if let Some(cause) = unusable(state, lane) {
        return Some(cause);
    }
    if let Some(contest) = contest::of_lane(state, ix, now) {
        return Some(contest::cause(state, lane.worker, contest));
    }
    let mut active = state.active_jobs().peekable();
    if active.peek().is_none() {
        return Some(Cause::NoWork);
    }
    let open = state.active_jobs().find(|job| {
        let standing = eligible::standing(state, job, ix);
        standing.lacking || standing.open
    });
    if let Some(job) = open {
        return Some(lane_for(state, job, lane, now));
    }
    if let Some(job) = active.find(|job| lane.row(job.seq).is_some()) {
        return Some(Cause::AlreadyServed { lane: name.clone(), job: job.id });
    }
    Some(queued_for(state, &[ix]).unwrap_or_else(|| Cause::OutOfScope { lane: name.clone() }))
}

/// Reason why a job does not run on a lane that it is for.
fn lane_for(state: &State, job: &Job, lane: &Lane, now: Timestamp) -> Cause {
    if let Some(cause) = unusable(state, lane) {
        return cause;
    }
    if let Some(busy) = lane.busy() {
        return Cause::LaneBusy { lane: lane.name.clone(), task: state.task_id(busy) };
    }
    if let Some(cause) = unsupplied(state, lane.worker, now) {
        return cause;
    }
    match lane.row(job.seq) {
        Some(row) if row.state == RowState::Pending => Cause::AwaitingRetry {
            task: state.task_id(row.task()),
            attempt: state.tasks[&row.task()].attempt,
        },
        _ => Cause::AwaitingPull { worker: state.workers[lane.worker].name.clone() },
    }
}

fn unusable(state: &State, lane: &Lane) -> Option<Cause> {
    let worker = &state.workers[lane.worker];
    if lane.failed {
        return Some(Cause::DeviceError { lane: lane.name.clone() });
    }
    if !worker.online {
        return Some(Cause::NodeOffline { worker: worker.name.clone(), since: worker.status_since });
    }
    lane.offline_since.get().map(|since| Cause::DeviceOffline { lane: lane.name.clone(), since })
}

fn unsupplied(state: &State, ix: WorkerIx, now: Timestamp) -> Option<Cause> {
    let worker = &state.workers[ix];
    let name = || worker.name.clone();
    let (running, cap) = (u32::try_from(worker.live.len()).unwrap_or(u32::MAX), slot::cap(state, ix));
    if worker.draining {
        return Some(Cause::NodeDraining { worker: name() });
    }
    if let Some(until) = worker.paused_until.filter(|until| *until > now) {
        return Some(Cause::SupplyPaused { worker: name(), until });
    }
    (running >= cap).then(|| Cause::NoSlot { worker: name(), running, cap })
}

fn worker(state: &State, name: &Name, now: Timestamp) -> Option<Cause> {
    let ix = state.workers.ix(name)?;
    let worker = &state.workers[ix];
    if !worker.online {
        return Some(Cause::NodeOffline { worker: name.clone(), since: worker.status_since });
    }
    if let Some(cause) = unsupplied(state, ix, now) {
        return Some(cause);
    }
    if !worker.live.is_empty() {
        return Some(Cause::Running { leases: u32::try_from(worker.live.len()).unwrap_or(u32::MAX) });
    }
    if let Some(contest) = contest::of_worker(state, ix, now) {
        return Some(contest::cause(state, ix, contest));
    }
    if !slot::choose(state, ix, 1, now).is_empty() {
        return Some(Cause::AwaitingPull { worker: name.clone() });
    }
    let lanes: Vec<LaneIx> = worker.lanes.iter().copied().collect();
    Some(queued_for(state, &lanes).unwrap_or(Cause::NoWork))
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q16: the exact rule that holds something back.
    #[test]
    fn every_cause_is_named() {
        check(
            "
            0s   explain node PC-01           => unknown
            1s   pull PC-01 max=0 devices=d1,d2
            1s   pull PC-02 max=0 devices=e1
            2s   explain device d1            => no_work
            2s   explain node PC-01           => no_work
            3s   submit r1 pcs=PC-01
            3s   explain device e1            => out_of_scope
            3s   submit r2
            4s   explain run r2               => queued_behind
            4s   explain run r1               => awaiting_pull
            4s   explain device e1            => work_queued_behind
            5s   pull PC-01 max=1
            6s   explain task r1/d1           => awaiting_redelivery
            7s   started PC-01 r1/d1
            8s   explain task r1/d1           => running
            8s   explain run r1               => running
            9s   finished PC-01 r1/d1 failed
            10s  explain task r1/d1           => awaiting_retry
            11s  drain PC-01
            12s  explain run r1               => node_draining
            13s  resume PC-01
            14s  cap PC-01 1
            15s  pull PC-01
            16s  explain task r1/d1           => no_slot
            17s  finished PC-01 r1/d2 ok
            17s  started PC-01 r1/d1
            18s  explain device d2            => already_served
            40s  heartbeat PC-02
            50s  tick                         -> offline PC-01
            51s  explain node PC-01           => node_offline
            ",
        );
    }

    /// Q16, Q2: who waits for a run that waits for another one hears of it, and only then.
    #[test]
    fn a_run_that_waits_is_named_to_those_it_is_for() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1
            0s  pull PC-02 max=0 devices=e1,e2
            0s  pull PC-03 max=0 devices=f1
            1s  label e2 rack:a
            2s  submit r1 pcs=PC-01
            3s  explain node PC-02            => no_work
            4s  submit r2 labels=rack:a
            5s  explain node PC-02            => work_queued_behind
            5s  explain device e2             => work_queued_behind
            5s  explain device e1             => out_of_scope
            5s  explain node PC-03            => no_work
            6s  submit r3 devices=f1
            7s  explain node PC-03            => work_queued_behind
            7s  explain node PC-01            => awaiting_pull
            8s  cancel r1
            9s  explain node PC-02            => awaiting_pull
            ",
        );
    }

    /// Q16, Q11: a run whose devices are all out of service says so.
    #[test]
    fn a_run_for_broken_devices_names_one() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1
            1s  submit r1 attempts=1
            2s  pull PC-01
            3s  finished PC-01 r1/d1 failed
            4s  submit r2 devices=d1
            5s  explain run r2                => device_error
            ",
        );
    }
}
