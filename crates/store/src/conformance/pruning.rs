//! Pruning deletes old records, a few at a time, and nothing else.

use super::samples::*;
use crate::{
    Cutoffs, JobFilter, Loaded, TaskFilter,
    conformance::{
        desk::{Desk, before, read_all},
        named,
    },
};
use muster_model::{Key, LogKind, Timestamp, WorkerLogKind};

named![
    an_old_closed_job_goes_with_its_tasks_and_logs,
    young_and_open_jobs_stay,
    the_cutoff_itself_is_young,
    one_call_deletes_a_bounded_amount,
    a_job_with_many_tasks_goes_whole,
    report_ids_and_keys_have_cutoffs_of_their_own,
    old_report_ids_go_wherever_their_keys_are,
    report_ids_go_when_their_time_has_come,
    old_worker_logs_and_alerts_go,
    the_largest_job_number_outlives_its_job,
    pruning_nothing_says_so,
];

fn an_old_closed_job_goes_with_its_tasks_and_logs(desk: &mut Desk) {
    for number in 1..=3 {
        desk.commit([changed(closed_job(number, 10 * number.cast_signed()))]);
        desk.commit((1..=3).flat_map(|ordinal| {
            let logged = log(task_id(number, ordinal), 1, LogKind::Created);
            [changed(ended_task(number, ordinal, 5)), changed(logged)]
        }));
    }
    desk.prune(&before(25));
    let reader = desk.reader();
    for number in 1..=3 {
        let kept = number == 3;
        assert_eq!(reader.job(job_id(number)).expect("it is read").is_some(), kept);
        assert_eq!(desk.fact(Key::Job(job_id(number))).is_some(), kept);
        for ordinal in 1..=3 {
            assert_eq!(reader.task(task_id(number, ordinal)).expect("it is read").is_some(), kept);
            assert_eq!(
                reader.task_log(task_id(number, ordinal)).expect("it is read").len(),
                usize::from(kept)
            );
        }
    }
}

fn young_and_open_jobs_stay(desk: &mut Desk) {
    // Old by its end, but a task of it may still be live.
    let open = muster_model::JobRecord { open: true, ..closed_job(1, 5) };
    desk.commit([changed(open), changed(task(1, 1)), changed(job(2)), changed(closed_job(3, 5_000))]);
    desk.prune(&before(1_000));
    assert_eq!(read_all(10, |page| desk.reader().jobs(&JobFilter::default(), page)).len(), 3);
    assert!(desk.reader().task(task_id(1, 1)).expect("it is read").is_some());
}

fn the_cutoff_itself_is_young(desk: &mut Desk) {
    desk.commit([changed(closed_job(1, 99)), changed(closed_job(2, 100))]);
    desk.commit([changed(report("r99", 99)), changed(report("r100", 100))]);
    desk.prune(&before(100));
    assert_eq!(desk.reader().job(job_id(1)).expect("it is read"), None);
    assert!(desk.reader().job(job_id(2)).expect("it is read").is_some());
    assert_eq!(desk.fact(Key::Report(report_id("r99"))), None);
    assert!(desk.fact(Key::Report(report_id("r100"))).is_some());
}

fn one_call_deletes_a_bounded_amount(desk: &mut Desk) {
    desk.commit((1..=2_000).map(|number| changed(closed_job(number, 5))));
    assert!(desk.term.writer.prune(&before(1_000)).expect("old rows are deleted"), "more remains");
    let count = |desk: &Desk| read_all(500, |page| desk.reader().jobs(&JobFilter::default(), page)).len();
    let left = count(desk);
    assert!(left > 0 && left < 2_000, "{left}");
    assert!(desk.prune(&before(1_000)) > 1);
    assert_eq!(count(desk), 0);
}

fn a_job_with_many_tasks_goes_whole(desk: &mut Desk) {
    desk.commit([changed(closed_job(1, 5)), changed(closed_job(2, 5_000))]);
    desk.commit((1..=1_500).flat_map(|ordinal| {
        let logged = log(task_id(1, ordinal), 1, LogKind::Created);
        [changed(ended_task(1, ordinal, 5)), changed(ended_task(2, ordinal, 5)), changed(logged)]
    }));
    desk.prune(&before(1_000));
    let reader = desk.reader();
    let count = |job| read_all(500, |page| reader.tasks(job_id(job), &TaskFilter::default(), page)).len();
    assert_eq!((count(1), count(2)), (0, 1_500));
    assert_eq!(reader.job(job_id(1)).expect("it is read"), None);
    assert_eq!(reader.task_log(task_id(1, 1_500)).expect("it is read"), []);
}

