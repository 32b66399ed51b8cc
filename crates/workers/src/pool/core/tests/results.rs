//! What is submitted, set aside, and signed with which key; and how a worker leaves.

use super::*;

/// P8, P16: what the server will never take is set aside, once, and is not executed again; what it may take is tried
/// again with the same bytes.
#[test]
fn each_answer_to_a_submission_has_its_meaning() {
    let after = |answer: &str, then: &str| {
        let script = format!(
            "
            0s   start spooled=64
            0s   admitted
            0s   listed W=K              -> submit 64
            0s   submitted 64 {answer}   -> {then}
            "
        );
        check(&script);
    };
    after("", "ack 64; taken 64; resume");
    after("before", "ack 64; taken before 64; resume");
    for never in [
        "409 Assignment already submitted",
        "409 Assignment is not in a submittable state",
        "404 Assignment not found",
        "400 Invalid nonce",
        "400 Output required",
        "400 Output hash mismatch",
    ] {
        after(never, &format!("aside 64 {never}; resume"));
    }
    // It may be the key that is wrong: the worker looks.
    for doubt in [
        "400 Worker public key is not configured",
        "400 Invalid public key encoding",
        "400 Invalid public key length",
        "400 Invalid signature encoding",
        "400 Invalid signature length",
        "400 Signature verification failed",
    ] {
        after(doubt, &format!("list\n 1s listed W=K -> aside 64 {doubt}; resume"));
        after(doubt, "list\n 1s listed W=X -> nothing\n 1s over -> other key X");
        after(doubt, "list\n 1s listed W=none -> give-key 7 K\n 1s key-given -> submit 64");
    }
    for later in [
        "409 Concurrent submission conflict",
        "404 page not found",
        "400 Bad Request",
        "403 Forbidden",
        "405 no such method",
        "409 try another",
        "451 not here",
    ] {
        let then = format!("refused {}\n 0.4s wait -> nothing\n 0.5s wait -> submit 64", &later[..3]);
        after(later, &then);
    }
    after("silent=3", "away\n 2s wait -> nothing\n 3s wait -> submit 64");
    after("403 Insufficient role", "nothing\n 0s over -> refused 403 Insufficient role");
    after("404 Worker not found", "nothing\n 0s over -> refused 404 Worker not found");
}

/// P8, P16: results that were refused because the server had no key are taken once it has one, also where they were on
/// their way meanwhile; a key that shall replace it comes after them.
#[test]
fn results_wait_for_the_key() {
    check(
        "
        0s    start spooled=64,128 next=N
        0s    admitted
        0s    listed W=K                                            -> submit 64; submit 128
        1s    submitted 64 400 Worker public key is not configured  -> list
        1s    listed W=none                                         -> give-key 7 K
        2s    key-given                                             -> submit 64
        2s    submitted 128 400 Worker public key is not configured -> nothing
        2.5s  wait                                                  -> submit 128
        3s    submitted 64                                          -> ack 64; taken 64
        3s    submitted 128                                         -> ack 128; taken 128; give-key 7 N
        ",
    );
}

/// P8, P16: one that was set aside is not executed again in this life, though the server still calls it started.
#[test]
fn what_was_set_aside_is_not_executed_again() {
    check(
        "
        0s   start spooled=64
        0s   admitted
        0s   listed W=K
        0s   submitted 64 404 Assignment not found    -> aside 64 404 Assignment not found; resume
        0s   resumed 64                               -> poll
        0s   counts                                   -> 0 0 0 1
        ",
    );
}

/// P16: a result that is too long, or of a wrong shape, becomes an error: otherwise the job would wait for ever.
#[test]
fn a_result_that_does_not_fit_becomes_an_error() {
    check(
        "
        0s   start
        0s   up
        0s   polled 64           -> begin 64
        0s   ended 64 well       -> store 64; poll
        0s   stored 64           -> submit 64
        0s   submitted 64 413 too long  -> aside 64 413 too long; store 64 error the result was refused with 413 too long
        0s   stored 64           -> submit 64
        0s   submitted 64        -> ack 64; taken 64 failed the result was refused with 413 too long
        ",
    );
}

/// P5, P16: a worker that the server does not know, or whose owner may not, stops; what runs is ended.
#[test]
fn a_worker_that_is_not_wanted_stops() {
    for refusal in ["404 Worker not found", "403 Insufficient role"] {
        check(&format!(
            "
            0s   start slots=2
            0s   up
            1s   polled 64           -> begin 64; poll
            2s   polled {refusal}    -> kill 64
            2s   over                -> no
            3s   ended 64 stopped    -> nothing
            3s   over                -> refused {refusal}
            "
        ));
    }
    check(
        "
        0s   start
        0s   up
        0s   cut
        10s  wait                         -> beat 7
        10s  beaten 404 Worker not found  -> nothing
        10s  over                         -> refused 404 Worker not found
        ",
    );
}

