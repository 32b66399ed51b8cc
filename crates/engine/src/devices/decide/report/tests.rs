//! Reports by script, and what they change.

use crate::devices::script::check;

/// N4, N5: a repeated report changes nothing, whatever its timestamp says, also after a restart. The same id with another
/// type or task is refused, with one alert.
#[test]
fn a_report_takes_effect_once() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1,d2
        1s  submit r1
        2s  pull PC-01
        3s  finished PC-01 r1/d1 failed id=x at=3s -> confirmed r1/d1; ended r1/d1#1 failed; queued r1/d1 => Applied
        4s  finished PC-01 r1/d1 failed id=x at=4s -> nothing => Duplicate
        4s  finished PC-01 r1/d1 ok id=x -> nothing => Duplicate
        5s  finished PC-01 r1/d2 failed id=x -> alert event_conflict => ! ReportConflict
        5s  started PC-01 r1/d1 id=x -> nothing => ! ReportConflict
        5s  run_started PC-01 r1 id=x -> nothing => ! ReportConflict
        6s  restart
        7s  finished PC-01 r1/d1 failed id=x -> nothing => Duplicate
        8s  finished PC-01 r1/d2 ok id=x -> alert event_conflict => ! ReportConflict
        9s  finished PC-01 r1/d2 ok -> confirmed r1/d2; ended r1/d2#1 ok; closed r1/d2 Completed => Applied
        ",
    );
}

/// N5, N6b: a report that was answered `stale` is a duplicate when it comes again.
#[test]
fn a_repeated_stale_report_is_a_duplicate() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1
        1s  submit r1
        2s  pull PC-01
        3s  finished PC-01 r1/d1 failed attempt=1
        4s  pull PC-01
        5s  finished PC-01 r1/d1 ok attempt=1 id=x at=5s -> nothing => Stale
        6s  finished PC-01 r1/d1 ok attempt=1 id=x at=6s -> nothing => Duplicate
        ",
    );
}

/// N5: an event older than the ids are kept is stale.
#[test]
fn an_ancient_event_is_stale() {
    check(
        "
        100d pull PC-01 max=0 devices=d1
        100d submit r1
        100d pull PC-01
        100d finished PC-01 r1/d1 ok at=1d -> nothing => Stale
        ",
    );
}

/// N6: unknown run, task or device, another holder; a refused id is not remembered.
#[test]
fn unknown_things_and_foreign_holders_are_refused() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1,d2
        0s  pull PC-02 max=0 devices=e1
        1s  submit r1
        2s  pull PC-01 max=1
        3s  started PC-01 zz/d1           => ! JobUnknown
        3s  started PC-01 r1/d2           => ! TaskUnknown
        3s  started PC-01 r1/d1 device=d2 => ! LaneUnknown
        3s  started PC-02 r1/d1 id=y      => ! NotHolder PC-01
        4s  started PC-01 r1/d1 id=y      -> confirmed r1/d1 => Applied
        ",
    );
}

/// N1b, N15: a refused report is a sign of life all the same, and enrols whoever sent it.
#[test]
fn a_refused_report_is_a_sign_of_life() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1
        20s started PC-01 zz/d1 => ! JobUnknown
        20s started PC-02 zz/d1 => ! JobUnknown
        49s tick                -> nothing
        50s tick                -> offline PC-01; offline PC-02
        51s started PC-01 zz/d1 -> online PC-01 => ! JobUnknown
        ",
    );
}

/// N6b: a report of another attempt, by number, by fence or by its beginning, is stale.
#[test]
fn a_report_of_another_attempt_is_stale() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1
        1s  submit r1
        2s  pull PC-01
        3s  finished PC-01 r1/d1 failed
        10s pull PC-01                    => jobs=r1/d1#2
        11s finished PC-01 r1/d1 ok attempt=1         -> nothing => Stale
        11s finished PC-01 r1/d1 ok fence=1           -> nothing => Stale
        11s finished PC-01 r1/d1 ok began=5s          -> nothing => Stale
        12s finished PC-01 r1/d1 ok attempt=2 fence=2 began=5s -> confirmed r1/d1; ended r1/d1#2 ok; closed r1/d1 Completed; over r1 Success => Applied
        ",
    );
}

/// N7: task_finished before its task_started counts as both; late progress never moves a finished task.
#[test]
fn out_of_order_arrival_is_normal() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1
        1s  submit r1
        2s  pull PC-01
        3s  finished PC-01 r1/d1 ok       -> confirmed r1/d1; ended r1/d1#1 ok; closed r1/d1 Completed; over r1 Success
        4s  progress PC-01 r1/d1          -> nothing => Applied
        5s  started PC-01 r1/d1           -> nothing => Applied
        6s  finished PC-01 r1/d1 failed   -> nothing => Stale
        ",
    );
}

/// N11: progress confirms and is told.
#[test]
fn progress_is_told() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1
        1s  submit r1
        2s  pull PC-01
        3s  progress PC-01 r1/d1          -> confirmed r1/d1; progress r1/d1
        4s  progress PC-01 r1/d1          -> progress r1/d1
        ",
    );
}

/// N8b, N9, N14: run_started and run_finished are recorded only; a summary unlike the rows raises an alert.
#[test]
fn a_summary_unlike_the_rows_raises_an_alert() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1,d2
        1s  submit r1 attempts=2
        2s  pull PC-01
        2s  run_started PC-01 r1          -> nothing => Applied
        3s  finished PC-01 r1/d1 ok
        4s  finished PC-01 r1/d2 failed
        5s  run_finished PC-01 r1 ok=1 failed=1 -> alert summary_mismatch
        6s  pull PC-01
        7s  finished PC-01 r1/d2 failed
        8s  run_finished PC-01 r1 ok=1 failed=1 -> nothing
        9s  submit r2
        10s pull PC-01
        11s finished PC-01 r2/d1 ok
        12s run_finished PC-01 r2 ok=7    -> alert summary_mismatch
        ",
    );
}

