//! Counts: `pc_device_summary` (Q13) and the tasks of a job.

use super::samples::*;
use crate::{
    Backlog, Cursor, FleetView, JobCounts, JobFilter, LaneView, OpenCounts, WorkerSummary,
    conformance::{desk::Desk, named},
};
use muster_model::{
    Attachment, JobId, JobRecord, JobStatus, LaneRecord, LaneStatus, Scope, TaskRecord, TaskStatus, Timestamp,
};

named![
    a_worker_without_devices_counts_nothing,
    devices_are_counted_by_what_they_are,
    a_running_task_makes_its_device_busy,
    a_cancelled_job_still_has_running_tasks,
    a_device_that_moved_counts_where_it_is,
    tasks_are_counted_by_worker_and_status,
    ends_are_counted_from_a_moment_on,
    a_job_without_tasks_counts_nothing,
    jobs_are_listed_with_how_far_they_are,
    a_fleet_is_seen_whole,
    jobs_that_are_open_are_counted,
];

fn summary(desk: &Desk, id: &str) -> WorkerSummary {
    desk.reader().worker(&name(id)).expect("it is read").expect("it is there")
}

/// Devices, running, idle, error, disconnected.
fn counts(desk: &Desk, id: &str) -> [u64; 5] {
    let one = summary(desk, id);
    let all = desk.reader().workers(&Cursor { after: None, limit: 100 }).expect("they are read").items;
    assert!(all.contains(&one), "the list and the single answer are alike");
    [one.device_count, one.running_count, one.idle_count, one.error_count, one.disconnected_count]
}

fn a_worker_without_devices_counts_nothing(desk: &mut Desk) {
    desk.commit([changed(worker("PC-01"))]);
    assert_eq!(counts(desk, "PC-01"), [0; 5]);
    assert_eq!(summary(desk, "PC-01").worker, worker("PC-01"));
}

fn in_status(id: &str, status: LaneStatus) -> LaneRecord {
    let attachment = if status == LaneStatus::Offline { Attachment::Offline } else { Attachment::Online };
    LaneRecord { status, attachment, ..lane(id, "PC-01") }
}

/// Q13
fn devices_are_counted_by_what_they_are(desk: &mut Desk) {
    use LaneStatus::{Error, Offline, Online};
    desk.commit(["PC-01", "PC-02"].map(|id| changed(worker(id))));
    let statuses =
        [("a", Online), ("b", Online), ("c", Online), ("d", Error), ("e", Offline), ("f", Offline)];
    desk.commit(statuses.map(|(id, status)| changed(in_status(id, status))));
    desk.commit([changed(lane("g", "PC-02"))]);
    assert_eq!(counts(desk, "PC-01"), [6, 0, 3, 1, 2]);
    assert_eq!(counts(desk, "PC-02"), [1, 0, 1, 0, 0]);
}

/// A fleet of one worker with three devices, and an open job.
fn fleet(desk: &mut Desk) {
    desk.commit([changed(worker("PC-01")), changed(worker("PC-02")), changed(job(1))]);
    desk.commit(["device-1", "device-2", "device-3"].map(|id| changed(lane(id, "PC-01"))));
}

/// Q13
fn a_running_task_makes_its_device_busy(desk: &mut Desk) {
    fleet(desk);
    let pending = TaskRecord { status: TaskStatus::Pending, ..task(1, 2) };
    desk.commit([changed(task(1, 1)), changed(pending), changed(ended_task(1, 3, 5))]);
    assert_eq!(counts(desk, "PC-01"), [3, 1, 2, 0, 0]);
    desk.commit([changed(ended_task(1, 1, 6)), changed(task(1, 2)), changed(task(1, 3))]);
    assert_eq!(counts(desk, "PC-01"), [3, 2, 1, 0, 0]);
}

