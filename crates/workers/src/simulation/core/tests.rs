//! The worker's rules, played as little scripts: when, what happens, and what the worker does about it.
//!
//! `-> nothing` says that it does nothing; a line without an arrow does not care. Heartbeats and progress are answered
//! well by themselves unless the network is `cut`, and are left out of what is compared unless a line names them. Tasks
//! are written `t1#2@7`: attempt 2 at t1, with chunk 7.

mod script;

use super::super::example;
use super::*;
use script::check;

// Registration, heartbeats, and how a worker is given up and returns.

/// S1: nothing is done before the worker is registered; then it lives and asks for work.
#[test]
fn a_worker_registers_then_lives_and_asks() {
    check(
        "
        0s   start             -> register
        3s   wait              -> nothing
        3s   registered        -> registered 1; beat idle; pull
        4s   wait              -> beat idle rtt=0
        ",
    );
}

/// S1, S9: without an answer it tries again after 1, 2, 4 and then every 5 s; one in quarantine waits for an operator.
#[test]
fn a_worker_keeps_trying_to_register() {
    check(
        "
        0s   start                -> register
        0s   registered silent    -> not registered
        1s   wait                 -> register
        1s   registered silent
        3s   wait                 -> register
        3s   registered silent
        7s   wait                 -> register
        7s   registered silent
        12s  wait                 -> register
        12s  registered silent
        17s  wait                 -> register
        17s  registered 403       -> not registered
        26s  wait                 -> nothing
        27s  wait                 -> register
        27s  registered           -> registered 1; pull
        ",
    );
}

/// S1: what whoever started it must mend ends it, at the first registration only.
#[test]
fn a_wrong_secret_is_a_mistake_at_the_start_only() {
    for status in ["401", "422", "404"] {
        check(&format!("0s start\n 0s registered {status} -> nothing\n 0s over -> refused {status}"));
    }
    check(
        "
        0s   start
        0s   registered
        60s  heard orders=reregister  -> lost Ordered; register
        60s  registered 401           -> not registered
        60s  over                     -> no
        70s  wait                     -> register
        ",
    );
}

/// S2: a heartbeat every interval, with how long the previous one took.
#[test]
fn heartbeats_tell_how_it_is() {
    check(
        "
        0s    start
        0s    cut
        0s    registered every=500
        0.2s  heard              -> nothing
        0.5s  wait               -> beat idle rtt=200
        0.6s  heard              -> nothing
        0.6s  pulled t1#1@5      -> begin t1#1@5
        0.6s  told t1
        0.7s  seen t1 frames=3 queue=0.5
        1s    wait               -> beat rendering last=2 queue=0.5 rtt=100
        ",
    );
}

/// S8: five failed tries at 1 s, then all it holds is stopped and it registers anew; nothing of the earlier life counts.
#[test]
fn a_worker_that_finds_nobody_fences_itself() {
    check(
        "
        0s    start slots=2
        0s    registered
        1s    pulled t1#1@5      -> begin t1#1@5; pull
        1.5s  cut
        6s    wait               -> nothing
        7s    wait               -> kill t1; lost Unreachable; register
        7s    pulled t9#1@9      -> nothing
        7s    registered silent  -> not registered
        8s    wait               -> register
        8s    registered epoch=2 -> registered 2; pull
        8s    pulled t2#1@6 epoch=2  -> begin t2#1@6
        9s    ended t1           -> pull
        ",
    );
}

/// S8: tries that fail at once count like those that nobody answers.
#[test]
fn refused_connections_are_failed_tries() {
    check(
        "
        0s    start
        0s    registered
        0.5s  cut
        1s    wait         -> beat idle rtt=0
        1s    beat-silent  -> nothing
        2s    beat-silent
        3s    beat-silent
        4s    beat-silent  -> nothing
        5s    wait         -> beat idle rtt=0
        5s    beat-silent  -> lost Unreachable; register
        ",
    );
}

/// S8: one answer, even a late one, and nothing is stopped.
#[test]
fn a_late_answer_is_an_answer() {
    check(
        "
        0s    start
        0s    registered
        0s    pulled t1#1@5
        0.5s  cut
        5.9s  wait
        5.9s  heard        -> nothing
        6.5s  wait         -> nothing
        6.5s  mend
        30s   wait         -> nothing
        ",
    );
}

