//! S23b, S26b: what cannot be rendered costs no more than itself, and is never hidden.

use crate::frames::script::{check, check_with};
use muster_model::FrameSettings;

fn patient() -> FrameSettings {
    FrameSettings { misses_until_lost: 1_000_000, ..FrameSettings::default() }
}

/// S26b: a range that failed twice is halved until the bad frame is alone; after five failures it is given up, while the
/// rest goes on. The one worker there is stays well. A strict session ends failed and names just that frame.
#[test]
fn one_bad_frame_costs_one_frame() {
    check_with(
        patient(),
        "
        0s  register W1
        0s  submit s frames=12 per=8 strict
        0s  ask W1             => s.0 [0, 8) #1 chunk=1
        0s  progress W1 s.0 frames=2
        0s  fail s.0 W1        -> ended s.0 failed; retired 1; apart chunk-1; blamed W1
        1s  ask W1             => s.0 [0, 8) #2 chunk=2 replay
        1s  progress W1 s.0 frames=2
        1s  fail s.0 W1        -> ended s.0 failed; retired 2; apart chunk-2; split s.0 4; blamed W1
        2s  ask W1             => s.8 [8, 12) #1 chunk=3
        2s  complete s.8 W1 #1 chunk=3 8..12
        // The half that is not suspected goes first.
        3s  ask W1             => s.4 [4, 8) #3 chunk=4 replay
        3s  complete s.4 W1 #3 chunk=4 4..8
        4s  ask W1             => s.0 [0, 4) #3 chunk=5 replay
        4s  fail s.0 W1        -> confirmed s.0; ended s.0 failed; retired 5; apart chunk-5
        5s  ask W1             => s.0 [0, 4) #4 chunk=6 replay
        5s  progress W1 s.0 frames=2
        5s  fail s.0 W1        -> ended s.0 failed; retired 6; apart chunk-6; split s.0 2
        6s  ask W1             => s.0 [0, 2) #5 chunk=7 replay
        6s  complete s.0 W1 #5 chunk=7 0..2
        7s  ask W1             => s.2 [2, 4) #5 chunk=8 replay
        7s  fail s.2 W1
        8s  ask W1             => s.2 [2, 4) #6 chunk=9 replay
        8s  fail s.2 W1        -> confirmed s.2; ended s.2 failed; retired 9; apart chunk-9; split s.2 3
        9s  ask W1             => s.3 [3, 4) #7 chunk=10 replay
        9s  complete s.3 W1 #7 chunk=10 3..4
        10s ask W1             => s.2 [2, 3) #7 chunk=11 replay
        10s fail s.2 W1
        11s ask W1
        11s fail s.2 W1
        12s ask W1
        12s fail s.2 W1
        13s restart
        13s beat W1 rtt=9
        13s ask W1
        13s fail s.2 W1        -> confirmed s.2; ended s.2 failed; retired 14; apart chunk-14
        14s ask W1             => s.2 [2, 3) #11 chunk=15 replay
        14s fail s.2 W1        -> confirmed s.2; ended s.2 failed; retired 15; apart chunk-15; given up s.2 ~> move chunk-15; merge s
        14s view session s     => done=11 uncut= failed=[2, 3)
        14s view worker W1     => Registered failures=0
        15s merged s           -> s failed (1 frame missing, [2, 3): boom)
    ",
    );
}

