//! Q16: what holds sessions, ranges and their workers back, one after the other.

use crate::frames::script::{check, check_with};
use muster_model::FrameSettings;

/// Q16: from nobody there to the end of a session.
#[test]
fn a_session_is_explained_from_its_beginning_to_its_end() {
    check(
        "
        0s explain session s     => unknown
        0s explain worker W1     => unknown
        0s submit s frames=20 per=10
        0s explain session s     => no_sim_workers
        0s explain range s.10    => no_sim_workers
        0s explain range s.99    => unknown
        0s register W1
        0s explain session s     => awaiting_sim_worker
        0s explain range s.0     => awaiting_sim_worker
        0s explain worker W1     => sim_worker_idle
        0s pause s
        0s explain session s     => session_paused
        0s explain range s.0     => session_paused
        0s explain worker W1     => no_frames
        0s resume s
        0s pause-all
        0s explain session s     => farm_paused
        0s explain range s.0     => farm_paused
        0s explain worker W1     => farm_paused
        0s resume-all
        0s ask W1                => s.0 [0, 10) #1 chunk=1
        0s explain range s.0     => range_unconfirmed
        0s progress W1 s.0 frames=1
        0s explain range s.0     => range_running
        0s explain range s.10    => sim_workers_busy
        0s explain session s     => session_running
        0s explain worker W1     => sim_worker_running
        1s complete s.0 W1 #1 chunk=1 0..10
        1s explain range s.0     => unknown
        1s ask W1
        1s slow
        2s complete s.10 W1 #1 chunk=2 10..20
        2s explain range s.10    => range_ended
        2s explain session s     => session_merging
        2s explain worker W1     => no_frames
        3s merged s
        3s explain session s     => session_ended
    ",
    );
}

/// Q16: an older session with frames to give out comes first; whoever has none left does not hold up the next.
#[test]
fn older_sessions_come_first() {
    check(
        "
        0s register W1
        0s submit a frames=10 per=10
        0s submit b frames=10 per=10
        0s explain session b     => session_queued_behind
        0s explain range b.0     => session_queued_behind
        0s explain session a     => awaiting_sim_worker
        0s ask W1                => a.0 [0, 10) #1 chunk=1
        0s explain session b     => sim_workers_busy
    ",
    );
}

/// Q16: workers that may not work are named for what they are, alone and together.
#[test]
fn workers_that_may_not_work_are_named() {
    check(
        "
        0s  register W1
        0s  register W2
        0s  submit s frames=20 per=10
        0s  ask W1
        0s  progress W1 s.0 frames=1
        2s  beat W2
        3s  tick
        3s  explain worker W1     => sim_worker_lost
        3s  explain range s.0     => range_awaiting_replay
        3s  quarantine W2
        3s  explain worker W2     => sim_worker_quarantined
        3s  explain session s     => no_capable_worker
        4s  approve W2
        8s  tick
        8s  explain session s     => sim_workers_lost
        9s  register W3
        9s  quarantine W3
        9s  remove W1
        9s  remove W2
        9s  explain worker W1     => sim_worker_removed
        9s  explain session s     => sim_workers_quarantined
        9s  explain range s.0     => sim_workers_quarantined
        9s  remove W3
        9s  explain session s     => no_sim_workers
    ",
    );
}

/// Q16: so are workers that are unwell: Degraded, with a full queue, or out of reach.
#[test]
fn workers_that_are_unwell_are_named() {
    check_with(
        FrameSettings { misses_until_lost: 1_000_000, ..FrameSettings::default() },
        "
        0s  register W1
        0s  submit s frames=20 per=10
        1s  beat W1 error
        1s  explain worker W1     => sim_worker_degraded
        1s  explain session s     => awaiting_sim_worker
        2s  beat W1 q=1.0
        2s  explain worker W1     => sim_worker_queue_full
        2s  explain session s     => sim_workers_degraded
        3s  remove W1
        3s  register W2 endpoint
        3s  pushed s.0 #1
        4s  tick
        4s  pushed s.0 #1
        6s  tick
        6s  pushed s.0 #1
        10s tick
        10s pushed s.0 #1
        10s explain worker W2     => sim_worker_unreachable
        10s explain session s     => sim_workers_unreachable
    ",
    );
}
