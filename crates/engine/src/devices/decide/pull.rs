//! N1, N1b, N2: a worker reports its devices and asks for work.

use super::{Context, Decision};
use crate::{
    Mutant,
    devices::{
        rule::{contest, redelivery, slot},
        state::{Job, LaneIx, State, TaskRef, Worker, WorkerIx},
    },
};
use alloc::vec::Vec;
use muster_model::{
    Attachment, DeviceReport, Event, Fence, Grant, Handout, JobAnnounced, LeaseKind, Millis, Name, PullReply,
    TaskId, Timestamp,
};

/// Events that a worker's list of its devices causes.
///
/// A device that another worker is driving stays there: taking it away would let two drive it.
pub(crate) fn report_devices(
    state: &State,
    name: &Name,
    devices: Vec<DeviceReport>,
    context: &Context<'_>,
) -> Vec<Event> {
    let Some(worker) = state.workers.ix(name) else {
        return Vec::new();
    };
    let at = context.now;
    let mut reported = Vec::with_capacity(devices.len());
    let mut events = Vec::new();
    for report in devices {
        match state.lanes.ix(&report.device) {
            Some(ix) if state.lanes[ix].worker == worker => {
                reported.push(ix);
                let lane = &state.lanes[ix];
                if lane.attachment != report.attachment || lane.handle != report.handle {
                    let DeviceReport { device: lane, handle, attachment } = report;
                    events.push(Event::LaneReported { lane, handle, attachment, at });
                }
            }
            Some(ix) if state.lanes[ix].busy().is_some() => {}
            _ => events.push(Event::LaneAttached { worker: name.clone(), report, at }),
        }
    }
    reported.sort_unstable();
    let absent = |ix: &&LaneIx| {
        reported.binary_search(ix).is_err() && state.lanes[**ix].attachment != Attachment::Absent
    };
    let gone = state.workers[worker].lanes.iter().filter(absent).map(|ix| {
        let lane = &state.lanes[*ix];
        let (handle, attachment) = (lane.handle.clone(), Attachment::Absent);
        Event::LaneReported { lane: lane.name.clone(), handle, attachment, at }
    });
    events.extend(gone);
    events
}

/// Decides the reply to a pull.
pub(crate) fn supply(
    state: &State,
    worker: WorkerIx,
    max: u32,
    context: &Context<'_>,
) -> Decision<PullReply> {
    let again: Vec<TaskRef> = match state.has_bug(Mutant::RedeliveryForgotten) {
        true => Vec::new(),
        false => redelivery::due(state, worker, context.now).take(max as usize).collect(),
    };
    let more = max.saturating_sub(u32::try_from(again.len()).unwrap_or(u32::MAX));
    let terms = Terms { kind: LeaseKind::Presence, lease: state.settings.lease, max: more };
    let offers = offers(state, worker, terms, context);
    let mut reply = told(state, worker, context.now);
    // A newer attempt replaces the one that was to stop: naming both would stop the wrong one.
    reply.stop.retain(|task| offers.iter().all(|offer| offer.grant.task != *task));
    reply.announced = announced(state, worker, &again, &offers);
    reply.handouts = again.iter().map(|task| handed_again(state, *task)).collect();
    reply.handouts.extend(offers.iter().map(handed_out));
    reply.nothing_new = reply.handouts.is_empty() && !state.workers[worker].news;
    let shown = again.iter().map(|task| state.task_id(*task)).collect();
    let mut events = Vec::with_capacity(offers.len() + 1);
    events.extend(offers.into_iter().map(|offer| Event::LeaseGranted(offer.grant)));
    if !reply.nothing_new {
        let worker = state.workers[worker].name.clone();
        events.push(Event::PullAnswered { worker, shown, at: context.now });
    }
    Decision { events, reply }
}

/// On what terms leases are granted.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) kind: LeaseKind,
    pub(crate) lease: Millis,
    /// Most leases to grant.
    pub(crate) max: u32,
}