/// S26b: the only worker, whose program tells no progress, is not put into quarantine before both halves were tried. One that
/// fails both is.
#[test]
fn both_halves_are_tried_before_a_worker_is_blamed() {
    check_with(
        patient(),
        "
        0s  register W1
        0s  submit s frames=8 per=8
        0s  ask W1             => s.0 [0, 8) #1 chunk=1
        0s  fail s.0 W1        -> confirmed s.0; ended s.0 failed; retired 1; apart chunk-1; blamed W1
        1s  ask W1
        1s  fail s.0 W1        -> confirmed s.0; ended s.0 failed; retired 2; apart chunk-2; split s.0 4; blamed W1
        2s  ask W1             => s.4 [4, 8) #3 chunk=3 replay
        2s  fail s.4 W1        -> confirmed s.4; ended s.4 failed; retired 3; apart chunk-3
        3s  ask W1             => s.0 [0, 4) #3 chunk=4 replay
        3s  complete s.0 W1 #3 chunk=4 0..4
        4s  ask W1             => s.4 [4, 8) #4 chunk=5 replay
        4s  fail s.4 W1        -> confirmed s.4; ended s.4 failed; retired 5; apart chunk-5; split s.4 6
        4s  view worker W1     => Registered failures=0
    ",
    );
    check_with(
        patient(),
        "
        0s  register W1
        0s  submit s frames=8 per=8
        0s  ask W1
        0s  fail s.0 W1
        1s  ask W1
        1s  fail s.0 W1
        2s  ask W1             => s.4 [4, 8) #3 chunk=3 replay
        2s  fail s.4 W1
        3s  ask W1             => s.0 [0, 4) #3 chunk=4 replay
        3s  fail s.0 W1        -> confirmed s.0; ended s.0 failed; retired 4; apart chunk-4
        4s  ask W1
        4s  fail s.4 W1        -> confirmed s.4; ended s.4 failed; retired 5; apart chunk-5; split s.4 6; blamed W1; W1 Registered>Quarantined
    ",
    );
}

/// S26b: a range that failed goes to another worker if there is one; else to the same again, after a while.
#[test]
fn a_failed_range_goes_to_another_worker() {
    check_with(
        patient(),
        "
        0s  register W1
        0s  register W2
        0s  submit s frames=10 per=10
        0s  ask W1             => s.0 [0, 10) #1 chunk=1
        0s  fail s.0 W1
        1s  ask W1             => nothing
        1s  explain range s.0  => range_awaiting_another_worker
        1s  wait W1
        1s  view woken         => 
        9s  tick
        9s  view woken         => 
        10s tick
        10s view woken         => W1
        10s ask W1             => s.0 [0, 10) #2 chunk=2 replay
        10s fail s.0 W1
        11s ask W2             => s.5 [5, 10) #3 chunk=3 replay
        11s quarantine W2
        11s view woken         => W1
        12s ask W1             => s.0 [0, 5) #3 chunk=4 replay
    ",
    );
}

/// S23b, S26b: a manifest that was overtaken by a retry does not end the session, however late it is told of.
#[test]
fn an_old_manifest_ends_nothing() {
    check_with(
        FrameSettings { max_attempts: 1, split_after: 1, quarantine_after: 99, ..patient() },
        "
        0s  register W1
        0s  submit s frames=1 per=1
        0s  ask W1             => s.0 [0, 1) #1 chunk=1
        0s  fail s.0 W1        ~> move chunk-1; merge s
        1s  retry s
        1s  ask W1             => s.0 [0, 1) #2 chunk=2 replay
        1s  complete s.0 W1 #2 chunk=2 0..1 ~> merge s
        2s  merged s mark=2    -> 
        2s  view session s     => done=1 uncut=
        3s  merged s mark=3    -> s completed
    ",
    );
}

/// S26b: a relaxed session without some frames is completed, with an alert that names them.
#[test]
fn a_relaxed_session_names_what_it_lacks() {
    check_with(
        FrameSettings { max_attempts: 1, split_after: 1, quarantine_after: 99, ..patient() },
        "
        0s  register W1
        0s  submit s frames=4 per=2
        0s  ask W1
        0s  fail s.0 W1        -> confirmed s.0; ended s.0 failed; retired 1; apart chunk-1; split s.0 1; blamed W1
        0s  ask W1             => s.2 [2, 4) #1 chunk=2
        0s  complete s.2 W1 #1 chunk=2 2..4
        0s  ask W1             => s.1 [1, 2) #2 chunk=3 replay
        0s  fail s.1 W1        -> confirmed s.1; ended s.1 failed; retired 3; apart chunk-3; given up s.1
        0s  ask W1             => s.0 [0, 1) #2 chunk=4 replay
        0s  fail s.0 W1        ~> move chunk-4; merge s
        1s  view session s     => done=2 uncut= failed=[0, 2)
        1s  restart            ~> move chunk-1; move chunk-3; move chunk-4; write s; merge s
        2s  merged s           -> alert frames_skipped; s completed (2 frames missing, [0, 2): boom)
    ",
    );
}

