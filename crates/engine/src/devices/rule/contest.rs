//! N1b: a lane belongs to the last report, so two workers that both report it take it from each other for ever.

use crate::devices::state::{Contest, Lane, LaneIx, State, WorkerIx};
use alloc::format;
use muster_model::{AlertKind, AlertRecord, Attachment, Cause, Event, Millis, Timestamp};

/// The worker that loses a lane which it still reports, when another worker reports it.
///
/// A lane that was unplugged first is no longer in its old worker's list: it has only moved.
pub(crate) fn loser(state: &State, lane: LaneIx) -> Option<WorkerIx> {
    let lane = &state.lanes[lane];
    let is_reported = lane.attachment != Attachment::Absent && state.workers[lane.worker].online;
    is_reported.then_some(lane.worker)
}

/// The contest that shows when a worker takes a lane: the one it takes it from had taken it from this one just before.
pub(crate) fn shown(state: &State, lane: LaneIx, worker: WorkerIx, at: Timestamp) -> Option<Contest> {
    let with = loser(state, lane)?;
    let is_back = |(lost_by, lost_at): &(WorkerIx, Timestamp)| *lost_by == worker && at < *lost_at + FRESH;
    state.lanes[lane].taken.as_deref().is_some_and(is_back).then_some(Contest { with, lane, at })
}

/// The contest that a worker is in, if it has not passed.
pub(crate) fn of_worker(state: &State, worker: WorkerIx, now: Timestamp) -> Option<Contest> {
    state.workers[worker].contest.filter(|contest| now < contest.at + FRESH)
}

/// The contest that a lane goes to and fro in, if it does.
pub(crate) fn of_lane(state: &State, lane: LaneIx, now: Timestamp) -> Option<Contest> {
    let Lane { worker, taken, .. } = &state.lanes[lane];
    let (loser, _) = taken.as_deref()?;
    let contest = of_worker(state, *worker, now).filter(|contest| contest.with == *loser)?;
    Some(Contest { lane, ..contest })
}

/// Reason why a worker's lanes go to and fro.
pub(crate) fn cause(state: &State, worker: WorkerIx, contest: Contest) -> Cause {
    let name = |ix: WorkerIx| state.workers[ix].name.clone();
    let lane = state.lanes[contest.lane].name.clone();
    Cause::DeviceContested { lane, worker: name(worker), other: name(contest.with) }
}

/// The alert, unless one of the two had one lately: it goes on until somebody does something.
pub(crate) fn judge(state: &State, ix: WorkerIx, id: u128, now: Timestamp) -> Option<Event> {
    let Contest { with, lane, .. } = of_worker(state, ix, now)?;
    let is_told = |ix: WorkerIx| state.workers[ix].contest_told.is_some_and(|at| now < at + ALERT_EVERY);
    if is_told(ix) || is_told(with) {
        return None;
    }
    let (worker, other) = (state.workers[ix].name.clone(), &state.workers[with].name);
    let lane = &state.lanes[lane].name;
    let message =
        format!("{worker} and {other} both report device {lane}, and take it from each other").into();
    let kind = AlertKind::DeviceContested;
    Some(Event::AlertRaised(AlertRecord { id, kind, worker, job: None, message, at: now }))
}

/// A worker that reports a device does so more often.
const FRESH: Millis = Millis::from_secs(120);
const ALERT_EVERY: Millis = Millis::from_secs(3600);

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// N1b: two workers that report the same devices are told of each other, and one alert names both.
    #[test]
    fn two_who_report_one_device_are_told() {
        check(
            "
            0s    pull PC-01 max=0 devices=d1,d2
            10s   pull PC-02 max=0 devices=d1,d2    -> nothing => nothing
            11s   explain device d1                 => no_work
            30s   pull PC-01 max=0 devices=d1,d2    -> alert device_contested => contested=d2:PC-02
            31s   explain device d1                 => device_contested
            31s   explain node PC-01                => device_contested
            40s   pull PC-02 max=0 devices=d1,d2    -> nothing => contested=d2:PC-01
            60s   pull PC-01 max=0 devices=d1,d2    -> nothing
            61s   pull PC-02 max=0 devices=e1
            80s   pull PC-01 max=0                  => contested=d2:PC-02
            110s  pull PC-01 max=0
            140s  pull PC-01 max=0
            170s  pull PC-01 max=0
            181s  pull PC-01 max=0                  => nothing
            181s  explain node PC-01                => no_work
            ",
        );
    }

    /// N1b: a device that was plugged in elsewhere, and back again, was moved: nobody is alarmed.
    #[test]
    fn a_device_that_moves_is_no_contest() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            0s   pull PC-02 max=0 devices=e1
            5s   pull PC-01 max=0 devices=
            6s   pull PC-02 max=0 devices=e1,d1    -> nothing
            15s  pull PC-02 max=0 devices=e1       -> nothing
            16s  pull PC-01 max=0 devices=d1       -> nothing => nothing
            17s  explain device d1                 => no_work
            ",
        );
    }
}
