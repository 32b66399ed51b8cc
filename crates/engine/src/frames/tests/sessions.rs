//! S14, S26: sessions.

use crate::frames::script::check;

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
