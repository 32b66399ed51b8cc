//! The rules of the worker, as little scripts: what happens, and what the worker does then.
//!
//! Assignments are numbers; the worker is called W, has the number 7 and the key K.

mod chaos;
mod script;

use super::*;
use script::check;

// Login, registration and renewal of the token.

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

// Polls, resumed work, and starting and giving up assignments.

/// P6, P16: never more at once than there are slots; one that is named again is not begun again.
#[test]
fn slots_are_the_limit() {
    check(
        "
        0s   start slots=2
        0s   up
        1s   polled 64          -> begin 64; poll
        1s   polled 64          -> nothing
        2s   wait               -> poll
        2s   polled 128         -> begin 128
        9s   ended 64 well      -> store 64; poll
        9s   polled 64          -> nothing
        9s   stored 64          -> submit 64
        9s   submitted 64       -> ack 64; taken 64
        10s  wait               -> poll
        10s  polled 64          -> nothing
        ",
    );
}

/// P6, P16: what is found started is executed, as far as there are slots; what has a result on disk is not. Results of
/// an earlier life are submitted before anything else is asked for.
#[test]
fn a_new_life_goes_on_where_the_last_one_ended() {
    check(
        "
        0s   start slots=2 spooled=64,128    -> login
        0s   admitted                        -> list
        0s   listed W=K                      -> submit-batch 64,128
        1s   submitted-batch 64,128 silent   -> away
        1.5s wait                            -> submit-batch 64,128
        2s   submitted-batch 64,128 now; before -> back; ack 64; taken 64; ack 128; taken before 128; resume
        3s   resumed 64,128,192,256,320      -> begin 192; begin 256; resumed 3
        4s   ended 256 badly no such file    -> store 256 error no such file; begin 320
        4s   stored 256                      -> submit 256
        4s   submitted 256                   -> ack 256; taken 256 failed no such file
        5s   ended 192 well                  -> store 192; poll
        5s   counts                          -> 2 1 1 0
        ",
    );
}

/// P6: a poll whose answer is lost may have started something: that is asked for before the next poll.
#[test]
fn a_lost_poll_is_made_up_for() {
    check(
        "
        0s   start
        0s   up
        9s   polled silent      -> away; resume
        9s   resumed silent     -> nothing
        9.5s wait               -> resume
        9.5s resumed 64         -> back; begin 64; resumed 1
        9.5s ended 64 well      -> store 64; poll
        ",
    );
}

/// P6: a poll of an earlier life may be granted after that life is over; so what is started is asked for now and then.
#[test]
fn what_is_started_is_asked_for_now_and_then() {
    check(
        "
        0s    start
        0s    up
        20s   polled nothing    -> poll
        30s   wait              -> resume
        30s   resumed 64        -> begin 64; resumed 1
        31s   polled nothing    -> nothing
        ",
    );
}

/// P6, P13, P15: what the server has no longer is killed, also while all slots are full, and nothing is told of it; the
/// slot is free again. An answer to a question that was asked before it came here does not speak of it.
#[test]
fn what_the_server_has_no_longer_is_killed() {
    check(
        "
        0s   start slots=2
        0s   up
        1s   polled 64          -> begin 64; poll
        30s  wait               -> resume
        30s  polled 128         -> begin 128
        31s  resumed 192        -> kill 64; dropped 64; resumed 1
        32s  ended 64 well      -> begin 192
        61s  wait               -> resume
        61s  resumed 192        -> kill 128; dropped 128
        62s  ended 128 stopped  -> poll
        91s  wait               -> resume
        91s  resumed 192        -> nothing
        ",
    );
}

/// P6: a worker that cannot read what it has started does not sit on it: after a few tries it is over.
#[test]
fn what_is_too_long_to_be_read_ends_the_worker() {
    check(
        "
        0s    start
        0s    admitted
        0s    listed W=K
        0s    resumed-too-long   -> nothing
        0.5s  wait               -> resume
        0.5s  resumed-too-long   -> nothing
        1.5s  wait               -> resume
        1.5s  resumed-too-long   -> nothing
        1.5s  over               -> too long
        ",
    );
    check(
        "
        0s    start
        0s    admitted
        0s    listed W=K
        0s    resumed-too-long   -> nothing
        0.5s  wait               -> resume
        0.5s  resumed 64         -> begin 64; resumed 1
        30.5s wait               -> resume
        31s   resumed-too-long   -> nothing
        31.5s wait               -> resume
        31.5s resumed-too-long   -> nothing
        31.5s over               -> no
        ",
    );
}

