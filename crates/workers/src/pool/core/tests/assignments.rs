//! What is polled, resumed, begun and given up.

use super::*;

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
        0s   listed W=K                      -> submit 64; submit 128
        1s   submitted 64                    -> ack 64; taken 64
        1s   submitted 128 silent            -> away
        1.5s wait                            -> submit 128
        2s   submitted 128 before            -> back; ack 128; taken before 128; resume
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
