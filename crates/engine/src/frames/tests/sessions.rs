//! S14, S26, Q16: sessions, and what holds them, their ranges and their workers back.

use crate::frames::script::{check, check_with};
use muster_model::FrameSettings;

/// S26: the same id and body again is the same session, another body a conflict; also when it is over.
#[test]
fn a_session_is_submitted_once() {
    check(
        "
        0s submit s frames=10 per=10 -> taken s => running
        0s submit s frames=10 per=10 -> => running again
        0s submit s frames=11 per=10 -> => ! SessionConflict
        0s cancel s                  -> s cancelled => cancelled
        0s cancel s                  -> => cancelled again
        0s submit s frames=10 per=10 -> => cancelled again
        0s submit s frames=11 per=10 -> => ! SessionConflict
        0s pause s                   => ! SessionEnded { session: s, status: Cancelled }
        0s pause t                   => ! SessionUnknown
    ",
    );
}

/// S26: paused: what is held may be completed, nothing more is given out.
#[test]
fn a_paused_session_gives_nothing_out() {
    check(
        "
        0s register W1
        0s submit s frames=20 per=10
        0s ask W1
        0s pause s      -> s paused => paused
        0s pause s      -> => paused again
        1s complete s.0 W1 #1 chunk=1 0..10 => accepted
        1s ask W1       => nothing
        1s assign s.10 W1 => ! Paused
        1s restart
        1s beat W1
        1s ask W1       => nothing
        1s resume s     -> s running
        1s ask W1       => s.10 [10, 20) #1 chunk=2
    ",
    );
}

/// S26: cancel: what is held ends at once, the worker is told to stop, completions are refused.
#[test]
fn a_cancelled_session_ends_at_once() {
    check(
        "
        0s register W1
        0s submit s frames=20 per=10
        0s ask W1
        1s cancel s     -> ended s.0 session_ended; retired 1; apart chunk-1; s cancelled
        1s beat W1      => Registered ok stop s.0
        1s complete s.0 W1 #1 chunk=1 0..10 => ! SessionEnded { session: s, status: Cancelled }
        1s ask W1       => nothing
    ",
    );
}

/// S26: strict refuses a completion with dropped frames, whether the fragment or an earlier progress told of them, and
/// puts the range back as a new attempt.
#[test]
fn strict_takes_no_dropped_frames() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10 strict
        0s ask W1
        0s complete s.0 W1 #1 chunk=1 0..10 dropped=2 dry   -> => ! FramesDropped { dropped: 2 }
        0s complete s.0 W1 #1 chunk=1 0..10 dropped=2       -> ended s.0 frames_dropped; retired 1; apart chunk-1 => ! FramesDropped { dropped: 2 }
        0s ask W1                                           => s.0 [0, 10) #2 chunk=2 replay
        0s progress W1 s frames=5 dropped=1
        0s complete s.0 W1 #2 chunk=2 0..10                 -> ended s.0 frames_dropped; retired 2; apart chunk-2; split s.0 5 => ! FramesDropped { dropped: 1 }
        0s ask W1                                           => s.0 [0, 5) #3 chunk=3 replay
        0s complete s.0 W1 #3 chunk=3 0..5                  => accepted
    ",
    );
}

/// S26: relaxed takes them.
#[test]
fn relaxed_takes_dropped_frames() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        0s progress W1 s frames=5 dropped=1
        0s complete s.0 W1 #1 chunk=1 0..10 -> completed s.0 => accepted
    ",
    );
}

/// S14: every frame of a finished session was handed in exactly once; the oldest session is served first, ranges that
/// came back before others.
#[test]
fn frames_are_one_sequence() {
    check(
        "
        0s register W1
        0s register W2
        0s submit s frames=25 per=10
        0s submit t frames=10 per=10
        0s ask W1   => s.0 [0, 10) #1 chunk=1
        0s ask W2   => s.10 [10, 20) #1 chunk=2
        1s complete s.10 W2 #1 chunk=2 10..20
        1s fail s.0 W1
        1s ask W2   => s.0 [0, 10) #2 chunk=3 replay
        1s complete s.0 W2 #2 chunk=3 0..10
        1s ask W1   => s.20 [20, 25) #1 chunk=4
        1s ask W2   => t.0 [0, 10) #1 chunk=5
        2s complete s.20 W1 #1 chunk=4 20..25 ~> merge s
        2s merged s -> s completed
        2s view session s => closed
    ",
    );
}

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
