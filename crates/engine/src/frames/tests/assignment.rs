//! S1, S3, S5, S5b, S6, S12, S13, S17: how ranges are given out and come back, with ids that never repeat.

use crate::frames::script::{check, check_with};
use muster_model::FrameSettings;

/// S3: a worker whose slots are full and asks gets its oldest unconfirmed task again: same attempt, same chunk.
#[test]
fn a_lost_answer_is_given_again() {
    check(
        "
        0s register W1
        0s submit s frames=20 per=10
        0s ask W1                => s.0 [0, 10) #1 chunk=1
        0s ask W1                -> => s.0 [0, 10) #1 chunk=1
        0s progress W1 s frames=1 -> confirmed s.0
        0s ask W1                => nothing
    ",
    );
}

/// S3: a worker holds one task at a time unless it says more.
#[test]
fn slots_bound_what_a_worker_holds() {
    check(
        "
        0s register W1 slots=2
        0s submit s frames=30 per=10
        0s ask W1                => s.0 [0, 10) #1 chunk=1
        0s ask W1                => s.10 [10, 20) #1 chunk=2
        0s ask W1                => s.0 [0, 10) #1 chunk=1
        0s progress W1 s.0 frames=1
        0s ask W1                => s.10 [10, 20) #1 chunk=2
        0s progress W1 s frames=1 => ! HoldsNone
        0s progress W1 s.20 frames=1 => ! NotHolder { holder: None }
    ",
    );
}

/// S3: push: the first try at once, then 1, 2, 4 s after a failed one, all with the same chunk; then the attempt ends,
/// its chunk is retired, and another worker gets the range.
#[test]
fn a_push_is_tried_four_times() {
    check(
        "
        0s register W1 endpoint
        0s submit s frames=10 per=10    -> taken s; granted s.0 [0, 10) W1 #1 chunk=1 ~> write s; push s.0 W1
        0s pushed s.0 #1
        999ms tick                      ~> 
        1s tick                         ~> push s.0 W1
        1s beat W1
        1s pushed s.0 #1
        3s tick                         ~> push s.0 W1
        3s beat W1
        3s pushed s.0 #1
        5s beat W1
        7s tick                         ~> push s.0 W1
        7s beat W1
        8s register W2 endpoint
        8s pushed s.0 #1                -> ended s.0 unreachable; retired 1; apart chunk-1; granted s.0 [0, 10) W2 #2 chunk=2
        8s pushed s.0 #2 ack            -> confirmed s.0
        8s pushed s.0 #2                -> 
    ",
    );
}

/// S3: where nobody else is there, the unreachable worker is tried again after a rest.
#[test]
fn an_unreachable_worker_rests() {
    check_with(
        FrameSettings { misses_until_lost: 1_000_000, ..FrameSettings::default() },
        "
        0s register W1 endpoint
        0s submit s frames=10 per=10
        0s pushed s.0 #1
        1s tick
        1s pushed s.0 #1
        3s tick
        3s pushed s.0 #1
        7s tick
        7s pushed s.0 #1    -> ended s.0 unreachable; retired 1; apart chunk-1
        21s tick            -> 
        22s tick            -> granted s.0 [0, 10) W1 #2 chunk=2
    ",
    );
}

/// S5: repeating an accepted completion is 200 for ever, another body 409; also after the session is closed.
#[test]
fn an_accepted_completion_stays_accepted() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        1s complete s.0 W1 #1 chunk=1 0..10 dry     -> => accepted
        1s complete s.0 W1 #1 chunk=1 0..10         -> confirmed s.0; completed s.0 ~> merge s => accepted
        2s complete s.0 W1 #1 chunk=1 0..10         -> => again
        2s complete s.0 W1 chunk=1 0..10            -> => again
        2s complete s.0 W1 #1 chunk=1 0..10 body=x  -> => ! CompletionConflict
        3s merged s                                 -> s completed
        9s complete s.0 W1 #1 chunk=1 0..10         -> => again
        9s complete s.0 W1 #1 chunk=1 0..10 body=x  -> => ! CompletionConflict
    ",
    );
}

