//! Lists are read in pages: nothing twice, nothing missing.

use super::samples::*;
use crate::{
    Cursor, JobFilter, LaneFilter, TaskFilter,
    conformance::{
        desk::{Desk, SIZES, assert_listed, read_all},
        named,
    },
};
use muster_model::{
    JobRecord, JobStatus, LaneRecord, LaneStatus, LogKind, LogRecord, Name, TaskRecord, TaskStatus,
};

named![
    jobs_come_newest_first_in_pages,
    jobs_are_filtered,
    jobs_are_listed_with_their_payload,
    tasks_come_oldest_first_in_pages,
    tasks_are_filtered,
    tasks_are_found_by_what_they_are_about,
    stations_of_several_tasks_come_task_by_task,
    tasks_of_other_jobs_are_not_listed,
    lanes_come_by_name_in_pages,
    lanes_are_filtered,
    workers_come_by_name_in_pages,
    alerts_come_newest_first_in_pages,
    an_item_that_comes_later_disturbs_no_page,
];

fn jobs_come_newest_first_in_pages(desk: &mut Desk) {
    // Ids sort against the ages here.
    desk.commit((1..=7).map(|seq| changed(JobRecord { seq, ..job(100 - seq) })));
    let reader = desk.reader();
    for size in SIZES {
        let jobs = read_all(size, |page| reader.jobs(&JobFilter::default(), page));
        assert_eq!(jobs.iter().map(|job| job.seq).collect::<Vec<_>>(), [7, 6, 5, 4, 3, 2, 1]);
    }
}

fn jobs_are_filtered(desk: &mut Desk) {
    let night = |seq| JobRecord { queue: name("night"), ..job(seq) };
    let pending = |seq| JobRecord { status: JobStatus::Pending, ..job(seq) };
    desk.commit([job(1), night(2), pending(3), closed_job(4, 5), night(5), closed_job(6, 5)].map(changed));
    let reader = desk.reader();
    let seqs = |status, queue: Option<&str>| -> Vec<u64> {
        let filter = JobFilter { status, queue: queue.map(name) };
        let jobs = read_all(1, |page| reader.jobs(&filter, page));
        jobs.iter().map(|job| job.seq).collect()
    };
    assert_eq!(seqs(Some(JobStatus::Running), None), [5, 2, 1]);
    assert_eq!(seqs(Some(JobStatus::Pending), None), [3]);
    assert_eq!(seqs(Some(JobStatus::Success), None), [6, 4]);
    assert_eq!(seqs(Some(JobStatus::Failed), None), [0; 0]);
    assert_eq!(seqs(None, Some("night")), [5, 2]);
    assert_eq!(seqs(Some(JobStatus::Running), Some("default")), [1]);
    assert_eq!(seqs(None, Some("nowhere")), [0; 0]);
}

fn jobs_are_listed_with_their_payload(desk: &mut Desk) {
    desk.commit([changed(job(1))]);
    let page = desk.reader().jobs(&JobFilter::default(), &Cursor { after: None, limit: 5 });
    assert_eq!(page.expect("they are read").items, [job(1)]);
}

fn tasks_come_oldest_first_in_pages(desk: &mut Desk) {
    desk.commit((1..=12).rev().map(|ordinal| changed(task(1, ordinal))));
    let reader = desk.reader();
    assert_listed((1..=12).map(|ordinal| task(1, ordinal)), |page| {
        reader.tasks(job_id(1), &TaskFilter::default(), page)
    });
}

fn tasks_are_filtered(desk: &mut Desk) {
    let elsewhere = |ordinal| TaskRecord { worker: name("PC-02"), ..task(1, ordinal) };
    desk.commit(
        [task(1, 1), ended_task(1, 2, 5), elsewhere(3), ended_task(1, 4, 5), elsewhere(5)].map(changed),
    );
    let reader = desk.reader();
    let ordinals = |status, worker: Option<&str>| -> Vec<u32> {
        let filter = TaskFilter { status, worker: worker.map(name), ..TaskFilter::default() };
        let tasks = read_all(1, |page| reader.tasks(job_id(1), &filter, page));
        tasks.iter().map(|task| task.id.ordinal).collect()
    };
    assert_eq!(ordinals(Some(TaskStatus::Running), None), [1, 3, 5]);
    assert_eq!(ordinals(Some(TaskStatus::Completed), None), [2, 4]);
    assert_eq!(ordinals(None, Some("PC-02")), [3, 5]);
    assert_eq!(ordinals(Some(TaskStatus::Running), Some("PC-01")), [1]);
    assert_eq!(ordinals(Some(TaskStatus::Failed), Some("PC-02")), [0; 0]);
}

