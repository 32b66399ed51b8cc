//! How tasks are asked for, held and overtaken, across terms and masters.

use super::*;

/// S3: one task at a time unless there are more slots; the next is asked for when the master has the result.
#[test]
fn a_worker_holds_as_many_as_it_has_slots() {
    check(
        "
        0s    start slots=2
        0s    registered
        1s    pulled t1#1@5   -> begin t1#1@5; pull
        2s    pulled t2#1@6   -> begin t2#1@6
        3s    ended t1 well   -> complete t1
        4s    sent t1         -> taken t1; pull
        ",
    );
}

/// S3: a pull that brings nothing is repeated, but never more than once a second; without an answer later and later.
#[test]
fn pulls_are_repeated_with_measure() {
    check(
        "
        0s    start
        0s    registered       -> registered 1; pull
        20s   pulled nothing   -> pull
        20s   pulled nothing   -> nothing
        21s   wait             -> pull
        21s   pulled silent    -> nothing
        22s   wait             -> pull
        22s   pulled silent    -> nothing
        24s   wait             -> pull
        24s   pulled 401       -> lost Unknown
        25s   wait             -> register
        ",
    );
}

/// S3: the same task again is the same task, pulled or pushed, running or ended; only a second one finds no room.
#[test]
fn the_same_task_again_changes_nothing() {
    check(
        "
        0s    start push
        0s    registered        -> registered 1
        1s    offered t1#1@5    -> taken; begin t1#1@5
        1s    offered t1#1@5    -> taken
        1s    offered t2#1@6    -> full
        2s    ended t1 well     -> complete t1
        2s    offered t1#1@5    -> taken
        3s    sent t1           -> taken t1
        3s    offered t1#1@5    -> taken
        4s    offered t2#1@6    -> taken; begin t2#1@6
        ",
    );
    check(
        "
        0s    start slots=2
        0s    registered
        1s    pulled t1#1@5     -> begin t1#1@5; pull
        2s    pulled t1#1@5     -> pull
        ",
    );
}

/// S3: a newer attempt at a task that is held means that the older one is over.
#[test]
fn a_newer_attempt_ends_the_older_one() {
    check(
        "
        0s    start push
        0s    registered
        1s    offered t1#1@5    -> taken; begin t1#1@5
        2s    offered t1#2@6    -> full; stopping t1; kill t1
        2s    ended t1          -> nothing
        3s    offered t1#2@6    -> taken; begin t1#2@6
        ",
    );
}

/// S18: a task of an older term is refused, whoever brings it; so is the word of a master that was replaced.
#[test]
fn nothing_of_an_older_term_is_taken() {
    check(
        "
        0s    start push
        0s    registered epoch=3  -> registered 3
        1s    offered t1#1@5 epoch=2   -> stale 3
        2s    heard epoch=4            -> rebind 4 holding nothing
        2s    rebound
        2s    offered t1#1@5 epoch=3   -> stale 4
        3s    offered t1#1@5 epoch=6   -> taken; begin t1#1@5
        3s    offered t2#1@5 epoch=5   -> stale 6
        4s    heard epoch=6            -> rebind 6 holding t1#1@5
        ",
    );
    check(
        "
        0s    start
        0s    registered epoch=3
        1s    pulled t1#1@5 epoch=2    -> stale master 2; pull
        2s    heard epoch=2 orders=reregister  -> stale master 2
        50s   heard orders=reregister  -> lost Ordered; register
        50s   registered epoch=1       -> stale master 1
        59s   wait                     -> nothing
        60s   wait                     -> register
        60s   registered epoch=4       -> registered 4; pull
        ",
    );
}

/// S19: a new term, or the order to, makes a worker tell what it holds, until somebody listens; no work is asked for
/// meanwhile.
#[test]
fn a_worker_rebinds_to_a_new_master() {
    check(
        "
        0s    start slots=2
        0s    registered
        1s    pulled t1#1@5 frames=0-9
        1s    seen t1 frames=4
        2s    heard epoch=2              -> rebind 2 holding t1#1@5 last=3
        2s    rebound silent             -> nothing
        2.5s  pulled nothing             -> nothing
        3s    wait                       -> rebind 2 holding t1#1@5 last=3
        3s    rebound orders=stop:t1     -> stopping t1; kill t1; pull
        4s    heard epoch=2              -> nothing
        5s    heard epoch=2 orders=rebind -> rebind 2 holding nothing last=3
        5s    rebound 404                -> lost Unknown
        ",
    );
}