/// Q7: the lane stays taken until its end.
fn a_cancelled_job_still_has_running_tasks(desk: &mut Desk) {
    fleet(desk);
    let cancelled = JobRecord { open: true, ..closed_job(1, 5) };
    desk.commit([changed(task(1, 1)), changed(cancelled)]);
    assert_eq!(counts(desk, "PC-01"), [3, 1, 2, 0, 0]);
    desk.commit([changed(ended_task(1, 1, 6)), changed(closed_job(1, 5))]);
    assert_eq!(counts(desk, "PC-01"), [3, 0, 3, 0, 0]);
}

fn a_device_that_moved_counts_where_it_is(desk: &mut Desk) {
    fleet(desk);
    desk.commit([changed(task(1, 1)), changed(lane("device-1", "PC-02"))]);
    assert_eq!(counts(desk, "PC-01"), [2, 1, 2, 0, 0], "its task still runs there");
    assert_eq!(counts(desk, "PC-02"), [1, 0, 0, 0, 0], "it is not idle");
}

fn at_worker(worker: &str, task: TaskRecord) -> TaskRecord {
    TaskRecord { worker: name(worker), ..task }
}

fn tasks_are_counted_by_worker_and_status(desk: &mut Desk) {
    use TaskStatus::{Completed, Pending, Running};
    let pending = TaskRecord { status: Pending, ..task(1, 6) };
    desk.commit([
        changed(at_worker("PC-02", ended_task(1, 1, 5))),
        changed(at_worker("PC-02", ended_task(1, 2, 5))),
        changed(at_worker("PC-01", ended_task(1, 3, 5))),
        changed(at_worker("PC-01", task(1, 4))),
        changed(at_worker("PC-01", task(1, 5))),
        changed(at_worker("PC-01", pending)),
        changed(at_worker("PC-01", task(2, 1))),
    ]);
    let counts = desk.reader().job_counts(job_id(1), Timestamp(0)).expect("they are counted");
    let expected =
        [("PC-01", Pending, 1), ("PC-01", Running, 2), ("PC-01", Completed, 1), ("PC-02", Completed, 2)];
    assert_eq!(counts.per_worker, expected.map(|(worker, status, count)| (name(worker), status, count)));
}

fn ends_are_counted_from_a_moment_on(desk: &mut Desk) {
    desk.commit([task(1, 1), ended_task(1, 2, 10), ended_task(1, 3, 20), ended_task(1, 4, 30)].map(changed));
    for (since, expected) in [(0, 3), (10, 3), (11, 2), (30, 1), (31, 0)] {
        let counts = desk.reader().job_counts(job_id(1), Timestamp(since)).expect("they are counted");
        assert_eq!(counts.ended_since, expected, "since {since}");
    }
}

fn a_job_without_tasks_counts_nothing(desk: &mut Desk) {
    let counts = desk.reader().job_counts(job_id(1), Timestamp(0)).expect("they are counted");
    assert_eq!(counts, JobCounts::default());
}