/// S26b: a retry reopens what failed, all or the frames that are named, while the session runs and when it has ended.
#[test]
fn failed_frames_are_retried() {
    check_with(
        FrameSettings { max_attempts: 1, split_after: 1, quarantine_after: 99, ..patient() },
        "
        0s  register W1
        0s  submit s frames=3 per=1 strict
        0s  ask W1
        0s  fail s.0 W1        -> confirmed s.0; ended s.0 failed; retired 1; apart chunk-1; given up s.0; blamed W1
        0s  retry s 1..3       => ! NothingFailed
        0s  retry s            -> retried s.0 => running
        0s  ask W1             => s.0 [0, 1) #2 chunk=2 replay
        0s  fail s.0 W1
        0s  ask W1             => s.1 [1, 2) #1 chunk=3
        0s  fail s.1 W1
        0s  ask W1             => s.2 [2, 3) #1 chunk=4
        0s  complete s.2 W1 #1 chunk=4 2..3 ~> merge s
        1s  merged s           -> s failed (2 frames missing, [0, 2): boom)
        2s  retry s 0..1       -> s reopened; retried s.0 ~> write s => running
        2s  view session s     => done=1 uncut= s.0:pending failed=[1, 2)
        2s  retry s 0..1       => ! NothingFailed
        3s  restart
        3s  beat W1 rtt=9
        3s  ask W1             => s.0 [0, 1) #3 chunk=5 replay
        3s  complete s.0 W1 #3 chunk=5 0..1 ~> merge s
        4s  retry s            -> retried s.1
        4s  merged s           -> 
        5s  ask W1             => s.1 [1, 2) #2 chunk=6 replay
        5s  complete s.1 W1 #2 chunk=6 1..2
        6s  merged s           -> s completed
        7s  retry s            => ! NothingFailed
        7s  submit t frames=1 per=1
        7s  cancel t
        7s  retry t            => ! SessionEnded { session: t, status: Cancelled }
        7s  retry u            => ! SessionUnknown
    ",
    );
}

/// S26b: a retry of some frames of a session that failed before the upgrade keeps count of the others, also after a restart.
#[test]
fn a_session_of_the_last_version_is_retried() {
    check_with(
        FrameSettings { max_attempts: 1, split_after: 1, quarantine_after: 99, ..patient() },
        "
        0s  register W1
        0s  submit s frames=2 per=1 strict
        0s  ask W1
        0s  fail s.0 W1
        0s  ask W1
        0s  fail s.1 W1
        1s  merged s           -> s failed (2 frames missing, [0, 2): boom)
        1s  version-4
        2s  retry s 0..1       -> s reopened; retried s.0 ~> write s => running
        3s  restart
        3s  view session s     => done=0 uncut= s.0:pending failed=[1, 2)
        3s  beat W1 rtt=9
        3s  ask W1             => s.0 [0, 1) #2 chunk=3 replay
        3s  complete s.0 W1 #2 chunk=3 0..1 ~> merge s
        4s  merged s           -> s failed (1 frame missing, [1, 2): boom)
    ",
    );
}

/// S26b: a session whose ranges are being pruned cannot be retried: its frames would be miscounted.
#[test]
fn a_pruned_session_is_not_retried() {
    check_with(
        FrameSettings { max_attempts: 1, split_after: 1, quarantine_after: 99, ..patient() },
        "
        0s  register W1
        0s  submit s frames=2 per=1 strict
        0s  ask W1
        0s  fail s.0 W1
        0s  ask W1
        0s  fail s.1 W1
        1s  merged s           -> s failed (2 frames missing, [0, 2): boom)
        1s  pruned s.0
        2s  retry s            -> => ! SessionChanged
    ",
    );
}