fn report_ids_and_keys_have_cutoffs_of_their_own(desk: &mut Desk) {
    for at in [10, 20, 30] {
        desk.commit([changed(report(&format!("r{at}"), at)), changed(key(&format!("k{at}"), at))]);
    }
    desk.prune(&Cutoffs { history: Timestamp(1_000), report_ids: Timestamp(15), keys: Timestamp(25) });
    let report = |desk: &mut Desk, id| desk.fact(Key::Report(report_id(id))).is_some();
    assert_eq!(["r10", "r20", "r30"].map(|id| report(desk, id)), [false, true, true]);
    let key = |desk: &mut Desk, id| desk.fact(Key::Submission(submission_key(id))).is_some();
    assert_eq!(["k10", "k20", "k30"].map(|id| key(desk, id)), [false, false, true]);
}

/// N5: ids that sort by time, UUIDs that do not, and ids that are no UUIDs; more of them than one call looks at.
fn old_report_ids_go_wherever_their_keys_are(desk: &mut Desk) {
    let id = |n: u32| match n % 3 {
        0 => format!("01890a5d-ac96-774b-bcce-{n:012x}"),
        1 => format!("{:08x}-ac96-474b-bcce-b302099a8057", n.wrapping_mul(0x9e37_79b9)),
        _ => format!("report {n}"),
    };
    let is_young = |n: u32| n.is_multiple_of(5);
    desk.commit((0..9_000).map(|n| changed(report(&id(n), if is_young(n) { 5_000 } else { 5 }))));
    desk.prune(&before(1_000));
    let keys: Vec<Key> = (0..9_000).map(|n| Key::Report(report_id(&id(n)))).collect();
    let facts = desk.term.lookup.facts(&keys).expect("keys are looked up");
    for (n, key) in (0..).zip(&keys) {
        assert_eq!(facts.get(key).is_some(), is_young(n), "{key:?}");
    }
}

/// N5
fn report_ids_go_when_their_time_has_come(desk: &mut Desk) {
    const DAY: i64 = 86_400_000;
    desk.commit([changed(report("b", DAY)), changed(report("a", 3 * DAY))]);
    for (cutoff, there) in [(DAY, [true, true]), (2 * DAY, [true, false]), (4 * DAY, [false, false])] {
        desk.prune(&before(cutoff));
        assert_eq!(["a", "b"].map(|id| desk.fact(Key::Report(report_id(id))).is_some()), there);
    }
}

fn old_worker_logs_and_alerts_go(desk: &mut Desk) {
    for at in 1i64..=4 {
        let id = u128::from(at.unsigned_abs());
        desk.commit([
            changed(worker_log("PC-01", WorkerLogKind::Online, at * 100)),
            changed(alert(id, at * 100)),
        ]);
    }
    desk.prune(&before(300));
    let logs = desk.reader().worker_log(&name("PC-01"), 100).expect("it is read");
    assert_eq!(logs.iter().map(|log| log.at.0).collect::<Vec<_>>(), [400, 300]);
    let alerts = read_all(10, |page| desk.reader().alerts(page));
    assert_eq!(alerts.iter().map(|alert| alert.at.0).collect::<Vec<_>>(), [400, 300]);
}

fn the_largest_job_number_outlives_its_job(desk: &mut Desk) {
    desk.commit([changed(closed_job(7, 5))]);
    desk.prune(&before(1_000));
    desk.reopen();
    let loaded = desk.load();
    assert!(matches!(loaded[..], [Loaded::JobSeq(7), _, _, _]), "{loaded:?}");
}

fn pruning_nothing_says_so(desk: &mut Desk) {
    assert_eq!(desk.prune(&before(1_000)), 1);
    desk.commit([changed(job(1)), changed(report("r", 5_000))]);
    assert_eq!(desk.prune(&before(1_000)), 1);
}