/// N8b: what was stopped on request a node counts as failed, and nobody need look at it.
#[test]
fn a_summary_of_a_cancelled_run_raises_none() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1,d2
        1s  submit r1
        2s  pull PC-01
        3s  started PC-01 r1/d1
        4s  cancel r1
        5s  finished PC-01 r1/d1 failed
        6s  finished PC-01 r1/d2 failed
        7s  run_finished PC-01 r1 failed=2 -> nothing
        ",
    );
}

/// N12, N13: a timed-out or superseded task is named in stop until its end is reported (N1).
#[test]
fn stop_is_repeated_until_the_end_is_reported() {
    check(
        "
        0s    pull PC-01 max=0 devices=d1
        1s    submit r1 attempts=1
        2s    pull PC-01
        3s    started PC-01 r1/d1
        1190s heartbeat PC-01
        1202s tick
        1203s pull PC-01 max=0            => finished=r1 stop=r1/d1
        1204s restart
        1205s pull PC-01 max=0            => finished=r1 stop=r1/d1
        1206s finished PC-01 r1/d1 failed => Stale
        1207s pull PC-01 max=0            => finished=r1
        1208s run_finished PC-01 r1 failed=1
        1209s return d1
        1210s submit r2 attempts=1
        1211s pull PC-01                  => runs=r2:1 jobs=r2/d1#1
        2400s heartbeat PC-01
        2411s tick
        2412s pull PC-01 max=0            => finished=r2 stop=r2/d1
        2413s run_finished PC-01 r2 failed=1
        2414s pull PC-01 max=0            => nothing
        ",
    );
}

/// N1, N1b: the late end of an earlier attempt does not end the stop of the one after it; a newer attempt does.
#[test]
fn a_stop_ends_with_its_own_attempt() {
    check(
        "
        0s    pull PC-01 max=0 devices=d1
        1s    submit r1 attempts=2
        2s    pull PC-01
        3s    started PC-01 r1/d1
        1202s tick
        1203s pull PC-01                            => jobs=r1/d1#2
        1204s started PC-01 r1/d1 attempt=2
        2403s tick
        2404s finished PC-01 r1/d1 failed attempt=1 => Stale
        2405s pull PC-01 max=0                      => finished=r1 stop=r1/d1
        2406s finished PC-01 r1/d1 failed attempt=2 => Stale
        2407s pull PC-01 max=0                      => finished=r1
        ",
    );
}

/// N1, N6b: whoever was told to stop may report the end, though the device and its task are another's by now.
#[test]
fn a_stop_ends_though_the_device_has_moved() {
    check(
        "
        0s    pull PC-01 max=0 devices=d1
        0s    pull PC-02 max=0 devices=e1
        1s    submit r1 devices=d1
        2s    pull PC-01
        3s    started PC-01 r1/d1
        1202s tick
        1203s pull PC-02 devices=e1,d1              => runs=r1:1 jobs=r1/d1#2
        1204s pull PC-01 max=0                      => finished=r1 stop=r1/d1
        1205s finished PC-01 r1/d1 failed attempt=1 -> nothing => Stale
        1206s pull PC-01 max=0                      => finished=r1
        1207s progress PC-01 r1/d1                  => ! NotHolder PC-02
        ",
    );
}

/// N25: the messages of a batch are judged in order, each as if it had come alone: a repeat within the batch changes
/// nothing, and one that is refused does not stop the ones after it.
#[test]
fn a_batch_is_judged_event_by_event() {
    check(
        "
        0s  pull PC-01 max=0 devices=d1,d2
        1s  submit r1
        2s  pull PC-01
        3s  batch started PC-01 r1/d1 id=a | started PC-01 zz/d1 id=b | finished PC-01 r1/d1 ok id=c | finished PC-01 r1/d1 ok id=c | finished PC-01 r1/d2 ok id=c | started PC-02 r1/d2 id=d | heartbeat PC-01 | started PC-01 r1/d2 id=b -> confirmed r1/d1; ended r1/d1#1 ok; closed r1/d1 Completed; alert event_conflict; confirmed r1/d2 => Applied | ! JobUnknown | Applied | Duplicate | ! ReportConflict | ! NotHolder PC-01 | Applied | Applied
        4s  finished PC-01 r1/d1 ok id=c -> nothing => Duplicate
        ",
    );
}

/// N5, N25: alerts of one batch have ids of their own.
#[test]
fn parts_of_a_batch_share_no_number() {
    let facts = muster_model::Facts::default();
    let seed: [u8; 32] = core::array::from_fn(|i| u8::try_from(i * 7).expect("small"));
    let context = crate::Context { now: muster_model::Timestamp(0), seed: &seed, facts: &facts };
    assert_eq!(context.seed_of_part(0), seed, "the first part is the command itself");
    let numbers = |part: u64| {
        let seed = context.seed_of_part(part);
        let context = crate::Context { seed: &seed, ..context };
        [0, 1, u64::MAX].map(|n| context.number(n))
    };
    let all: alloc::collections::BTreeSet<u128> = (0..500).flat_map(numbers).collect();
    assert_eq!(all.len(), 1500);
}