/// S23b: a range that the manifest would skip is rendered again as long as it has attempts; after that a strict session
/// has failed, and a relaxed one is completed with an alert.
#[test]
fn a_skip_is_never_hidden() {
    for (mode, end) in [("strict", "s failed"), ("", "alert frames_skipped; s completed")] {
        let script = "
            0s  register W1
            0s  submit s frames=20 per=10 MODE
            0s  ask W1
            0s  complete s.0 W1 #1 chunk=1 0..10
            0s  ask W1
            1s  complete s.10 W1 #1 chunk=2 10..20  ~> merge s
            2s  merged s skip=10:2  -> retired 2; apart chunk-2; reopened s.10
            2s  ask W1              => s.10 [10, 20) #2 chunk=3 replay
            3s  complete s.10 W1 #2 chunk=3 10..20  ~> merge s
            3s  merged s skip=10:2  -> s completed
        ";
        // The chunk that is said to be skipped is not the one that counts now: what the merge saw is past.
        check_with(FrameSettings { max_attempts: 2, ..patient() }, &script.replace("MODE", mode));
        let script = "
            0s  register W1
            0s  submit s frames=20 per=10 MODE
            0s  ask W1
            0s  complete s.0 W1 #1 chunk=1 0..10
            0s  ask W1
            1s  complete s.10 W1 #1 chunk=2 10..20  ~> merge s
            2s  merged s skip=10:2  -> retired 2; apart chunk-2; reopened s.10
            2s  ask W1              => s.10 [10, 20) #2 chunk=3 replay
            3s  restart
            3s  beat W1 rtt=9
            3s  ask W1              => s.10 [10, 20) #3 chunk=4 replay
            4s  complete s.10 W1 #3 chunk=4 10..20  ~> merge s
            4s  merged s skip=10:4  -> skipped s.10; END (10 frames missing, [10, 20): time goes backwards)
            // S5: it was accepted, and stays so.
            4s  complete s.10 W1 #3 chunk=4 10..20  -> => again
            5s  retry s             -> s reopened; retired 4; apart chunk-4; retried s.10
            5s  view session s      => done=10 uncut= s.10:pending
        ";
        let script = script.replace("MODE", mode).replace("END", end);
        check_with(FrameSettings { max_attempts: 2, ..patient() }, &script);
    }
}

/// S8: a worker that registered gets work with its first good heartbeat, not before; S3: nor by push or by hand.
#[test]
fn nobody_works_unheard() {
    check(
        "
        0s register W1 unheard
        0s register W2 endpoint unheard
        0s submit s frames=20 per=10   ~> write s
        0s ask W1                      => nothing
        0s explain worker W1           => sim_worker_unheard
        0s explain session s           => sim_workers_unheard
        0s assign s.0 W1               => ! Unfit { state: Registered, live: 0, slots: 1 }
        0s wait W1
        0s view woken                  => 
        1s beat W2                     ~> push s.0 W2
        1s beat W1
        1s view woken                  => W1
        1s ask W1                      => s.10 [10, 20) #1 chunk=2
    ",
    );
}

/// S8b: without a round trip of its own, a heartbeat is judged by its lateness; slow heartbeats alone ask for caution, and
/// shorten ranges.
#[test]
fn a_late_heartbeat_is_a_slow_one() {
    check_with(
        FrameSettings { misses_until_lost: 99, ..FrameSettings::default() },
        "
        0s     register W1
        1s     beat W1
        2s     beat W1             -> W1 Registered>Healthy => Healthy ok
        3500ms beat W1             => Healthy ok
        5001ms beat W1             -> W1 Healthy>Degraded => Degraded caution
        5001ms submit s frames=1000 per=100
        5001ms ask W1              => s.0 [0, 45) #1 chunk=1
        6s     beat W1             => Degraded ok
        9s     beat W1 rtt=20      => Degraded ok
        9s     beat W1 rtt=501     => Degraded caution
    ",
    );
}