/// S18, S19: any answer may tell of a new term: what is held is told at once, nothing older is taken, and an older term
/// changes nothing.
#[test]
fn any_answer_tells_of_a_new_term() {
    check(
        "
        0s    start push
        0s    term 2                     -> nothing
        0s    registered epoch=2         -> registered 2
        1s    offered t1#1@5 epoch=2     -> taken; begin t1#1@5
        1.5s  term 2                     -> nothing
        1.5s  term 4                     -> rebind 4 holding t1#1@5
        1.5s  term 3                     -> nothing
        1.6s  offered t2#1@6 epoch=3     -> stale 4
        1.7s  heard epoch=3              -> stale master 3
        1.8s  rebound                    -> nothing
        1.9s  term 4                     -> nothing
        ",
    );
    check(
        "
        0s    start
        0s    registered
        0s    cut
        1s    sleep
        60s   term 2                     -> lost Stalled; register
        60s   registered epoch=1         -> stale master 1
        ",
    );
}

/// S2: `pause` stops rendering and asking, `resume` undoes that; a registration forgets it.
#[test]
fn pause_and_resume_are_obeyed() {
    check(
        "
        0s    start slots=2
        0s    registered
        0s    pulled nothing
        1s    wait               -> pull
        2s    heard orders=pause -> pace 0
        2s    pulled nothing     -> nothing
        9s    wait               -> nothing
        9s    heard orders=resume  -> pace 1; pull
        10s   heard orders=pause -> pace 0
        50s   heard orders=reregister  -> lost Ordered; register
        50s   registered         -> registered 1; pace 1; pull
        ",
    );
}

/// S2: the word for `resume` may be lost; a master that repeated `pause` and no longer does has said as much.
#[test]
fn a_lost_resume_is_made_up_for() {
    check(
        "
        0s    start
        0s    registered
        0s    cut
        0.1s  heard orders=pause  -> pace 0
        1s    heard               -> nothing
        2s    heard orders=resume -> pace 1
        3s    heard orders=pause  -> pace 0
        4s    heard orders=pause  -> nothing
        5s    beat-silent         -> nothing
        6s    heard               -> pace 1
        ",
    );
}

/// S2, S26: `{stop: taskId}` ends that task and no other, and nothing more is told of it.
#[test]
fn a_stopped_task_is_not_reported() {
    check(
        "
        0s    start slots=3
        0s    registered
        1s    pulled t1#1@5
        1s    pulled t2#1@6
        2s    heard orders=stop:t1,stop:t9  -> stopping t1; kill t1
        2s    heard orders=stop:t1  -> nothing
        3s    ended t1 well      -> nothing
        4s    ended t2 well      -> complete t2
        4s    heard orders=stop:t2  -> stopping t2
        9s    sent t2 silent     -> nothing
        ",
    );
}

/// S10: the frame rate follows the master; at 0 a worker lives on, and goes on showing how full its queue is.
#[test]
fn backpressure_sets_the_pace() {
    check(
        "
        0s    start
        0s    registered
        1s    pulled t1#1@5
        2s    heard factor=0.9   -> pace 0.9
        3s    heard factor=0.9   -> nothing
        4s    seen t1 frames=1 queue=1.2
        4.5s  heard factor=0     -> pace 0
        5s    wait               -> beat paused last=0 queue=1.2 rtt=0; progress t1 1 max=1.2
        5s    seen t1 frames=1 queue=0.1
        6s    wait               -> beat paused last=0 queue=0.1 rtt=0; progress t1 1 max=1.2
        7s    wait               -> beat paused last=0 queue=0.1 rtt=0; progress t1 1 max=0.1
        8s    heard factor=1     -> pace 1
        8s    ended t1 well
        8s    heard factor=0     -> pace 0
        9s    sent t1            -> taken t1; pull
        ",
    );
}