/// A lease to be granted, and the details that its handout adds.
pub(crate) struct Offer {
    pub(crate) grant: Grant,
    /// Sequence number of the job.
    job: u64,
    handle: Name,
}

/// The leases that fill a worker's free slots, at most as many as the terms allow.
pub(crate) fn offers(state: &State, ix: WorkerIx, terms: Terms, context: &Context<'_>) -> Vec<Offer> {
    let now = context.now;
    let mut created: Vec<(u64, u32)> = Vec::new();
    let mut next = |job: &Job| {
        let place = created.iter().position(|(seq, _)| *seq == job.seq).unwrap_or_else(|| {
            created.push((job.seq, job.tasks));
            created.len() - 1
        });
        let (_, count) = &mut created[place];
        *count += 1;
        (*count <= TaskId::ORDINAL_MAX).then_some(*count)
    };
    let choices = slot::choose(state, ix, terms.max, now);
    let offer = |(n, choice): (u64, slot::Choice)| {
        let (job, lane) = (&state.jobs[&choice.job], &state.lanes[choice.lane]);
        let row = lane.row(choice.job);
        let task = row.and_then(|row| state.tasks.get(&row.task()));
        let ordinal = match row.filter(|_| task.is_some()) {
            Some(row) => row.ordinal,
            None => next(job)?,
        };
        let grant = Grant {
            task: TaskId { job: job.id, ordinal },
            created: task.is_none(),
            lane: lane.name.clone(),
            worker: state.workers[ix].name.clone(),
            attempt: task.map_or(0, |task| task.attempt) + 1,
            max_attempts: task.map_or(job.max_attempts, |task| task.max_attempts),
            fence: Fence(context.number(n + 1)),
            kind: terms.kind,
            at: now,
            until: now + terms.lease,
            timeout_at: state.timeout_at(task, now),
        };
        Some(Offer { grant, job: job.seq, handle: lane.handle.clone() })
    };
    (0u64..).zip(choices).filter_map(offer).collect()
}

/// News besides new work.
fn told(state: &State, ix: WorkerIx, now: Timestamp) -> PullReply {
    let worker = &state.workers[ix];
    let over = worker.shares.iter().filter(|(_, share)| share.first.is_some() && share.is_drained());
    let stopping: Vec<Handout> = stopping(state, worker).map(|task| handed_again(state, *task)).collect();
    let mut stop: Vec<TaskId> = stopping.iter().map(|handout| handout.task).collect();
    stop.extend(worker.superseded.iter().copied());
    let contested = contest::of_worker(state, ix, now)
        .map(|found| (state.lanes[found.lane].name.clone(), state.workers[found.with].name.clone()));
    let finished = over.map(|(_, share)| share.job).collect();
    PullReply { finished, stop, stopping, contested, ..PullReply::default() }
}

/// A worker's live leases whose jobs have ended. Leases are sorted by job, so each job is checked once.
fn stopping<'a>(state: &'a State, worker: &'a Worker) -> impl Iterator<Item = &'a TaskRef> {
    let is_ended = |task: &&TaskRef| state.jobs[&task.job].status.is_ended();
    let next_job = |task: &&TaskRef| worker.live.after(&TaskRef { job: task.job, ordinal: u32::MAX });
    let jobs = core::iter::successors(worker.live.first(), next_job).filter(is_ended);
    jobs.flat_map(|first| worker.live.iter().filter(|task| task.job == first.job))
}

/// The jobs of which this answer carries the worker's first task.
fn announced(state: &State, ix: WorkerIx, again: &[TaskRef], offers: &[Offer]) -> Vec<JobAnnounced> {
    let shares = &state.workers[ix].shares;
    let firsts = again
        .iter()
        .filter(|task| shares.get(task.job).is_some_and(|share| share.first == Some(task.ordinal)));
    let mut jobs: Vec<u64> = firsts.map(|task| task.job).collect();
    for seq in offers.iter().map(|offer| offer.job) {
        let new = shares.get(seq).is_none_or(|share| share.first.is_none());
        if new && !jobs.contains(&seq) {
            jobs.push(seq);
        }
    }
    jobs.into_iter().map(|seq| announcement(state, ix, seq)).collect()
}