/// P16: whoever is not wanted, or has no time left, begins nothing that a late answer brings.
#[test]
fn nothing_is_begun_when_it_is_over() {
    check(
        "
        0s   start slots=2
        0s   up
        1s   polled 64                    -> begin 64; poll
        2s   cut
        10s  wait                         -> beat 7
        10s  beaten 404 Worker not found  -> kill 64
        11s  polled 128                   -> nothing
        12s  ended 64 stopped             -> nothing
        12s  over                         -> refused 404 Worker not found
        ",
    );
    check(
        "
        0s   start slots=2
        0s   up
        1s   polled 64          -> begin 64; poll
        2s   leave              -> take back; resume
        32s  wait               -> kill 64
        33s  resumed 64,128     -> nothing
        33s  ended 64 stopped   -> nothing
        33s  over               -> left
        ",
    );
}

/// P5: heartbeats go on while nothing else does, and are made up for when the server is back.
#[test]
fn heartbeats_go_on() {
    check(
        "
        0s    start
        0s    up
        1s    polled 64          -> begin 64
        1s    cut
        10s   wait               -> beat 7
        12s   beaten silent      -> away
        12.2s mend
        13s   wait               -> beat 7; back
        23s   wait               -> beat 7
        ",
    );
}

/// P16: another key at the server is a mistake; none at all is given.
#[test]
fn another_key_is_a_mistake() {
    check("0s start\n 0s admitted\n 0s listed W=X -> nothing\n 0s over -> other key X");
    check(
        "
        0s   start
        0s   admitted
        0s   listed W=none  -> give-key 7 K
        0s   key-given      -> resume
        ",
    );
}

/// P16: results of another worker stay where they are.
#[test]
fn another_workers_spool_is_a_mistake() {
    check("0s start spooled=64 of=9\n 0s admitted\n 0s listed W=K -> nothing\n 0s over -> other spool 9");
}

/// P16: a key is replaced when everything that it signed is gone, first at the server and then here.
#[test]
fn a_key_is_replaced_in_order() {
    check(
        "
        0s    start spooled=64 next=N
        0s    admitted
        0s    listed W=K            -> submit 64
        0s    submitted 64 silent   -> away
        0.5s  wait                  -> submit 64
        0.5s  submitted 64          -> back; ack 64; taken 64; give-key 7 N
        1s    key-given             -> replace-key
        1s    replaced disk full    -> key not replaced disk full
        1.5s  wait                  -> replace-key
        1.5s  replaced              -> key replaced; resume
        ",
    );
}

/// P16: wherever a replacement broke off, the server's key says how to go on.
#[test]
fn a_replacement_that_broke_off_is_finished() {
    check(
        "0s start next=N\n 0s admitted\n 0s listed W=N -> replace-key\n 0s replaced -> key replaced; resume",
    );
    check("0s start next=N\n 0s admitted\n 0s listed W=K -> give-key 7 N");
    check("0s start next=N\n 0s admitted\n 0s listed W=X -> nothing\n 0s over -> other key X");
    check(
        "
        0s    start next=N
        0s    admitted
        0s    listed W=K         -> give-key 7 N
        0s    key-given silent   -> away
        0.5s  wait               -> list
        0.5s  listed W=N         -> back; replace-key
        ",
    );
}

/// P16: asked to leave, it takes nothing more; what runs may end, and its result is handed in.
#[test]
fn leaving_finishes_what_runs() {
    check(
        "
        0s   start slots=2
        0s   up
        1s   polled 64          -> begin 64; poll
        2s   leave              -> take back; resume
        2s   resumed 64,128     -> begin 128; resumed 1
        3s   ended 64 well      -> store 64
        3s   stored 64          -> submit 64
        4s   ended 128 well     -> store 128
        4s   stored 128         -> submit 128
        4s   submitted 64       -> ack 64; taken 64
        4s   over               -> no
        5s   submitted 128      -> ack 128; taken 128
        5s   over               -> left
        ",
    );
    check("0s start\n 0s up\n 1s leave -> take back; resume\n 1s resumed silent -> away\n 1s over -> left");
    check("0s start\n 9s leave -> nothing\n 9s over -> left");
}

/// P16: what takes longer than the grace is ended, and told by nobody: the next life finds it started.
#[test]
fn leaving_does_not_wait_for_ever() {
    check(
        "
        0s   start
        0s   up
        1s   polled 64          -> begin 64
        2s   leave              -> nothing
        31s  wait               -> beat 7; beat 7; beat 7
        32s  wait               -> kill 64
        33s  ended 64 stopped   -> nothing
        33s  over               -> left
        ",
    );
    check(
        "
        0s   start spooled=64
        0s   admitted
        0s   listed W=K         -> submit 64
        1s   leave
        35s  wait               -> nothing
        36s  over               -> left
        ",
    );
}