/// By device, and by whether they left a file behind.
fn tasks_are_found_by_what_they_are_about(desk: &mut Desk) {
    let of = |ordinal, lane: &str, result: Option<&str>| TaskRecord {
        lane: name(lane),
        result: result.map(Into::into),
        ..task(1, ordinal)
    };
    let file = r#"{"artifact":{"kind":"screenshot"}}"#;
    let quoted = r#"{"note":"an \"artifact\": none"}"#;
    desk.commit([
        changed(of(1, "기기 '1'", Some(file))),
        changed(of(2, "_", Some("{}"))),
        changed(of(3, "a", Some(file))),
        changed(of(4, "b", Some(quoted))),
        changed(of(5, "B", None)),
    ]);
    desk.reopen();
    let reader = desk.reader();
    let ordinals = |lane: Option<&str>, has_artifact| -> Vec<u32> {
        let filter = TaskFilter { lane: lane.map(name), has_artifact, ..TaskFilter::default() };
        let tasks = read_all(1, |page| reader.tasks(job_id(1), &filter, page));
        tasks.iter().map(|task| task.id.ordinal).collect()
    };
    assert_eq!(ordinals(None, true), [1, 3]);
    assert_eq!((ordinals(Some("기기 '1'"), false), ordinals(Some("b"), false)), (vec![1], vec![4]));
    assert_eq!((ordinals(Some("a"), true), ordinals(Some("_"), true)), (vec![3], vec![]));
    assert_eq!(ordinals(Some("x"), false), [0; 0]);
}

/// Q12: the stations of several tasks come task by task, and none of another job's.
fn stations_of_several_tasks_come_task_by_task(desk: &mut Desk) {
    let station = |job, ordinal, seq| -> LogRecord { log(task_id(job, ordinal), seq, LogKind::Sent) };
    let of = |ordinal| [station(1, ordinal, 1), station(1, ordinal, 2)];
    let tasks = |job| [1, 2, 9, 10].map(|ordinal| changed(task(job, ordinal)));
    desk.commit([10, 9, 2, 1].into_iter().flat_map(of).map(changed).chain(tasks(1)));
    desk.commit([changed(station(2, 2, 1)), changed(station(2, 9, 1))].into_iter().chain(tasks(2)));
    desk.reopen();
    let read = |from, to| desk.reader().task_logs(task_id(1, from), task_id(1, to)).expect("they are read");
    assert_eq!(read(1, 9), [of(1), of(2), of(9)].concat());
    assert_eq!((read(2, 2), read(3, 8), read(9, 2)), (of(2).to_vec(), vec![], vec![]));
}

fn tasks_of_other_jobs_are_not_listed(desk: &mut Desk) {
    desk.commit((1..=3).flat_map(|job| (1..=3).map(move |ordinal| changed(task(job, ordinal)))));
    let reader = desk.reader();
    let tasks = read_all(2, |page| reader.tasks(job_id(2), &TaskFilter::default(), page));
    assert_eq!(tasks, (1..=3).map(|ordinal| task(2, ordinal)).collect::<Vec<_>>());
    assert!(read_all(2, |page| reader.tasks(job_id(9), &TaskFilter::default(), page)).is_empty());
}

/// In the order of their bytes.
const NAMES: [&str; 7] = ["10", "9", "A", "_", "a", "b 'c'", "기기"];

fn lanes_come_by_name_in_pages(desk: &mut Desk) {
    desk.commit(NAMES.iter().rev().map(|id| changed(lane(id, "PC-01"))));
    let reader = desk.reader();
    assert_listed(NAMES.map(|id| lane(id, "PC-01")), |page| reader.lanes(&LaneFilter::default(), page));
}

fn lanes_are_filtered(desk: &mut Desk) {
    let offline = |id, worker| LaneRecord { status: LaneStatus::Offline, ..lane(id, worker) };
    desk.commit(
        [lane("a", "PC-01"), offline("b", "PC-01"), lane("c", "PC-02"), offline("d", "PC-02")].map(changed),
    );
    // A device that moved is found where it is now.
    desk.commit([changed(lane("c", "PC-01"))]);
    let reader = desk.reader();
    let ids = |status, worker: Option<&str>| -> Vec<Name> {
        let filter = LaneFilter { status, worker: worker.map(name) };
        read_all(1, |page| reader.lanes(&filter, page)).into_iter().map(|lane| lane.id).collect()
    };
    assert_eq!(ids(Some(LaneStatus::Online), None), ["a", "c"].map(name));
    assert_eq!(ids(None, Some("PC-01")), ["a", "b", "c"].map(name));
    assert_eq!(ids(Some(LaneStatus::Offline), Some("PC-02")), ["d"].map(name));
    assert_eq!(ids(Some(LaneStatus::Error), None), [""; 0].map(name));
}

fn workers_come_by_name_in_pages(desk: &mut Desk) {
    desk.commit(NAMES.iter().rev().map(|id| changed(worker(id))));
    let reader = desk.reader();
    for size in SIZES {
        let workers = read_all(size, |page| reader.workers(page));
        assert_eq!(workers.into_iter().map(|summary| summary.worker).collect::<Vec<_>>(), NAMES.map(worker));
    }
}

fn alerts_come_newest_first_in_pages(desk: &mut Desk) {
    // Several of one moment, and ids that sort against the moments.
    let alerts = [alert(9, 1), alert(5, 2), alert(6, 2), alert(7, 2), alert(u128::MAX, 3), alert(0, 4)];
    desk.commit(alerts.clone().map(changed));
    let reader = desk.reader();
    assert_listed(alerts.iter().rev().cloned(), |page| reader.alerts(page));
}

fn an_item_that_comes_later_disturbs_no_page(desk: &mut Desk) {
    desk.commit((1..=3).map(|seq| changed(job(seq))));
    let reader = desk.reader();
    let jobs =
        |after| reader.jobs(&JobFilter::default(), &Cursor { after, limit: 2 }).expect("they are read");
    let first = jobs(None);
    desk.commit([changed(job(4))]);
    assert_eq!(jobs(first.next).items, [job(1)]);
}
