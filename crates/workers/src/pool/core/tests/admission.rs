//! How a worker gets in, and keeps its token.

use super::*;

/// P1, P3, P6: it gets in, looks itself up, registers where it is unknown, asks what it has started, and then for work.
#[test]
fn a_worker_gets_in_registers_and_asks() {
    check(
        "
        0s   start             -> login
        1s   admitted          -> list
        1s   listed nothing    -> register
        1s   registered        -> registered 7; beat 7; resume
        1s   resumed nothing   -> poll
        1s   polled nothing    -> nothing
        2s   wait              -> poll
        22s  polled nothing    -> beat 7; beat 7; poll
        ",
    );
}

/// P1: a token is renewed well before it ends; calls wait meanwhile, because the old one ends with that.
#[test]
fn a_token_is_renewed_in_time() {
    check(
        "
        0s    start
        0s    admitted lasts=90   -> list
        0s    listed W=K          -> resume
        0s    resumed nothing     -> poll
        30s   wait                -> resume
        30s   resumed nothing     -> nothing
        59s   polled nothing      -> poll
        60s   wait                -> renew
        61s   polled nothing      -> nothing
        62s   admitted lasts=90   -> resume
        62s   resumed nothing     -> poll
        122s  wait                -> resume; renew
        ",
    );
}

/// P2: 401 has the token renewed, and where that fails a new one got; the call is made again with the same bytes. An
/// answer to the old token says nothing about the new one.
#[test]
fn a_token_that_is_over_is_replaced() {
    check(
        "
        0s   start
        0s   up                 -> list; resume; poll
        1s   polled 64          -> begin 64
        1s   ended 64 well      -> store 64; poll
        1s   stored 64          -> submit 64
        2s   submitted 64 401   -> renew
        2s   admitted 401       -> login
        2s   admitted           -> submit 64
        2s   polled 401         -> poll
        3s   submitted 64       -> ack 64; taken 64
        ",
    );
}

/// P1, I9: a renewal that is not answered, or put off, silences nobody: the token is used as long as it is good. Where the
/// exchange was done and only its answer lost, the next call is told so, and a new token is got.
#[test]
fn a_renewal_that_fails_silences_nobody() {
    check(
        "
        0s    start
        0s    admitted lasts=90     -> list
        0s    listed W=K            -> resume
        0s    resumed nothing       -> poll
        1s    polled 64             -> begin 64
        59s   wait                  -> resume
        60s   wait                  -> renew
        60s   resumed 64            -> nothing
        61s   admitted silent=15    -> nothing
        61s   ended 64 well         -> store 64; poll
        61s   stored 64             -> submit 64
        61s   submitted 64          -> ack 64; taken 64
        76s   wait                  -> renew
        77s   admitted silent       -> nothing
        78s   polled 128            -> begin 128
        79s   ended 128 well        -> store 128; poll
        79s   stored 128            -> submit 128
        79s   submitted 128 401     -> renew
        80s   admitted 401          -> login
        80s   admitted              -> submit 128
        ",
    );
}

/// P1: whoever is not let in at a login stops; so does whoever has only a token, and that one is over.
#[test]
fn whoever_is_not_let_in_stops() {
    check("0s start\n 0s admitted 401 -> nothing\n 0s over -> not admitted 401");
    check("0s start\n 0s admitted 403 -> nothing\n 0s over -> not admitted 403");
    check(
        "
        0s   start token   -> list
        0s   listed 401    -> nothing
        0s   over          -> not admitted 401
        ",
    );
}

/// P1: tokens that open nothing are not renewed without end.
#[test]
fn tokens_in_vain_are_renewed_ever_more_slowly() {
    check(
        "
        0s    start
        0s    admitted       -> list
        0s    listed 401     -> renew
        0s    admitted       -> list
        0s    listed 401     -> nothing
        0.5s  wait           -> renew
        0.5s  admitted       -> list
        0.5s  listed 401     -> nothing
        1.5s  wait           -> renew
        ",
    );
}

/// P1, I9: too many attempts, or nobody there: it waits as long as it is asked to.
#[test]
fn a_login_is_tried_again() {
    check(
        "
        0s    start
        0s    admitted silent=7   -> away
        6.9s  wait                -> nothing
        7s    wait                -> login
        7s    admitted silent     -> nothing
        8s    wait                -> login
        8s    admitted            -> back; list
        ",
    );
}

/// P3: the answer to a registration may be lost; a name that is taken and not one's own is somebody else's.
#[test]
fn a_lost_registration_is_found_again() {
    check(
        "
        0s    start
        0s    admitted
        0s    listed nothing     -> register
        0s    registered silent  -> away
        0.5s  wait               -> list
        0.5s  listed W=K         -> back; resume
        ",
    );
    check(
        "
        0s    start
        0s    admitted
        0s    listed nothing     -> register
        0s    registered 409 Worker name already exists  -> list
        0s    listed nothing     -> nothing
        0s    over               -> name taken
        ",
    );
}

/// P3, P4: a page of somebody on the way is no end: the worker looks again. The server's own words are one.
#[test]
fn a_strangers_refusal_is_no_end() {
    for refusal in ["404 page not found", "403 Forbidden", "409 try another", "400 Bad Request"] {
        check(&format!(
            "
            0s    start
            0s    admitted
            0s    listed {refusal}      -> refused {0}
            0.5s  wait                  -> list
            0.5s  listed nothing        -> register
            0.5s  registered {refusal}  -> refused {0}
            1s    wait                  -> list
            1s    listed W=none         -> give-key 7 K
            1s    key-given {refusal}   -> refused {0}
            1.5s  wait                  -> list
            1.5s  listed W=K            -> resume
            ",
            &refusal[..3]
        ));
    }
    for refusal in ["403 Insufficient role", "422 specs_json: wrong"] {
        check(&format!(
            "
            0s  start
            0s  admitted
            0s  listed nothing        -> register
            0s  registered {refusal}  -> nothing
            0s  over                  -> refused {refusal}
            "
        ));
    }
}
