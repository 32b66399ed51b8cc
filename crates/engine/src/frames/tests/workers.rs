//! S1, S2, S6, S8–S11: the life of a worker.

use crate::frames::script::{check, check_with};
use muster_model::{FrameSettings, Millis};

/// S1: a worker that registers anew gives back, at once, what the incarnation before held.
#[test]
fn a_new_incarnation_gives_back_what_the_old_one_held() {
    check(
        "
        0s register W1                -> registered W1 => epoch 0
        0s submit s frames=10 per=10  -> taken s => running
        0s ask W1                     => s.0 [0, 10) #1 chunk=1
        1s register W1 token=2        -> ended s.0 replaced; retired 1; apart chunk-1; registered W1
        1s complete s.0 W1 #1 chunk=1 0..10 => ! NotHolder { holder: None }
        1s ask W1                     => s.0 [0, 10) #2 chunk=2 replay
    ",
    );
}

/// S8, S11: Registered becomes Healthy by the third fine heartbeat, however quickly they come.
#[test]
fn the_third_fine_heartbeat_makes_healthy() {
    check(
        "
        0s register W1 unheard
        0s beat W1          -> => Registered ok
        0s beat W1          -> => Registered ok
        0s beat W1          -> W1 Registered>Healthy => Healthy ok
    ",
    );
}

/// S8: a worker gets work with its first good heartbeat; a bad one is not enough. A removed worker may not rebind (S6).
#[test]
fn work_waits_for_a_good_heartbeat() {
    check(
        "
        0s register W1 unheard
        0s submit s frames=10 per=10
        0s ask W1           => nothing
        1s beat W1 error    -> W1 Registered>Degraded
        1s ask W1           => nothing
        1s explain worker W1 => sim_worker_unheard
        2s beat W1 rtt=9
        2s ask W1           => s.0 [0, 5) #1 chunk=1
        3s remove W1
        3s rebind W1        => ! Removed
    ",
    );
}

/// S8: an error report, a full queue or slow heartbeats make Degraded; 30 s of good ones Healthy again.
#[test]
fn a_degraded_worker_recovers_after_thirty_good_seconds() {
    for complaint in ["error", "q=0.85", "rtt=501"] {
        let script = "
            0s register W1 unheard
            0s beat W1
            0s beat W1
            0s beat W1              -> W1 Registered>Healthy
            1s beat W1 !            -> W1 Healthy>Degraded
            3s beat W1 rtt=9
            6s beat W1 rtt=9
            8s beat W1 !            -> 
            9s beat W1 rtt=9        -> 
            12s beat W1 rtt=9
            15s beat W1 rtt=9
            18s beat W1 rtt=9
            21s beat W1 rtt=9
            24s beat W1 rtt=9
            27s beat W1 rtt=9
            30s beat W1 rtt=9
            33s beat W1 rtt=9
            36s beat W1 rtt=9
            38999ms beat W1 rtt=9   -> 
            39s beat W1 rtt=9       -> W1 Degraded>Healthy
        ";
        check_with(
            FrameSettings { misses_until_lost: 9, ..FrameSettings::default() },
            &script.replace('!', complaint),
        );
    }
}

/// S8: what is just within the limits is fine.
#[test]
fn the_limits_themselves() {
    check(
        "
        0s register W1 unheard
        0s beat W1 q=0.8499 rtt=500
        0s beat W1 q=0.8499 rtt=500
        0s beat W1 q=0.8499 rtt=500 -> W1 Registered>Healthy
    ",
    );
}

/// S8: three heartbeats missed make Lost, from every state; the worker's calls are then answered with reregister,
/// its token stays valid, its completion comes too late.
#[test]
fn silence_makes_lost() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        2999ms tick     -> 
        3s tick         -> W1 Registered>Lost; ended s.0 worker_lost; retired 1; apart chunk-1; apart worker-W1.s; blamed W1
        4s beat W1 rtt=9 -> => Lost ok reregister
        4s complete s.0 W1 #1 chunk=1 0..10 -> apart chunk-1 => ! NotHolder { holder: None }
        4s ask W1       => ! Lost
        5s register W1  -> registered W1; W1 Lost>Registered
        5s beat W1
        5s beat W1      -> W1 Registered>Healthy
        8s tick         -> W1 Healthy>Lost; blamed W1
    ",
    );
}