/// S8: a worker that was asleep for longer than that (SIGSTOP) stops what it held before it looks at anything else,
/// even at an answer that came meanwhile.
#[test]
fn a_worker_that_slept_knows_that_it_was_given_up() {
    check(
        "
        0s    start slots=2
        0s    registered
        1s    pulled t1#1@5
        2s    sleep
        60s   pulled t2#1@6   -> kill t1; lost Stalled; register
        60s   ended t1 well   -> nothing
        60s   registered      -> registered 1; pull
        ",
    );
    check(
        "
        0s    start push
        0s    registered
        2s    sleep
        60s   offered t2#1@6  -> away; lost Stalled; register
        ",
    );
    check(
        "
        0s    start
        0s    registered
        1s    pulled t1#1@5
        2s    sleep
        60s   ended t1 well   -> kill t1; lost Stalled; register
        ",
    );
}

/// S8: a Lost worker is told to register anew, and does so at once.
#[test]
fn a_lost_worker_registers_anew() {
    for told in ["orders=reregister", "state=Lost"] {
        check(&format!(
            "
            0s    start
            0s    registered
            1s    pulled t1#1@5  -> begin t1#1@5
            40s   heard {told}   -> kill t1; lost Ordered; register
            40s   registered     -> registered 1
            40s   ended t1 well  -> pull
            "
        ));
    }
}

/// S1: a token that is no longer known means that somebody else registered under this name. Two that do so do not take
/// it from each other all the time.
#[test]
fn two_workers_of_one_name_do_not_fight_without_pause() {
    check(
        "
        0s    start
        0s    registered
        40s   beat 401     -> lost Unknown; register
        40s   registered   -> registered 1; pull
        41s   beat 401     -> lost Unknown
        42s   wait         -> register
        42s   registered
        43s   beat 401     -> lost Unknown
        44s   wait         -> nothing
        45s   wait         -> register
        45s   registered
        90s   beat 401     -> lost Unknown; register
        ",
    );
}

/// S6: a worker that an operator removed stops its task, calls no more, and ends; it is no zombie. It learns of its
/// removal from its heartbeat, from the answer to any other call, or from the master's own call.
#[test]
fn a_removed_worker_stops() {
    for told in ["beat 410", "heard state=zombie", "dismissed", "told t1 410", "pulled 410"] {
        check(&format!(
            "
            0s    start slots=2
            0s    registered
            0.5s  cut
            1s    pulled t1#1@5   -> begin t1#1@5; pull
            1.5s  {told}
            1.5s  over            -> no
            1.5s  ended t1 well   -> nothing
            1.5s  over            -> refused 410
            4s    wait            -> nothing
            4s    wait            -> nothing
            "
        ));
    }
    for result in ["ended t1 well", "ended t1 failed out of memory"] {
        check(&format!(
            "
            0s    start
            0s    registered
            1s    pulled t1#1@5
            2s    {result}
            2s    sent t1 410     -> nothing
            2s    over            -> refused 410
            "
        ));
    }
}

/// S6: an answer to a call of an earlier registration ends nothing.
#[test]
fn a_late_410_of_an_earlier_registration_ends_nothing() {
    check(
        "
        0s    start slots=2
        0s    registered
        0s    cut
        1s    pulled t1#1@5
        40s   heard orders=reregister
        40s   registered
        40s   told t1 410     -> nothing
        40s   over            -> no
        ",
    );
}

/// S9: in quarantine everything is stopped and nothing is asked for, until an operator approves.
#[test]
fn a_quarantined_worker_waits() {
    check(
        "
        0s    start slots=2
        0s    registered
        1s    pulled t1#1@5
        2s    heard state=Quarantined  -> kill t1; state Quarantined
        2s    ended t1
        2s    pulled t2#1@6            -> nothing
        9s    wait                     -> nothing
        10s   heard state=Registered   -> state Registered; pull
        ",
    );
}

// Reports about a task until the master has taken its result, and leaving.

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

// Pulling, holding and superseding tasks, across terms and masters.

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

/// S2, S19: an order to stop concerns attempts that were held when its request was sent. The response to a rebind may come
/// after the same task was given to this worker once more.
#[test]
fn an_order_to_stop_spares_a_newer_attempt() {
    check(
        "
        0s    start push
        0s    registered
        1s    offered t1#1@5             -> taken; begin t1#1@5
        2s    heard epoch=2              -> rebind 2 holding t1#1@5
        2s    heard epoch=2 orders=stop:t1  -> stopping t1; kill t1
        2s    ended t1                   -> nothing
        2s    offered t1#2@6 epoch=2     -> taken; begin t1#2@6
        3s    rebound orders=stop:t1     -> nothing
        4s    heard epoch=2 orders=stop:t1  -> stopping t1; kill t1
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
