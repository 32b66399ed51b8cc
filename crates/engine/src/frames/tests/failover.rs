//! S8, S15, S16, S19: workers are lost, terms begin.

use crate::frames::script::{check, check_with};
use muster_model::{FrameSettings, Rebind};

/// S15, S16: the same range, whole, goes to another worker with a new chunk, in the same tick if one is free.
#[test]
fn a_lost_range_goes_to_another_in_the_same_tick() {
    check(
        "
        0s register W1 endpoint
        0s submit s frames=10 per=10
        0s pushed s.0 #1 ack
        2s register W2 endpoint
        2s progress W1 s frames=7
        3s tick -> W1 Registered>Lost; ended s.0 worker_lost; retired 1; apart chunk-1; apart worker-W1.s; blamed W1; granted s.0 [0, 10) W2 #2 chunk=2 ~> move chunk-1; move worker-W1.s; write s; push s.0 W2
        3s view session s => done=0 uncut= s.0:assigned
    ",
    );
}

/// S8, S26b: from the third different worker on, the losses and failures of a range count against the range and its halves,
/// not against the worker.
#[test]
fn one_poison_range_cannot_quarantine_a_fleet() {
    check_with(
        FrameSettings { misses_until_lost: 1_000_000, quarantine_after: 2, ..FrameSettings::default() },
        "
        0s submit s frames=10 per=10
        0s register W1
        0s register W2
        0s register W3
        0s register W4
        0s ask W1
        0s fail s.0 W1 -> confirmed s.0; ended s.0 failed; retired 1; apart chunk-1; blamed W1
        1s ask W2
        1s fail s.0 W2 -> confirmed s.0; ended s.0 failed; retired 2; apart chunk-2; split s.0 5; blamed W2
        2s ask W3      => s.5 [5, 10) #3 chunk=3 replay
        2s fail s.5 W3 -> confirmed s.5; ended s.5 failed; retired 3; apart chunk-3
        3s ask W4      => s.0 [0, 5) #3 chunk=4 replay
        3s fail s.0 W4 -> confirmed s.0; ended s.0 failed; retired 4; apart chunk-4
    ",
    );
}

/// S19, reassign: what was running is lost and given out anew; the worker is told to stop it.
#[test]
fn a_new_term_gives_out_anew() {
    check(
        "
        0s register W1
        0s submit s frames=20 per=10
        0s ask W1
        0s progress W1 s frames=3
        1s restart      -> ended s.0 new_term; retired 1; apart chunk-1 ~> write s; move chunk-1
        1s view session s => done=0 uncut=[10, 20) s.0:lost
        1s beat W1      => Registered ok rebind stop s.0
        1s rebind W1 s.0 #1 chunk=1 => Registered ok stop s.0
        1s ask W1       => s.0 [0, 10) #2 chunk=2 replay
    ",
    );
}

/// S19, resume: a worker that comes back within 5 s with the same task, attempt and chunk keeps it; what was never
/// confirmed is leased anew at once; who does not come back has lost it.
#[test]
fn a_worker_that_comes_back_keeps_its_task() {
    check_with(
        FrameSettings { rebind: Rebind::Resume, misses_until_lost: 1000, ..FrameSettings::default() },
        "
        0s register W1
        0s register W2
        0s register W3
        0s submit s frames=30 per=10
        0s ask W1
        0s ask W2
        0s ask W3
        0s progress W1 s frames=3
        0s progress W2 s frames=3
        1s restart      -> ended s.20 new_term; retired 3; apart chunk-3
        2s beat W1      => Registered ok rebind
        2s rebind W1 s.0 #1 chunk=1  => Registered ok
        2s rebind W2 s.10 #1 chunk=7 => Registered ok stop s.10
        6s tick         -> ended s.10 new_term; retired 2; apart chunk-2
        7s complete s.0 W1 #1 chunk=1 0..10 => accepted
    ",
    );
}

/// S15: what has to be moved is derived again after a restart, until it is done; a person can look at it then.
#[test]
fn moves_are_restartable() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        3s tick             ~> move chunk-1; move worker-W1.s
        4s restart          ~> move chunk-1; move worker-W1.s; write s
        4s confirm chunk-1  => ! EntryMoving
        4s moved chunk-1    -> moved chunk-1
        4s moved chunk-1    -> 
        5s restart          ~> move worker-W1.s; write s
        5s confirm chunk-1  -> confirmed chunk-1
    ",
    );
}

