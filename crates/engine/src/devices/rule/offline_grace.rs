//! Q6, Q11: a lane away for too long, or out of service, is closed in the active jobs, so that one dead
//! worker or one broken device cannot hold a queue.

use crate::devices::state::{Job, LaneIx, RowState, State};
use alloc::boxed::Box;
use muster_model::{Event, TaskId, TaskStatus, Timestamp};

const SKIPPED: &str = "skipped: device offline";
const BROKEN: &str = "skipped: device in ERROR";

/// A lane that a job may have to skip.
pub(crate) struct Candidate {
    pub(crate) lane: LaneIx,
    /// Ordinal for a task that comes into being only for this.
    pub(crate) ordinal: u32,
}

/// The event that closes a lane long away or out of service in a job, unless it runs, has ended, or was no
/// target.
pub(crate) fn skip(state: &State, job: &Job, candidate: &Candidate, at: Timestamp) -> Option<Event> {
    let Candidate { lane: ix, ordinal } = *candidate;
    let lane = &state.lanes[ix];
    if !job.is_active() || !(lane.failed || state.long_away.contains(&ix)) {
        return None;
    }
    match lane.row(job.seq) {
        None if super::eligible::is_target(state, job, lane) => Some(Event::TaskSkipped {
            task: TaskId { job: job.id, ordinal },
            lane: lane.name.clone(),
            worker: state.workers[lane.worker].name.clone(),
            at,
        }),
        Some(row) if row.state == RowState::Pending => Some(Event::TaskEnded {
            task: state.task_id(row.task()),
            status: TaskStatus::Cancelled,
            error: Some(if lane.failed { BROKEN.into() } else { skip_text() }),
            result: None,
            at,
        }),
        _ => None,
    }
}

/// Text in `task_devices.error` of a task closed this way.
pub(crate) fn skip_text() -> Box<str> {
    SKIPPED.into()
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q6: a device offline longer than the grace is closed as cancelled, so that one dead PC cannot hold the queue.
    #[test]
    fn a_dead_pc_cannot_hold_the_queue() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1,d2
            0s   pull PC-02 max=0 devices=e1
            1s   submit r1
            2s   pull PC-01 max=1            -> granted r1/d1#1
            3s   finished PC-01 r1/d1 ok     -> confirmed r1/d1; ended r1/d1#1 ok; closed r1/d1 Completed
            33s  heartbeat PC-01
            33s  tick                        -> offline PC-02
            60s  heartbeat PC-01
            61s  pull PC-01                  => jobs=r1/d2#1
            80s  finished PC-01 r1/d2 ok     -> confirmed r1/d2; ended r1/d2#1 ok; closed r1/d2 Completed
            100s heartbeat PC-01
            125s heartbeat PC-01
            152s tick                        -> nothing
            153s tick                        -> skipped r1/e1; over r1 Success
            ",
        );
    }

    /// Q6: a device away long before is closed when the run becomes active; a pending row as well; a running one is not.
    #[test]
    fn a_device_long_away_is_closed_at_once() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1,d2,d3:offline
            121s pull PC-01 max=0 devices=d1,d2,d3:offline
            121s heartbeat PC-01
            121s tick                        -> nothing
            122s submit r1                   -> active r1
            122s tick                        -> skipped r1/d3
            123s pull PC-01                  -> granted r1/d1#1; granted r1/d2#1
            124s finished PC-01 r1/d1 failed -> confirmed r1/d1; ended r1/d1#1 failed; queued r1/d1
            125s pull PC-01 max=0 devices=d1:offline,d2:offline,d3:offline
            150s heartbeat PC-01
            175s heartbeat PC-01
            200s heartbeat PC-01
            225s heartbeat PC-01
            245s tick                        -> closed r1/d1 Cancelled (skipped: device offline)
            246s finished PC-01 r1/d2 failed -> confirmed r1/d2; ended r1/d2#1 failed; queued r1/d2; closed r1/d2 Cancelled (skipped: device offline); over r1 Failed (no task completed)
            ",
        );
    }

    /// Q11: a device that one run has used up is closed in the runs of other queues too: nothing waits for it.
    #[test]
    fn a_broken_device_cannot_hold_another_queue() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1 queue=a attempts=2
            1s  submit r2 queue=b attempts=1
            2s  pull PC-01 max=2             => runs=r1:2,r2:2 jobs=r1/d1#1,r2/d2#1
            3s  finished PC-01 r1/d1 failed  -> confirmed r1/d1; ended r1/d1#1 failed; queued r1/d1
            4s  finished PC-01 r2/d2 ok
            5s  pull PC-01 max=2             => jobs=r1/d2#1,r2/d1#1
            6s  finished PC-01 r2/d1 failed  -> confirmed r2/d1; ended r2/d1#1 failed; closed r2/d1 Failed (adb_offline); error d1; closed r1/d1 Cancelled (skipped: device in ERROR); over r2 Success
            7s  finished PC-01 r1/d2 ok      -> confirmed r1/d2; ended r1/d2#1 ok; closed r1/d2 Completed; over r1 Success
            ",
        );
    }

    /// Q6: a device long away that comes into a run's scope, by a move or a label, is closed like the others.
    #[test]
    fn a_device_long_away_that_enters_the_scope_is_closed() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1,d2:offline,d3:offline
            0s   pull PC-02 max=0 devices=e1
            119s pull PC-01 max=0 devices=d1,d2:offline,d3:offline
            119s pull PC-02 max=0 devices=e1
            119s heartbeat PC-01
            119s heartbeat PC-02
            120s tick                        -> nothing
            121s submit r1 pcs=PC-02         -> active r1
            121s submit r2 queue=b labels=rack:a -> active r2
            122s pull PC-02                  => runs=r1:1 jobs=r1/e1#1
            123s pull PC-02 max=0 devices=e1,d2:offline -> skipped r1/d2
            124s finished PC-02 r1/e1 ok     -> confirmed r1/e1; ended r1/e1#1 ok; closed r1/e1 Completed; over r1 Success
            125s label d3 rack:a             -> skipped r2/d3; over r2 Failed (no task completed)
            ",
        );
    }
}