/// S8: after a start silence counts anew.
#[test]
fn a_start_gives_everybody_time() {
    check(
        "
        0s register W1
        2s restart      -> 
        4999ms tick     -> 
        5s tick         -> W1 Registered>Lost; blamed W1
    ",
    );
}

/// S8, S9: lost or failing three times within ten minutes puts a worker into quarantine; registration is refused,
/// nothing is given to it; approval clears the count.
#[test]
fn the_third_failure_is_quarantine() {
    check_with(
        FrameSettings { misses_until_lost: 1_000_000, ..FrameSettings::default() },
        "
        0s register W1
        0s submit s frames=90 per=10
        0s ask W1           => s.0 [0, 10) #1 chunk=1
        1s fail s.0 W1 #1   -> confirmed s.0; ended s.0 failed; retired 1; apart chunk-1; blamed W1
        2s submit t frames=10 per=10
        2s cancel s
        3s ask W1           => t.0 [0, 10) #1 chunk=2
        4s fail t.0 W1      -> confirmed t.0; ended t.0 failed; retired 2; apart chunk-2; blamed W1
        4s view worker W1   => Registered failures=2
        5s submit u frames=10 per=10
        5s cancel t
        600s ask W1         => u.0 [0, 10) #1 chunk=3
        600s fail u.0 W1    -> confirmed u.0; ended u.0 failed; retired 3; apart chunk-3; blamed W1; W1 Registered>Quarantined
        600s ask W1         => ! Quarantined
        600s register W1    -> => ! Quarantined
        600s remove W1 itself => ! Quarantined
        601s approve W1     -> cleared W1; W1 Quarantined>Registered
        601s view worker W1 => Registered failures=0
        601s approve W1     => ! NotQuarantined { state: Registered }
        601s register W1    -> registered W1
    ",
    );
}

/// S8: failures longer ago than the window do not count.
#[test]
fn old_failures_do_not_count() {
    check_with(
        FrameSettings {
            misses_until_lost: 1_000_000,
            split_after: 99,
            max_attempts: 99,
            poison_workers: 99,
            ..FrameSettings::default()
        },
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        0s fail s.0 W1
        1s ask W1
        1s fail s.0 W1
        601s ask W1
        601s fail s.0 W1 -> confirmed s.0; ended s.0 failed; retired 3; apart chunk-3; blamed W1
        601s view worker W1 => Registered failures=1
    ",
    );
}

/// S9, invariant 11: an operator's quarantine takes what the worker holds.
#[test]
fn quarantine_by_hand() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        1s quarantine W1 -> W1 Registered>Quarantined; ended s.0 given_back; retired 1; apart chunk-1
        1s beat W1       => Quarantined ok stop s.0
        1s quarantine W1 -> => done
    ",
    );
}

/// S6: a removed worker's tasks go back at once; while it keeps calling it is a zombie, until it has been silent.
#[test]
fn a_removed_worker_that_keeps_calling_is_a_zombie() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        1s remove W1        -> W1 Registered>Removed; ended s.0 given_back; retired 1; apart chunk-1; removal W1 waiting
        1s view worker W1   => Removed failures=0
        2s beat W1 rtt=9    -> removal W1 known => Removed ok stop s.0
        2s view worker W1   => Removed zombie failures=0
        2s ask W1           => ! Removed
        2s progress W1 s    => ! Removed
        2s ids W1           => ! Removed
        2s fail s.0 W1      => ! Removed
        2s complete s.0 W1 #1 chunk=1 0..10 -> apart chunk-1 => ! Removed
        4999ms view worker W1 => Removed zombie failures=0
        5s view worker W1   => Removed failures=0
        3602s tick          -> forgotten W1
        3603s beat W1       => ! RendererUnknown
    ",
    );
}