fn announcement(state: &State, ix: WorkerIx, seq: u64) -> JobAnnounced {
    let shares = &state.workers[ix].shares;
    // A device that has moved here may bring a row that another worker began.
    let drawn;
    let share = match shares.get(seq) {
        Some(share) => share,
        None => {
            drawn = state.draw_up_share(ix, seq);
            &drawn
        }
    };
    let targets = share.lacking + share.open_rows;
    JobAnnounced { job: state.jobs[&seq].id, targets, slots: slot::cap(state, ix) }
}

fn handed_out(offer: &Offer) -> Handout {
    let Offer { grant, handle, .. } = offer;
    Handout {
        task: grant.task,
        lane: grant.lane.clone(),
        handle: handle.clone(),
        attempt: grant.attempt,
        fence: grant.fence,
        until: grant.until,
    }
}

fn handed_again(state: &State, at: TaskRef) -> Handout {
    let task = &state.tasks[&at];
    let lane = &state.lanes[task.lane];
    Handout {
        task: state.task_id(at),
        lane: lane.name.clone(),
        handle: lane.handle.clone(),
        attempt: task.attempt,
        fence: task.fence,
        until: task.lease.map_or(task.granted_at, |lease| lease.until),
    }
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// N1: runs are announced with their first job, finished ones named until run_finished (N1b).
    #[test]
    fn runs_are_announced_once_and_finished_until_reported() {
        check(
            "
            0s  submit r1                     -> active r1
            1s  pull PC-01 devices=d1         => runs=r1:1 jobs=r1/d1#1
            2s  finished PC-01 r1/d1 ok
            3s  pull PC-01                    => finished=r1
            4s  pull PC-01                    => finished=r1
            5s  run_finished PC-01 r1 ok=1    -> nothing => Applied
            6s  pull PC-01                    => nothing
            ",
        );
    }

    /// N1b: any pull enrols; max_jobs 0 is a mere report; a device belongs to the last report unless it has a live attempt.
    #[test]
    fn a_device_moves_unless_it_is_driven() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1
            2s  pull PC-01 max=1              => runs=r1:2 jobs=r1/d1#1
            3s  pull PC-02 devices=d1,d2      => runs=r1:1 jobs=r1/d2#1
            4s  pull PC-01                    => nothing
            5s  finished PC-01 r1/d1 ok
            6s  pull PC-02 max=0 devices=d1,d2
            7s  finished PC-02 r1/d2 ok       -> confirmed r1/d2; ended r1/d2#1 ok; closed r1/d2 Completed; over r1 Success
            8s  submit r2
            9s  pull PC-02                    => runs=r2:2 jobs=r2/d1#1,r2/d2#1 finished=r1
            ",
        );
    }

    /// N1: no devices field is no report; absent devices become offline and come back.
    #[test]
    fn absent_devices_are_offline() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1
            2s  pull PC-01 max=0 devices=d1
            3s  pull PC-01                    => runs=r1:2 jobs=r1/d1#1
            4s  explain device d2             => device_offline
            5s  pull PC-01 devices=d1,d2      => jobs=r1/d2#1
            ",
        );
    }

    /// N1: a newer attempt replaces the one that was to be stopped; only a task without one is named in stop.
    #[test]
    fn a_newer_attempt_is_not_stopped_with_the_older() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            1s   submit r1
            2s   pull PC-01                   => runs=r1:1 jobs=r1/d1#1
            302s tick
            303s pull PC-01 max=0             => stop=r1/d1
            304s pull PC-01                   => jobs=r1/d1#2
            305s pull PC-01                   => nothing
            ",
        );
    }
}