/// P6: what waits for a slot, and is wanted no more, is not begun.
#[test]
fn what_is_wanted_no_more_is_not_begun() {
    check(
        "
        0s   start
        0s   admitted
        0s   listed W=K
        0s   resumed 64,128     -> begin 64; resumed 2
        30s  wait               -> resume
        30s  resumed 64         -> nothing
        31s  ended 64 well      -> store 64; poll
        ",
    );
}

/// P6: a server without resume says nothing about what runs.
#[test]
fn a_server_that_knows_no_resume_ends_nothing() {
    for answer in ["resumed-as-polled 128", "resumed 404 No assignment available", "resumed 422"] {
        check(&format!(
            "
            0s   start
            0s   up
            1s   polled 64          -> begin 64
            30s  wait               -> resume
            30s  {answer}
            31s  ended 64 well      -> store 64; {}
            ",
            if answer.ends_with("128") { "begin 128" } else { "poll" }
        ));
    }
}

/// P6: a server without resume is polled all the same.
#[test]
fn a_server_that_knows_no_resume_is_polled() {
    for answer in ["404 No assignment available", "422"] {
        check(&format!("0s start\n 0s admitted\n 0s listed W=K\n 0s resumed {answer}\n 0s wait"));
    }
    check("0s start\n 0s admitted\n 0s listed W=K\n 0s resumed 404 No assignment available -> poll");
    check("0s start\n 0s admitted\n 0s listed W=K\n 0s resumed 422 -> refused 422; poll");
}

/// P16: nothing is submitted before it is on disk; while the disk takes nothing, nothing is begun.
#[test]
fn nothing_leaves_before_it_is_on_disk() {
    check(
        "
        0s   start slots=2
        0s   up
        1s   polled 64           -> begin 64; poll
        2s   ended 64 well       -> store 64
        2s   spool-failed        -> nothing
        9s   polled nothing      -> nothing
        20s  wait                -> nothing
        21s  stored 64           -> submit 64; poll
        ",
    );
}

/// P16: what this machine cannot begin is not the job's failure: it is tried again, and nothing more is taken until it
/// went well. What is wanted no more meanwhile is let go.
#[test]
fn what_this_machine_cannot_begin_is_tried_again() {
    check(
        "
        0s    start slots=2
        0s    up
        1s    polled 64                -> begin 64; poll
        1s    ended 64 unable no room  -> unable 64 no room
        1.2s  polled 128               -> nothing
        1.5s  wait                     -> begin 64; begin 128
        1.5s  ended 64 unable no room  -> unable 64 no room
        2.5s  wait                     -> begin 64
        3s    ended 128 well           -> store 128; poll
        4s    ended 64 badly it fails  -> store 64 error it fails
        ",
    );
    check(
        "
        0s    start
        0s    up
        29.9s polled 64                -> begin 64
        30s   ended 64 unable no room  -> resume; unable 64 no room
        30s   resumed nothing          -> nothing
        30.5s wait                     -> poll
        31s   polled 128               -> begin 128
        32s   ended 128 well           -> store 128; poll
        ",
    );
    check(
        "
        0s    start
        0s    up
        1s    polled 64                -> begin 64
        2s    leave                    -> nothing
        3s    ended 64 unable no room  -> unable 64 no room
        3s    over                     -> left
        ",
    );
}