/// S6: a removed worker that neither acknowledges nor calls is a zombie: its files are set apart, one alert is raised, also
/// over a restart. It is one until it calls, or until its files are confirmed.
#[test]
fn a_removed_worker_that_never_answers_is_a_zombie() {
    check(
        "
        0s    register W1
        0s    register W2
        0s    submit s frames=20 per=10
        0s    ask W1
        0s    ask W2
        2s    remove W1         -> W1 Registered>Removed; ended s.0 given_back; retired 1; apart chunk-1; removal W1 waiting ~> move chunk-1
        2s    remove W2
        2500ms beat W2 rtt=9    -> removal W2 known => Removed ok stop s.10
        3s    restart
        3s    view worker W1    => Removed failures=0
        5999ms tick             -> 
        6s    tick              -> apart worker-W1.s; removal W1 silent; alert worker_zombie ~> move worker-W1.s
        6s    view worker W1    => Removed zombie failures=0
        6s    view worker W2    => Removed failures=0
        6s    view status       => Removed=2 zombies=1 depth=0
        7s    restart
        7s    view worker W1    => Removed zombie failures=0
        20s   tick              -> 
        20s   moved worker-W1.s
        21s   confirm worker-W1.s -> removal W1 known; confirmed worker-W1.s
        21s   view worker W1    => Removed failures=0
    ",
    );
}

/// S6: a silent zombie that calls is one as long as it goes on calling; one that is removed once more is none.
#[test]
fn a_zombie_that_calls_is_known() {
    check(
        "
        0s  register W1
        0s  register W2
        1s  remove W1
        1s  remove W2
        4s  tick                -> removal W1 silent; alert worker_zombie; removal W2 silent; alert worker_zombie
        5s  ask W1              -> removal W1 known => ! Removed
        5s  view worker W1      => Removed zombie failures=0
        8s  view worker W1      => Removed failures=0
        8s  view worker W2      => Removed zombie failures=0
        9s  remove W2           -> removal W2 known => done
        9s  view worker W2      => Removed failures=0
    ",
    );
}

/// S6: a worker that takes tasks by push is told of its removal there, again after a restart until it acknowledges; one that
/// was lost before, or removed itself, is simply removed, and is a zombie only if it calls again.
#[test]
fn a_removal_is_told_by_push() {
    check(
        "
        0s  register W1 endpoint
        0s  register W2
        0s  register W3
        1s  remove W1           ~> dismiss W1
        2s  restart             ~> dismiss W1
        2s  dismissed W1        -> removal W1 known
        2s  dismissed W1        -> 
        3s  restart             ~> 
        3s  remove W2 itself    -> W2 Registered>Removed; removal W2 known
        4s  beat W2 rtt=9       => Removed ok
        4s  view worker W2      => Removed zombie failures=0
        6s  tick                -> W3 Registered>Lost; blamed W3
        6s  remove W3           -> W3 Lost>Removed; removal W3 known
        99s tick                -> 
        99s view status         => Removed=3 zombies=0 depth=0
    ",
    );
}

/// S6: between PauseAll and ResumeAll no task is given out, also not to late joiners, also not after a restart.
#[test]
fn a_broadcast_holds_until_it_is_lifted() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s pause-all        -> paused
        0s ask W1           => nothing
        1s restart
        1s register W2
        1s ask W2           => nothing
        1s beat W2          => Registered ok pause
        2s resume-all       -> resumed
        2s beat W2          => Healthy ok resume
        2s ask W2           => s.0 [0, 10) #1 chunk=1
    ",
    );
}

/// S2, S6: whoever stands still is told to go on, also by a new term: the word of the one before may have been lost.
#[test]
fn a_resume_outlives_the_term() {
    check(
        "
        0s register W1
        0s pause-all
        0s beat W1      => Registered ok pause
        1s resume-all
        1s restart
        1s beat W1      => Registered ok rebind
        1s rebind W1    => Registered ok
        1s beat W1      => Registered ok resume
        1s beat W1      => Healthy ok resume
        1s beat W1      => Healthy ok resume
        1s beat W1      => Healthy ok resume
        1s beat W1      => Healthy ok resume
        1s beat W1      => Healthy ok
        2s pause-all
        2s restart
        2s rebind W1    => Healthy ok pause
    ",
    );
}

/// S2, S19: heartbeats that are answered before the worker has rebound carry no resume, and so do not use it up.
#[test]
fn a_resume_waits_for_the_rebind() {
    check(
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        0s progress W1 s frames=3
        0s pause-all
        0s beat W1      => Registered ok pause
        1s resume-all
        1s restart
        1s beat W1      => Registered ok rebind stop s.0
        1s beat W1      => Registered ok rebind stop s.0
        1s beat W1      => Healthy ok rebind stop s.0
        1s beat W1      => Healthy ok rebind stop s.0
        1s beat W1      => Healthy ok rebind stop s.0
        1s rebind W1    => Healthy ok
        1s beat W1      => Healthy ok resume
    ",
    );
}

