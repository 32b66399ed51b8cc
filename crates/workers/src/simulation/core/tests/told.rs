//! What is told of a task, until it is taken; and how a worker leaves.

use super::*;

/// S4: progress at once, so that the master knows that its task arrived, then every second, and no more after the end.
#[test]
fn progress_is_told_every_second() {
    check(
        "
        0s    start
        0s    registered
        0.5s  pulled t1#1@5     -> begin t1#1@5; progress t1 0 max=0
        1.4s  seen t1 frames=7
        1.5s  wait              -> progress t1 7 max=0
        2s    ended t1 well     -> beat rendering last=6 rtt=0; complete t1
        4.5s  wait              -> beat rendering last=6 rtt=0; beat rendering last=6 rtt=0
        ",
    );
}

/// S4: a progress that is refused says that the task is not this worker's any more.
#[test]
fn a_refused_progress_stops_the_task() {
    check(
        "
        0s    start
        0s    registered
        0s    cut
        0s    pulled t1#1@5
        0s    told t1 silent   -> nothing
        1s    mend
        1s    told t1 409      -> stopping t1; kill t1
        1s    ended t1         -> pull
        ",
    );
}

/// S5: a result is told until there is an answer, with the same bytes; then it is told no more.
#[test]
fn a_result_is_told_until_it_is_taken() {
    check(
        "
        0s    start
        0s    registered
        1s    pulled t1#1@5
        2s    ended t1 well     -> complete t1
        3s    sent t1 silent    -> nothing
        4s    wait              -> complete t1
        4s    sent t1 silent    -> nothing
        6s    wait              -> complete t1
        6s    sent t1 silent    -> nothing
        10s   wait              -> complete t1
        10s   sent t1           -> taken t1; pull
        20s   wait              -> nothing
        ",
    );
}

/// S5: a definite no ends the matter; one that finds fault with the result gives the task back, so that the master does
/// not count it as held for ever.
#[test]
fn a_refused_result_is_given_up() {
    for status in ["403", "404", "409"] {
        check(&format!(
            "
            0s    start
            0s    registered
            1s    pulled t1#1@5
            2s    ended t1 well     -> complete t1
            2s    sent t1 {status}  -> given up t1 {status}; pull
            "
        ));
    }
    for status in ["400", "413", "422"] {
        check(&format!(
            "
            0s    start
            0s    registered
            1s    pulled t1#1@5
            2s    ended t1 well     -> complete t1
            2s    sent t1 {status}  -> given up t1 {status}; fail t1#1 the completion was refused: {status} no
            3s    sent t1 {status}  -> given up t1 {status}; pull
            "
        ));
    }
}

/// S5b: a failure is told just as stubbornly.
#[test]
fn a_failure_is_told_until_it_is_taken() {
    check(
        "
        0s    start
        0s    registered
        1s    pulled t1#3@5
        2s    ended t1 failed out of memory  -> fail t1#3 out of memory
        2s    sent t1 silent    -> nothing
        3s    wait              -> fail t1#3 out of memory
        3s    sent t1           -> taken t1; pull
        ",
    );
}

