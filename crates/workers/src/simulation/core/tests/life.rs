//! How a worker registers, beats, is given up and comes back.

use super::*;

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