// Submissions, set-aside results, signing keys, and leaving.

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
    // An earlier life may have submitted it in a batch, where its bytes are others.
    let already = "409 Assignment already submitted";
    let in_batch = format!("submit-batch 64\n 0s submitted-batch 64 {already}; -> ");
    after(already, &format!("{in_batch}aside 64 {already}; resume"));
    after(already, "submit-batch 64\n 0s submitted-batch 64 before; -> ack 64; taken before 64; resume");
    // A server without batches cannot have accepted it in one.
    let unoffered = "submit-batch 64\n 0s submitted-batch 64 422 Field required -> ";
    after(already, &format!("{unoffered}aside 64 {already}; refused 422; resume"));
    // This says nothing about batches.
    let elsewhere = "submit-batch 64\n 0s submitted-batch 64 451 not here -> refused 451";
    after(already, &format!("{elsewhere}\n 0.5s wait -> submit-batch 64"));
    after("before", "ack 64; taken before 64; resume");
    for never in [
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
        0s    listed W=K                                            -> submit-batch 64,128
        0s    submitted-batch 64,128 422 Field required             -> refused 422; submit 64; submit 128
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

/// P16, P20: results that are ready at once leave under one signature, and each answer is about one of them. What is sent
/// again keeps its form where the server may have taken it.
#[test]
fn results_that_are_ready_at_once_leave_together() {
    check(
        "
        0s    start spooled=64,128,192
        0s    admitted
        0s    listed W=K                                               -> submit-batch 64,128,192
        1s    submitted-batch 64,128,192 now; 400 Invalid nonce; before -> ack 64; taken 64; aside 128 400 Invalid nonce; ack 192; taken before 192; resume
        1s    counts                                                   -> 2 0 1 1
        ",
    );
    check(
        "
        0s    start spooled=64,128
        0s    admitted
        0s    listed W=K                                               -> submit-batch 64,128
        0s    submitted-batch 64,128 silent                            -> away
        0.5s  wait                                                     -> submit-batch 64,128
        0.5s  submitted-batch 64,128 409 Concurrent submission conflict -> refused 409; refused 409
        1.5s  wait                                                     -> submit-batch 64,128
        2s    submitted-batch 64,128 401                               -> renew
        2s    admitted                                                 -> back; submit-batch 64,128
        2s    submitted-batch 64,128 404 Worker not found              -> nothing
        2s    over                                                     -> refused 404 Worker not found
        ",
    );
}

/// P16, P20: a server that takes no batches gets the results one by one, and is asked again after a minute.
#[test]
fn an_older_server_gets_results_one_by_one() {
    check(
        "
        0s    start slots=2
        0s    up
        0s    polled 64                               -> begin 64; poll
        0s    polled 128                              -> begin 128
        0s    ended 64 well                           -> store 64; poll
        0s    ended 128 well                          -> store 128
        0s    cut
        0s    stored 64                               -> submit 64
        0s    submitted 64 silent                     -> away
        0.2s  stored 128                              -> submit-batch 64,128
        0.2s  submitted-batch 64,128 silent           -> nothing
        0.6s  wait                                    -> nothing
        0.7s  wait                                    -> submit-batch 64,128
        1s    submitted-batch 64,128 422 Field required -> refused 422; submit 64; submit 128
        1s    submitted 64                            -> back; ack 64; taken 64
        1s    submitted 128                           -> ack 128; taken 128
        ",
    );
    check(
        "
        0s    start spooled=64,128,192
        0s    admitted
        0s    listed W=K                                       -> submit-batch 64,128,192
        0s    submitted-batch 64,128,192 413 Content Too Large -> refused 413; submit 64; submit 128; submit 192
        1s    submitted 64 silent                              -> away
        1s    submitted 128 silent                             -> nothing
        1s    submitted 192                                    -> back; ack 192; taken 192
        1.5s  wait                                             -> submit 64; submit 128
        ",
    );
    // It may have accepted a batch before it became older: then it has other bytes than this.
    check(
        "
        0s    start spooled=64,128
        0s    admitted
        0s    listed W=K                                    -> submit-batch 64,128
        0s    submitted-batch 64,128 silent                 -> away
        0.5s  wait                                          -> submit-batch 64,128
        0.5s  submitted-batch 64,128 422 Field required     -> refused 422; submit 64; submit 128
        1s    submitted 64 409 Assignment already submitted -> submit-batch 64
        1s    submitted 128                                 -> back; ack 128; taken 128
        1s    submitted-batch 64 before;                    -> ack 64; taken before 64; resume
        ",
    );
}

/// P8, P16, P20: what may be wrong with the signature of a batch need not be wrong with the result: it is sent by itself before
/// anybody looks for another key.
#[test]
fn a_doubt_about_a_batch_is_settled_one_by_one() {
    check(
        "
        0s    start spooled=64,128
        0s    admitted
        0s    listed W=K                                          -> submit-batch 64,128
        0s    submitted-batch 64,128 400 Signature verification failed; 400 Signature verification failed -> submit 64; submit 128
        1s    submitted 64                                        -> ack 64; taken 64
        1s    submitted 128 400 Signature verification failed     -> list
        1s    listed W=K                                          -> aside 128 400 Signature verification failed; resume
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