/// S26b: the master hears how far a task was before it hears that the task failed: the frame after those that were done
/// is the one that it suspects.
#[test]
fn the_last_progress_precedes_a_failure() {
    check(
        "
        0s    start
        0s    registered
        1s    pulled t1#1@5                -> begin t1#1@5; progress t1 0 max=0
        1.2s  seen t1 frames=7
        1.3s  ended t1 failed no such bone -> progress t1 7 max=0; fail t1#1 no such bone
        1.3s  sent t1                      -> taken t1; pull
        ",
    );
    // A progress on its way is waited for; one without an answer is told again, but not for ever.
    check(
        "
        0s    start
        0s    registered
        0.5s  cut
        1s    pulled t1#1@5                -> begin t1#1@5; progress t1 0 max=0
        1.2s  seen t1 frames=7
        1.3s  ended t1 failed no such bone -> nothing
        1.4s  told t1                      -> progress t1 7 max=0
        1.5s  told t1 silent               -> nothing
        2.5s  wait                         -> progress t1 7 max=0
        2.6s  told t1                      -> fail t1#1 no such bone
        ",
    );
    check(
        "
        0s    start
        0s    registered
        1s    pulled t1#1@5
        1.1s  cut
        1.2s  seen t1 frames=7
        1.3s  ended t1 failed no such bone -> progress t1 7 max=0
        1.3s  told t1 silent               -> nothing
        2.3s  mend
        2.3s  cut
        2.3s  told t1 silent               -> nothing
        4.3s  mend
        4.3s  cut
        4.3s  told t1 silent               -> nothing
        8.3s  mend                         -> fail t1#1 no such bone
        ",
    );
    // A result does not wait.
    check(
        "
        0s    start
        0s    registered
        0.5s  cut
        1s    pulled t1#1@5
        1.2s  seen t1 frames=10
        1.3s  ended t1 well                -> complete t1
        ",
    );
}

/// S27: a task that must not be done here is given back with the reason, or refused where it is pushed.
#[test]
fn a_task_that_leads_out_is_not_taken() {
    let why = "outputDirectory \"/out/../etc\" is not absolute, or leads through `..`";
    check(&format!(
        "
        0s    start
        0s    registered
        2s    pulled t1#1@5 in=/out/../etc  -> not taken t1 {why}; fail t1#1 {why}; pull
        2s    sent t1             -> nothing
        2s    pulled wrong t2     -> not taken t2 nonsense; fail t2#1 nonsense
        3s    wait                -> pull
        "
    ));
    let why = "outputDirectory \"/elsewhere/5\" is outside of this worker's --output-root";
    check(&format!(
        "
        0s    start push root=/out
        0s    registered
        1s    offered t1#1@5 in=/elsewhere/5  -> wrong {why}
        1s    offered t1#1@5 in=/out/5        -> taken; begin t1#1@5
        "
    ));
}

/// S3: a task that was done here before is not done again, and the master is told where it still waits for it.
#[test]
fn a_done_task_is_given_back() {
    check(
        "
        0s    start
        0s    registered
        1s    pulled t1#1@5
        2s    ended t1 well     -> complete t1
        2s    sent t1 404       -> given up t1 404; pull
        3s    pulled t1#1@5     -> not taken t1 it was done or given up here before; fail t1#1 it was done or given up here before; pull
        ",
    );
}

/// S6: asked to leave, it ends what runs, hands in what is ready, and takes its leave.
#[test]
fn a_worker_takes_its_leave() {
    check(
        "
        0s    start slots=2
        0s    registered
        1s    pulled t1#1@5
        1s    pulled t2#1@6
        2s    ended t2 well     -> complete t2
        2s    sent t2 silent
        2s    leave             -> kill t1
        2s    offered t3#1@7    -> away
        2.5s  ended t1          -> nothing
        3s    wait              -> beat leaving rtt=0; complete t2
        3s    sent t2           -> taken t2; unregister
        4s    wait              -> nothing
        4s    over              -> no
        4s    unregistered      -> nothing
        4s    over              -> left
        ",
    );
}

/// S6: nobody waits for ever for what cannot be ended or told.
#[test]
fn a_farewell_ends() {
    check(
        "
        0s    start
        0s    registered
        1s    pulled t1#1@5
        2s    leave               -> kill t1
        6.9s  wait                -> nothing
        7s    wait                -> unregister
        7s    unregistered silent -> nothing
        8s    wait                -> unregister
        8s    unregistered silent
        9s    wait                -> unregister
        9s    unregistered silent -> nothing
        9s    over                -> left
        ",
    );
    check(
        "0s start\n 0s leave -> nothing\n 3s registered -> registered 1; unregister\n 3s unregistered 404\n 3s over -> left",
    );
    check("0s start\n 0s registered silent\n 0.5s leave -> nothing\n 0.5s over -> left");
}