/// S21: a session whose frames are all done is completed once its manifest is written, also across a restart.
#[test]
fn a_merge_is_restartable() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        1s complete s.0 W1 #1 chunk=1 0..10 ~> merge s
        1s view session s   => done=10 uncut=
        2s restart          ~> write s; merge s
        3s merged s         -> s completed
        4s restart          ~> 
        4s merged s         -> 
    ",
    );
}

/// S15: whoever read an entry before its files were moved cannot have looked at them; that they were is not forgotten.
#[test]
fn what_was_read_before_the_move_is_not_confirmed() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        1s retire 1                 ~> move chunk-1
        1s moved chunk-1            -> moved chunk-1
        1s confirm chunk-1 unmoved  -> => ! EntryMoving
        2s restart                  ~> write s
        2s confirm chunk-1          -> confirmed chunk-1
    ",
    );
}

/// S19, S26: dropped frames that were told before a new term are not forgotten with the old one.
#[test]
fn drops_outlive_the_term() {
    check_with(
        FrameSettings { rebind: Rebind::Resume, ..FrameSettings::default() },
        "
        0s register W1
        0s submit s frames=10 per=10 strict
        0s ask W1
        0s progress W1 s frames=2
        0s progress W1 s frames=5 dropped=1
        1s restart
        1s rebind W1 s.0 #1 chunk=1         => Registered ok
        1s complete s.0 W1 #1 chunk=1 0..10 => ! FramesDropped { dropped: 1 }
    ",
    );
}

/// S8, S26b: a range that ends its worker's process is a loss, however quickly that one is back; so many losses halve it,
/// and a single frame is given up.
#[test]
fn a_range_that_kills_its_worker_is_halved() {
    check_with(
        FrameSettings { max_attempts: 3, ..FrameSettings::default() },
        "
        0s register W1
        0s submit s frames=2 per=2
        0s ask W1
        1s register W1  -> ended s.0 replaced; retired 1; apart chunk-1; registered W1
        1s ask W1
        2s register W1
        2s ask W1
        3s register W1  -> ended s.0 replaced; retired 3; apart chunk-3; split s.0 1; registered W1
        3s ask W1       => s.1 [1, 2) #4 chunk=4 replay
        3s complete s.1 W1 #4 chunk=4 1..2
        4s ask W1       => s.0 [0, 1) #4 chunk=5 replay
        5s register W1
        5s ask W1
        6s register W1
        6s ask W1
        7s register W1  -> ended s.0 replaced; retired 7; apart chunk-7; given up s.0; registered W1 ~> move chunk-7; merge s
    ",
    );
}

/// S6: who leaves on request takes nothing with it: that does not count against a range.
#[test]
fn leaving_is_no_failure() {
    check_with(
        FrameSettings { max_attempts: 2, ..FrameSettings::default() },
        "
        0s submit s frames=10 per=10
        0s register W1
        0s ask W1
        0s remove W1 itself
        0s register W1
        0s ask W1
        0s remove W1
        0s register W1
        0s ask W1
        0s quarantine W1
        0s view session s => done=0 uncut= s.0:pending
    ",
    );
}

/// S6: between PauseAll and ResumeAll nothing is told that was not before, neither by answer nor by push.
#[test]
fn a_pause_holds_back_what_was_not_told() {
    check(
        "
        0s register W1
        0s submit s frames=30 per=10
        0s assign s.10 W1
        0s pause-all
        0s ask W1           => nothing
        0s resume-all
        0s ask W1           => s.10 [10, 20) #1 chunk=1
        0s pause-all
        0s ask W1           => s.10 [10, 20) #1 chunk=1
        0s register W2 endpoint
        0s resume-all       ~> push s.0 W2
        0s pushed s.0 #1
        0s pause-all
        1s tick             ~> 
        1s resume-all       ~> 
        2s beat W2
        2s tick             ~> push s.0 W2
    ",
    );
}