/// S2, S9: whoever comes out of quarantine is told what it was not told there.
#[test]
fn a_resume_waits_for_the_end_of_quarantine() {
    check(
        "
        0s register W1
        0s pause-all
        0s beat W1          => Registered ok pause
        0s quarantine W1
        0s resume-all
        1s beat W1          => Quarantined ok
        1s beat W1          => Quarantined ok
        1s beat W1          => Quarantined ok
        1s beat W1          => Quarantined ok
        1s beat W1          => Quarantined ok
        2s approve W1
        2s beat W1          => Registered ok resume
    ",
    );
}

/// S7, S10: backpressure follows the fuller of the two queues a worker tells of; the status shows the fullest of all.
#[test]
fn backpressure() {
    check(
        "
        0s register W1
        0s register W2
        0s submit s frames=100 per=10
        0s beat W1 q=0.7        => Registered caution
        0s ask W1
        0s progress W1 s frames=1 q=0.95
        1s beat W1 q=0.1        => Healthy slow
        1s progress W1 s frames=2 q=1
        1s beat W1              => Healthy pause
        1s ask W2
        1s progress W2 s frames=1 q=0.5
        1s view status          => Registered=1 Healthy=1 zombies=0 depth=1
        1s complete s.0 W1 #1 chunk=1 0..9 => accepted
        // What an earlier task's progress said does not hold it back.
        2s beat W1              => Healthy ok
        2s ask W1               => s.19 [19, 29) #1 chunk=3
    ",
    );
}

/// S10: whoever need not stand still any longer, as its progress tells, is given what it waits for.
#[test]
fn whoever_may_go_on_is_woken() {
    check(
        "
        0s register W1 slots=2
        0s submit s frames=20 per=10
        0s ask W1
        0s progress W1 s frames=1 q=1
        0s ask W1                       => nothing
        0s wait W1
        0s view woken                   => 
        1s progress W1 s frames=2 q=1
        1s view woken                   => 
        1s progress W1 s frames=3 q=0.5
        1s view woken                   => W1
        1s ask W1                       => s.10 [10, 20) #1 chunk=2
    ",
    );
}

/// S10: a worker that is to stand still gets nothing; a Degraded one gets half, a slowed one less.
#[test]
fn the_unwell_get_less() {
    check(
        "
        0s register W1
        0s register W2
        0s register W3
        0s submit s frames=1000 per=100
        0s beat W1 q=1.2    -> W1 Registered>Degraded => Degraded pause
        0s ask W1           => nothing
        0s beat W2 error    -> W2 Registered>Degraded => Degraded ok
        0s ask W2           => s.0 [0, 50) #1 chunk=1
        0s beat W3 q=0.8    => Registered caution
        0s ask W3           => s.50 [50, 140) #1 chunk=2
    ",
    );
}

/// A worker that lives but says nothing of its range loses it; not while it stands still on request.
#[test]
fn a_stalled_assignment_goes_to_another() {
    check_with(
        FrameSettings {
            misses_until_lost: 1_000_000,
            stall: Millis::from_secs(60),
            ..FrameSettings::default()
        },
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        30s progress W1 s frames=3  -> confirmed s.0
        50s progress W1 s frames=3
        109s tick   -> 
        109s pause-all
        110s tick   -> 
        115s resume-all
        119s tick   -> 
        119s progress W1 s frames=3
        178s beat W1 q=1
        179s tick   -> 
        180s beat W1
        188s tick   -> 
        189s tick   -> ended s.0 stalled; retired 1; apart chunk-1; blamed W1
        189s beat W1 rtt=9 => Degraded ok resume stop s.0
    ",
    );
}

/// S10: whoever stands still because its last progress told of a full queue, and then says nothing more of its range, does
/// not hold it for ever.
#[test]
fn standing_still_is_no_excuse_for_silence() {
    check_with(
        FrameSettings {
            misses_until_lost: 1_000_000,
            stall: Millis::from_secs(60),
            ..FrameSettings::default()
        },
        "
        0s register W1
        0s submit s frames=10 per=10
        0s ask W1
        0s progress W1 s frames=3 q=1
        30s beat W1 rtt=9 => Registered pause
        59s tick    -> 
        60s tick    -> ended s.0 stalled; retired 1; apart chunk-1; blamed W1
    ",
    );
}