/// Q15: each job of a page with its tasks by status and the devices it is for; what is closed and known is not counted.
fn jobs_are_listed_with_how_far_they_are(desk: &mut Desk) {
    use TaskStatus::{Completed, Pending, Running};
    fleet(desk);
    let of = |names: &[&str]| names.iter().map(|id| name(id)).collect();
    let scoped = |number: u64, scope: Scope| changed(JobRecord { scope, ..job(number) });
    desk.commit([scoped(1, Scope::All), scoped(2, Scope::Workers(of(&["PC-01"])))]);
    desk.commit([scoped(3, Scope::Devices(of(&["device-1", "gone"]))), changed(closed_job(4, 9))]);
    desk.commit([scoped(5, Scope::Workers(of(&["PC-02"])))]);
    desk.commit([changed(JobRecord { open: true, ..closed_job(6, 9) })]);
    let pending = TaskRecord { status: Pending, ..task(1, 3) };
    desk.commit([changed(task(1, 1)), changed(ended_task(1, 2, 5)), changed(pending)]);
    desk.commit([changed(ended_task(4, 1, 5)), changed(ended_task(4, 2, 5)), changed(task(6, 1))]);
    let listed = |limit: u32, known: &dyn Fn(JobId) -> bool| {
        let page = Cursor { after: None, limit };
        let page = desk.reader().counted_jobs(&JobFilter::default(), &page, known).expect("they are read");
        let items = page.items.into_iter().map(|one| (one.job.id, one.tasks, one.targets));
        (items.collect::<Vec<_>>(), page.next.is_some())
    };
    let nothing = || Some(Vec::new());
    let running = || (job_id(6), Some(vec![(Running, 1)]), None);
    let expected = vec![
        running(),
        (job_id(5), nothing(), Some(0)),
        (job_id(4), Some(vec![(Completed, 2)]), None),
        (job_id(3), nothing(), Some(2)),
        (job_id(2), nothing(), Some(3)),
        (job_id(1), Some(vec![(Pending, 1), (Running, 1), (Completed, 1)]), Some(3)),
    ];
    assert_eq!(listed(100, &|_| false), (expected, false));
    let known = [running(), (job_id(5), nothing(), Some(0)), (job_id(4), None, None)];
    assert_eq!(listed(3, &|_| true), (known.to_vec(), true), "what is open is counted, known or not");
    let labels = Scope::Labels([(name("rack"), name("a"))].into());
    for (scope, targets) in [
        (Scope::All, Some(3)),
        (Scope::Workers(of(&["PC-01", "gone"])), Some(3)),
        (Scope::Devices(of(&["device-1", "gone"])), Some(2)),
        (labels, None),
    ] {
        assert_eq!(desk.reader().targets(&scope).expect("it is read"), targets, "{scope:?}");
    }
}

/// Q13: every worker and every device by name, each device with what runs on it, wherever that was given out.
fn a_fleet_is_seen_whole(desk: &mut Desk) {
    use LaneStatus::{Error, Offline, Online};
    assert_eq!(desk.reader().fleet().expect("it is read"), FleetView::default());
    desk.commit(["PC-02", "PC-01"].map(|id| changed(worker(id))));
    desk.commit([changed(job(1)), changed(JobRecord { open: true, ..closed_job(2, 5) }), changed(job(3))]);
    let statuses = [("device-2", Error), ("device-1", Online), ("device-4", Online), ("device-3", Offline)];
    desk.commit(statuses.map(|(id, status)| changed(in_status(id, status))));
    desk.commit([changed(lane("device-5", "PC-02"))]);
    let pending = TaskRecord { status: TaskStatus::Pending, ..task(3, 4) };
    desk.commit([task(1, 1), task(2, 5), ended_task(3, 3, 5), ended_task(3, 1, 5), pending].map(changed));
    let fleet = desk.reader().fleet().expect("it is read");
    assert_eq!(fleet.workers, ["PC-01", "PC-02"].map(worker));
    let expected = [
        ("device-1", "PC-01", Online, Some(task_id(1, 1))),
        ("device-2", "PC-01", Error, None),
        ("device-3", "PC-01", Offline, None),
        ("device-4", "PC-01", Online, None),
        ("device-5", "PC-02", Online, Some(task_id(2, 5))),
    ];
    let view = |(id, worker, status, running)| {
        let attached = status != Offline;
        LaneView { id: name(id), worker: name(worker), status, attached, running }
    };
    assert_eq!(fleet.lanes, expected.map(view));
}

fn jobs_that_are_open_are_counted(desk: &mut Desk) {
    assert_eq!(desk.reader().backlog().expect("it is read"), Backlog::default());
    let with = |number: u64, status: JobStatus, at: i64| {
        changed(JobRecord { status, created_at: Timestamp(at), ..job(number) })
    };
    desk.commit([with(4, JobStatus::Pending, 40), with(2, JobStatus::Pending, 50)]);
    desk.commit([with(1, JobStatus::Running, 10), with(3, JobStatus::Pending, 30)]);
    desk.commit([changed(closed_job(5, 5)), with(6, JobStatus::Cancelled, 1)]);
    let jobs = desk.reader().backlog().expect("it is read").jobs;
    let oldest = Some((job_id(2), Timestamp(50)));
    assert_eq!(
        jobs,
        OpenCounts { pending: 3, running: 1, paused: 0, oldest },
        "the oldest is the first in line"
    );
}