/// S5: from a worker that no longer holds the task: 409, its files are set apart, nothing counts.
#[test]
fn a_late_completion_counts_for_nothing() {
    check(
        "
        0s register W1
        0s register W2
        0s submit s frames=10 per=10
        0s ask W1
        2s beat W2
        3s tick
        3s ask W2                               => s.0 [0, 10) #2 chunk=2 replay
        4s complete s.0 W1 #1 chunk=1 0..10     -> apart chunk-1 => ! NotHolder { holder: Some(\"W2\") }
        4s complete s.0 W1 chunk=1 0..10        -> apart chunk-1 => ! NotHolder { holder: Some(\"W2\") }
        4s complete s.0 chunk=1 0..10           -> apart chunk-1 => ! NotHolder { holder: Some(\"W2\") }
        4s complete s.0 W1 #2 chunk=2 0..10     -> => ! NotHolder { holder: Some(\"W2\") }
        4s complete s.0 W2 #2 chunk=2 0..10     => accepted
        5s complete s.0 W1 #1 chunk=1 0..10     -> apart chunk-1 => ! NotHolder { holder: None }
    ",
    );
}

/// S5: whoever hands in what another has handed in moves none of its files.
#[test]
fn what_was_accepted_is_not_set_apart() {
    check(
        "
        0s register W1
        0s register W2
        0s submit s frames=20 per=10
        0s ask W1
        1s complete s.0 W1 #1 chunk=1 0..10 => accepted
        2s complete s.0 W2 #1 chunk=1 0..10 -> => ! NotHolder { holder: None }
        2s complete s.0 W2 chunk=1 0..10    -> => ! NotHolder { holder: None }
        2s complete s.0 W1 #2 chunk=1 0..10 -> => ! NotHolder { holder: None }
    ",
    );
}

/// S5, S17: a fragment whose range or chunk is not the assignment's is refused and nothing counts; a foreign chunk
/// raises chunkIntegrity.
#[test]
fn a_foreign_fragment_is_refused() {
    check(
        "
        0s register W1
        0s register W2
        0s submit s frames=20 per=10
        0s ask W1
        0s ask W2
        1s complete s.0 W1 #1 chunk=1 0..9   -> => ! RangeForeign { expected: FrameRange { start: 0, end: 10 } }
        1s complete s.0 W1 #1 chunk=2 0..10  -> alert chunkIntegrity => ! ChunkForeign { expected: 1 }
        1s complete s.0 W1 chunk=2 0..10     -> alert chunkIntegrity => ! ChunkForeign { expected: 1 }
        1s complete s.0 W1 chunk=99 0..10 dry -> => ! ChunkForeign { expected: 1 }
        1s complete s.5 W1 chunk=1 5..10     => ! TaskUnknown
        1s complete x.0 W1 chunk=1 0..10     => ! SessionUnknown
        1s view session s                    => done=0 uncut= s.0:assigned s.10:assigned
    ",
    );
}

/// S5b: a failed task goes back.
#[test]
fn a_failed_range_waits_again() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        1s fail s.0 W2      => ! NotHolder { holder: Some(\"W1\") }
        1s fail s.0 W1 #2   => ! NotHolder { holder: Some(\"W1\") }
        1s fail s.0 W1 #1   -> confirmed s.0; ended s.0 failed; retired 1; apart chunk-1; blamed W1
        1s view session s   => done=0 uncut= s.0:pending
        1s fail s.0 W1 #1   => ! NotHolder { holder: None }
        1s fail s.7 W1      => ! TaskUnknown
    ",
    );
}

/// S6: an operator places a waiting task by hand, before the order of the queue; one that is cut, or a full range of
/// what is not.
#[test]
fn a_task_is_placed_by_hand() {
    check(
        "
        0s register W1
        0s register W2 endpoint
        0s pause-all
        0s submit s frames=100 per=10
        0s assign s.50 W1   => ! Paused
        0s resume-all       -> resumed; granted s.0 [0, 10) W2 #1 chunk=1
        0s assign s.55 W1   => ! TaskUnknown
        0s assign s.0 W1    => ! TaskNotWaiting { status: Assigned }
        0s assign s.50 W1   -> granted s.50 [50, 60) W1 #1 chunk=2 => done
        0s assign s.60 W1   => ! Unfit { state: Registered, live: 1, slots: 1 }
        0s view session s   => done=0 uncut=[10, 50) [60, 100) s.0:assigned s.50:assigned
        0s ask W1           => s.50 [50, 60) #1 chunk=2
    ",
    );
}

/// S17: retiring a chunk has its range done anew, also when it was completed and its session is open.
#[test]
fn a_retired_chunk_is_done_anew() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        1s retire 1             -> ended s.0 retired; retired 1; apart chunk-1
        1s retire 1             -> => done
        1s beat W1              => Registered ok stop s.0
        1s ask W1               => s.0 [0, 10) #2 chunk=2 replay
        2s complete s.0 W1 #2 chunk=2 0..10 ~> merge s
        2s retire 2 s.0         -> retired 2; apart chunk-2; reopened s.0
        2s merged s             -> 
        2s ask W1               => s.0 [0, 10) #3 chunk=3 replay
        2s complete s.0 W1 #3 chunk=3 0..10 ~> merge s
        3s merged s             -> s completed
        3s retire 3 s.0         => ! SessionEnded { session: s, status: Completed }
        3s retire 9             => ! ChunkUnknown
    ",
    );
}

/// S13, S17: with further ids of a completed range all of it is done anew; ids left over from an attempt that was done
/// anew before are retired and disturb nobody.
#[test]
fn further_ids_are_retired_with_their_attempt() {
    check(
        "
        0s register W1
        0s submit s frames=20 per=10
        0s ask W1               => s.0 [0, 10) #1 chunk=1
        0s ids W1               => chunk=2 [1000000, 2000000)
        0s ids W1               => chunk=3 [2000000, 3000000)
        1s complete s.0 W1 #1 chunk=1 0..10
        2s retire 2 s.0         -> retired 2; apart chunk-2; retired 1; apart chunk-1; reopened s.0
        2s ask W1               => s.0 [0, 10) #2 chunk=4 replay
        2s retire 3 s.0         -> retired 3; apart chunk-3 => done
        2s complete s.0 W1 #2 chunk=4 0..10 => accepted
        2s retire 2 s.0         -> => done
    ",
    );
}

/// S17: ids of one range that are retired together have it done anew once.
#[test]
fn a_range_is_reopened_once() {
    check(
        "
        0s register W1
        0s submit s frames=20 per=10
        0s ask W1               => s.0 [0, 10) #1 chunk=1
        0s ids W1               => chunk=2 [1000000, 2000000)
        1s complete s.0 W1 #1 chunk=1 0..10
        2s retire 1 s.0         -> retired 1; apart chunk-1; reopened s.0
        2s & retire 2 s.0       -> retired 2; apart chunk-2 => done
        2s & complete s.0 W1 #1 chunk=1 0..10 => ! NotHolder { holder: None }
        2s view session s       => done=0 uncut=[10, 20) s.0:pending
    ",
    );
}

/// S5, S17: a range that was done anew before the store knew of its first result: what is known of it is the second.
#[test]
fn the_last_result_is_remembered() {
    check(
        "
        0s register W1
        0s submit s frames=20 per=10
        0s ask W1                           => s.0 [0, 10) #1 chunk=1
        1s slow
        1s complete s.0 W1 #1 chunk=1 0..10 => accepted
        1s retire 1 s.0                     -> retired 1; apart chunk-1; reopened s.0
        1s ask W1                           => s.0 [0, 10) #2 chunk=2 replay
        1s complete s.0 W1 #2 chunk=2 0..10 => accepted
        1s heard
        1s complete s.0 W1 #2 chunk=2 0..10 -> => again
        1s retire 1 s.0                     -> => done
    ",
    );
}

/// Adaptive ranges: the slow get less, and towards the end everybody does, so that nobody is waited for long.
#[test]
fn ranges_follow_speed_and_the_end() {
    check_with(
        FrameSettings { misses_until_lost: 1_000_000, ..FrameSettings::default() },
        "
        0s register W1
        0s register W2
        0s submit s frames=1000 per=100
        0s ask W1       => s.0 [0, 100) #1 chunk=1
        0s ask W2       => s.100 [100, 200) #1 chunk=2
        10s complete s.0 W1 #1 chunk=1 0..100
        40s complete s.100 W2 #1 chunk=2 100..200
        // 10 and 2.5 frames a second; the mean is 6.25.
        40s ask W2      => s.200 [200, 240) #1 chunk=3
        40s ask W1      => s.240 [240, 340) #1 chunk=4
        50s complete s.240 W1 #1 chunk=4 240..340
        50s ask W1      => s.340 [340, 440) #1 chunk=5
        60s complete s.340 W1 #1 chunk=5 340..440
        60s ask W1      => s.440 [440, 540) #1 chunk=6
        70s complete s.440 W1 #1 chunk=6 440..540
        70s ask W1      => s.540 [540, 640) #1 chunk=7
        80s complete s.540 W1 #1 chunk=7 540..640
        80s ask W1      => s.640 [640, 740) #1 chunk=8
        90s complete s.640 W1 #1 chunk=8 640..740
        90s ask W1      => s.740 [740, 840) #1 chunk=9
        100s complete s.740 W1 #1 chunk=9 740..840
        100s ask W1     => s.840 [840, 904) #1 chunk=10
    ",
    );
}

/// S12, S13: a chunk travels with each assignment; on reassignment the old one is retired, whole, and never comes back,
/// not even after a restart.
#[test]
fn no_id_is_granted_twice() {
    check_with(
        FrameSettings { misses_until_lost: 1_000_000, chunk_size: 1000, ..FrameSettings::default() },
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1               => s.0 [0, 10) #1 chunk=1
        0s ids W1               => chunk=2 [1000, 2000)
        0s ids W1 count=1500    => chunk=3 [2000, 4000)
        1s fail s.0 W1          -> ended s.0 failed; retired 1; apart chunk-1; retired 2; apart chunk-2; retired 3; apart chunk-3; blamed W1
        2s restart
        2s beat W1
        2s ask W1               => s.0 [0, 10) #2 chunk=4 replay
        2s ids W1               => chunk=5 [5000, 6000)
        3s restart              -> ended s.0 new_term; retired 4; apart chunk-4; retired 5; apart chunk-5
        3s beat W1
        3s ask W1               => s.0 [0, 10) #3 chunk=6 replay
    ",
    );
}

/// S13: when there are no more ids the answer is a clear no.
#[test]
fn ids_end() {
    check_with(
        FrameSettings { chunk_size: 1 << 62, ..FrameSettings::default() },
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1   => s.0 [0, 10) #1 chunk=1
        0s ids W1   => chunk=2 [4611686018427387904, 9223372036854775807)
        0s ids W1   => ! IdsExhausted
    ",
    );
}

/// S1: more ids are for the task the worker holds, and only for that.
#[test]
fn ids_are_for_a_held_task() {
    check(
        "
        0s register W1
        0s ids W1 => ! HoldsNone
        0s ids W9 => ! RendererUnknown
    ",
    );
}

/// S13: one attempt cannot have all there is.
#[test]
fn one_attempt_has_its_share() {
    let script = "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        @
        0s ids W1 => ! TooManyChunks { max: 1000 }
    ";
    check(&script.replace('@', &"0s ids W1\n".repeat(1000)));
}
