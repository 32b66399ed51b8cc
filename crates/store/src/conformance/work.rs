//! Jobs and tasks come back as they were written, over a restart.

use super::{Fixture, desk::Desk, named, samples::*};
use crate::{Cursor, Loaded};
use muster_model::{
    Fence, JobPayload, JobRecord, JobStatus, LeaseKind, Scope, TaskId, TaskRecord, TaskStatus, Timestamp,
};

named![
    a_job_comes_back_whole,
    every_scope_comes_back,
    a_job_is_loaded_without_its_payload,
    a_payload_may_lack_what_it_can_lack,
    a_task_comes_back_whole,
    a_task_is_loaded_without_its_result,
    a_large_text_comes_back,
    the_largest_ordinal_comes_back,
];

const LATE: Option<Timestamp> = Some(Timestamp(i64::MAX));

fn a_job_comes_back_whole(fixture: &mut dyn Fixture) {
    use JobStatus::{Cancelled, Failed, Pending, Running, Success};
    let mut desk = Desk::open(fixture);
    let variant = |(seq, status): (u64, JobStatus)| JobRecord {
        status,
        queue: name("밤"),
        max_attempts: u16::MAX,
        tasks: TaskId::ORDINAL_MAX,
        open: !status.is_ended(),
        started_at: LATE,
        completed_at: Some(Timestamp(-5)),
        error: Some("no eligible device".into()),
        ..job(seq)
    };
    let statuses = [Pending, Running, Success, Failed, Cancelled];
    let written: Vec<JobRecord> = (1..).zip(statuses).map(variant).chain([job(9)]).collect();
    desk.commit(written.iter().cloned().map(changed));
    let desk = desk.reopen(fixture);
    for job in written {
        assert_eq!(desk.reader().job(job.id).expect("it is read"), Some(job));
    }
}

fn every_scope_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let scopes = [
        Scope::All,
        Scope::Workers([name("PC-01"), name("피씨")].into()),
        Scope::Devices((0..5_000).map(|n| name(&format!("device-{n}"))).collect()),
        Scope::Labels([(name("model"), name("S24"))].into()),
        Scope::Workers([].into()),
    ];
    let written: Vec<JobRecord> =
        (1..).zip(scopes).map(|(seq, scope)| JobRecord { scope, ..job(seq) }).collect();
    desk.commit(written.iter().cloned().map(changed));
    for job in written {
        let read = desk.reader().job(job.id).expect("it is read").expect("it is there");
        assert_eq!(read.scope, job.scope);
    }
}

fn a_job_is_loaded_without_its_payload(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(job(1))]);
    let loaded = desk.load().into_iter().find_map(|loaded| match loaded {
        Loaded::Job(job) => Some(job),
        _ => None,
    });
    assert_eq!(loaded, Some(JobRecord { payload: None, ..job(1) }));
}

fn a_payload_may_lack_what_it_can_lack(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let bare =
        JobPayload { title: None, workflow: "".into(), params: "".into(), timeout: None, schedule: None };
    desk.commit([changed(JobRecord { payload: Some(bare.clone()), ..job(1) })]);
    let read = desk.reader().job(job_id(1)).expect("it is read").expect("it is there");
    assert_eq!(read.payload, Some(bare));
}

fn full_task(ordinal: u32, status: TaskStatus) -> TaskRecord {
    TaskRecord {
        worker: name("피씨 7"),
        lane: name("emulator-5554"),
        status,
        attempt: u16::MAX,
        max_attempts: u16::MAX,
        error: Some("needs_usb_authorization: 'x' \"y\"\n".into()),
        result: Some("{\"ok\": true}".into()),
        fence: Fence(u128::MAX),
        lease: LeaseKind::Claim,
        lease_until: Some(Timestamp(1)),
        started_at: Some(Timestamp(2)),
        confirmed_at: Some(Timestamp(3)),
        timeout_at: Some(Timestamp(4)),
        completed_at: LATE,
        timed_out: true,
        logs: u32::MAX,
        ..task(1, ordinal)
    }
}

fn a_task_comes_back_whole(fixture: &mut dyn Fixture) {
    use TaskStatus::{Cancelled, Completed, Failed, Pending, Running};
    let mut desk = Desk::open(fixture);
    let statuses = [Pending, Running, Completed, Failed, Cancelled];
    let full = (1..).zip(statuses).map(|(ordinal, status)| full_task(ordinal, status));
    let written: Vec<TaskRecord> = full.chain([task(1, 6)]).collect();
    desk.commit(written.iter().cloned().map(changed));
    let desk = desk.reopen(fixture);
    for task in written {
        assert_eq!(desk.reader().task(task.id).expect("it is read"), Some(task));
    }
}

fn a_task_is_loaded_without_its_result(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(job(1)), changed(full_task(1, TaskStatus::Completed))]);
    let mut desk = desk.reopen(fixture);
    let loaded = desk.load().into_iter().find_map(|loaded| match loaded {
        Loaded::Task(task) => Some(task),
        _ => None,
    });
    assert_eq!(loaded, Some(TaskRecord { result: None, ..full_task(1, TaskStatus::Completed) }));
}

fn a_large_text_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let large: Box<str> = "기기".repeat(500_000).into();
    let written = TaskRecord { result: Some(large), ..ended_task(1, 1, 5) };
    desk.commit([changed(written.clone())]);
    assert_eq!(desk.reader().task(written.id).expect("it is read"), Some(written));
}

fn the_largest_ordinal_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let ordinals = [1, 9, 10, 99, 100, TaskId::ORDINAL_MAX];
    desk.commit(ordinals.map(|ordinal| changed(task(1, ordinal))));
    let page =
        desk.reader().tasks(job_id(1), &crate::TaskFilter::default(), &Cursor { after: None, limit: 9 });
    let read: Vec<u32> = page.expect("they are read").items.iter().map(|task| task.id.ordinal).collect();
    assert_eq!(read, ordinals);
}
