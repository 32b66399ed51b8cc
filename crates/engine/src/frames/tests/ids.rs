//! S12, S13, S1: ids that never repeat.

use crate::frames::script::{check, check_with};
use muster_model::FrameSettings;

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
