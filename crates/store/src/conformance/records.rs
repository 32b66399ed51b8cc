//! Every record comes back as it was written, over a restart, whatever its texts hold.

use super::samples::*;
use crate::{
    Batch, Cursor, FeedEntry, LaneFilter, Loaded,
    conformance::{
        desk::{Desk, entry},
        loaded, named,
    },
};
use muster_model::{
    AlertKind, AlertRecord, Attachment, Change, Fact, Fence, JobPayload, JobRecord, JobStatus, Key,
    LaneRecord, LaneStatus, LeaseKind, LogKind, LogRecord, ReportRecord, Scope, SecretRecord, ShareCounts,
    ShareRecord, TaskId, TaskRecord, TaskStatus, Timestamp, WorkerLogKind, WorkerRecord, WorkerStatus,
};
use std::sync::Arc;

named![
    a_worker_comes_back_whole,
    a_lane_comes_back_whole,
    a_share_comes_back_whole,
    secrets_come_back_in_their_order,
    every_station_of_a_task_comes_back,
    a_log_grows_over_batches,
    every_kind_of_worker_log_comes_back,
    an_alert_comes_back_whole,
    what_was_never_written_is_not_there,
    free_texts_may_hold_anything,
    names_and_keys_may_hold_what_is_no_control,
    the_feed_may_hold_anything,
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

fn a_worker_comes_back_whole(desk: &mut Desk) {
    let busy = WorkerRecord {
        status: WorkerStatus::Offline,
        status_since: Timestamp(-1),
        cap: Some(u32::MAX),
        draining: true,
        paused_until: LATE,
        lease_until: Timestamp(3),
        last_seen: Timestamp(4),
        heartbeat_late_since: None,
        created_at: Timestamp(5),
        ..worker("피씨 \"둘\"")
    };
    let written = [worker("PC-01"), busy];
    desk.commit(written.clone().map(changed));
    desk.reopen();
    assert_eq!(loaded!(desk, Loaded::Worker(worker) => worker), written);
    for worker in written {
        assert!(desk.reader().worker_records().expect("they are read").contains(&worker));
        assert_eq!(desk.reader().worker_record(&worker.id).expect("it is read"), Some(worker));
    }
}

fn a_lane_comes_back_whole(desk: &mut Desk) {
    let variant = |(place, attachment)| LaneRecord {
        attachment,
        status: LaneStatus::ALL[place % 3],
        failed: place % 2 == 1,
        labels: [(name("모델"), name("S24 \"Ultra\"")), (name("rack"), name("7"))].into(),
        offline_since: LATE,
        note: Some("new cable\n'ok'".into()),
        ..lane(&format!("lane-{place}"), "PC-01")
    };
    let mut written: Vec<LaneRecord> = Attachment::ALL.into_iter().enumerate().map(variant).collect();
    written.push(lane("plain", "PC-02"));
    desk.commit(written.iter().cloned().map(changed));
    desk.reopen();
    assert_eq!(loaded!(desk, Loaded::Lane(lane) => lane), written);
    for lane in written {
        assert_eq!(desk.reader().lane(&lane.id).expect("it is read"), Some(lane));
    }
}

fn a_share_comes_back_whole(desk: &mut Desk) {
    let counts = ShareCounts { completed: 1, failed: u32::MAX, failed_attempts: 3 };
    let written = [share("PC-01", 1), ShareRecord { finished: true, counts, ..share("PC-02", 1) }];
    desk.commit(written.clone().map(changed));
    desk.reopen();
    assert_eq!(loaded!(desk, Loaded::Share(share) => share), written);
}

fn secrets_come_back_in_their_order(desk: &mut Desk) {
    let secret = |byte: u8, valid_until| SecretRecord { hash: [byte; 32], valid_until };
    let first = vec![secret(9, None), secret(0, LATE), secret(255, Some(Timestamp(0)))];
    let second = vec![secret(1, None)];
    desk.commit([
        Change::Secrets(name("PC-01"), first.clone()),
        Change::Secrets(name("PC-02"), second.clone()),
    ]);
    desk.reopen();
    assert_eq!(
        loaded!(desk, Loaded::Secrets(worker, secrets) => (worker, secrets)),
        [(name("PC-01"), first), (name("PC-02"), second)]
    );
}

/// Q12
fn every_station_of_a_task_comes_back(desk: &mut Desk) {
    let variant = |(seq, kind)| LogRecord {
        attempt: u16::MAX,
        message: Some("연결 끊김".into()),
        at: Timestamp(i64::MAX),
        ..log(task_id(1, 1), seq, kind)
    };
    let mut written: Vec<LogRecord> = (1..).zip(LogKind::ALL).map(variant).collect();
    written.push(log(task_id(1, 1), 1_000, LogKind::Created));
    // Neither the order of writing nor the neighbours matter.
    let neighbour = log(task_id(1, 2), 1, LogKind::Created);
    let lines = written.iter().rev().cloned().chain([neighbour]).map(changed);
    desk.commit(lines.chain([changed(task(1, 1)), changed(task(1, 2))]));
    desk.reopen();
    assert_eq!(desk.reader().task_log(task_id(1, 1)).expect("it is read"), written);
}

/// Q12: a log grows with its task, whatever else happens to the row.
fn a_log_grows_over_batches(desk: &mut Desk) {
    let line = |seq| log(task_id(1, 1), seq, LogKind::Sent);
    let at_attempt = |attempt| changed(TaskRecord { attempt, ..task(1, 1) });
    desk.commit([changed(line(1)), at_attempt(1), changed(line(2))]);
    desk.commit([at_attempt(2), changed(task(1, 2))]);
    desk.commit([at_attempt(3), changed(line(4)), changed(line(3)), at_attempt(4), changed(line(5))]);
    desk.reopen();
    desk.commit([changed(line(6)), changed(ended_task(1, 1, 5))]);
    let reader = desk.reader();
    assert_eq!(reader.task_log(task_id(1, 1)).expect("it is read"), (1..=6).map(line).collect::<Vec<_>>());
    assert_eq!(reader.task_log(task_id(1, 2)).expect("it is read"), []);
    assert_eq!(reader.task(task_id(1, 1)).expect("it is read"), Some(ended_task(1, 1, 5)));
}

fn every_kind_of_worker_log_comes_back(desk: &mut Desk) {
    let written: Vec<_> =
        (1..).zip(WorkerLogKind::ALL).map(|(at, kind)| worker_log("PC-01", kind, at)).collect();
    desk.commit(written.iter().cloned().chain([worker_log("PC-02", WorkerLogKind::Online, 3)]).map(changed));
    desk.reopen();
    let read = desk.reader().worker_log(&name("PC-01"), 100).expect("it is read");
    assert_eq!(read, written.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(desk.reader().worker_log(&name("PC-01"), 2).expect("it is read"), read[..2]);
}

fn an_alert_comes_back_whole(desk: &mut Desk) {
    let mismatch = AlertRecord {
        kind: AlertKind::SummaryMismatch,
        worker: name("피씨"),
        job: Some(job_id(1)),
        message: "요약".into(),
        ..alert(u128::MAX, 2)
    };
    let integrity = AlertRecord { kind: AlertKind::ChunkIntegrity, ..alert(2, 3) };
    desk.commit([changed(alert(1, 1)), changed(mismatch.clone()), changed(integrity.clone())]);
    desk.reopen();
    let page = desk.reader().alerts(&Cursor { after: None, limit: 9 }).expect("they are read");
    assert_eq!(page.items, [integrity, mismatch, alert(1, 1)]);
}

fn what_was_never_written_is_not_there(desk: &mut Desk) {
    let reader = desk.reader();
    assert_eq!(reader.job(job_id(1)).expect("it is read"), None);
    assert_eq!(reader.task(task_id(1, 1)).expect("it is read"), None);
    assert_eq!(reader.lane(&name("x")).expect("it is read"), None);
    assert_eq!(reader.worker(&name("x")).expect("it is read"), None);
    assert_eq!(reader.task_log(task_id(1, 1)).expect("it is read"), []);
    assert_eq!(reader.worker_log(&name("x"), 9).expect("it is read"), []);
}

/// Texts that a store could stumble over: NUL, what may stand in its place, and what that may be escaped by.
const ODD: [&str; 6] =
    ["\0", "\u{F8FF}", "a\0\u{F8FF}0\u{F8FF}1\0z", "\u{F8FF}\0", "\u{10FFFF}\u{FFFF}", "\\0\\u0000%00"];

fn free_texts_may_hold_anything(desk: &mut Desk) {
    for (number, odd) in (1..).zip(ODD) {
        let text = Some(Box::<str>::from(odd));
        let payload = JobPayload { title: text.clone(), params: odd.into(), ..payload() };
        let job = JobRecord { error: text.clone(), payload: Some(payload), ..job(number) };
        let task = TaskRecord { error: text.clone(), result: text.clone(), ..ended_task(number, 1, 5) };
        let lane = LaneRecord { note: text.clone(), ..lane(&format!("device-{number}"), "PC-01") };
        let log = LogRecord { message: text, ..log(task.id, 1, LogKind::Failed) };
        let alert = AlertRecord { message: odd.into(), ..alert(number.into(), 1) };
        let report = ReportRecord { body: odd.into(), ..report(&format!("report-{number}"), 1) };
        let changes =
            [changed(job.clone()), changed(task.clone()), changed(lane.clone()), changed(log.clone())];
        desk.commit(changes.into_iter().chain([changed(alert.clone()), changed(report)]));
        let reader = desk.reader();
        assert_eq!(reader.job(job.id).expect("it is read"), Some(job));
        assert_eq!(reader.task(task.id).expect("it is read").as_ref(), Some(&task));
        assert_eq!(reader.lane(&lane.id).expect("it is read"), Some(lane));
        assert_eq!(reader.task_log(task.id).expect("it is read"), [log]);
        let newest = reader.alerts(&Cursor { after: None, limit: 1 }).expect("they are read");
        assert_eq!(newest.items, [alert]);
        assert_eq!(desk.fact(Key::Task(task.id)), Some(Fact::Task(Box::new(task))));
    }
}

fn names_and_keys_may_hold_what_is_no_control(desk: &mut Desk) {
    let names = ["PC\u{F8FF}", "PC\u{F8FF}0", "PC\u{F8FF}1", "PC\u{F8FF}\u{F8FF}", "PC\u{F900}"];
    for odd in names {
        desk.commit([changed(worker(odd)), changed(lane(odd, odd)), changed(key(odd, 1))]);
        assert_eq!(desk.fact(Key::Submission(submission_key(odd))), Some(Fact::Submission(key(odd, 1))));
        let of_worker = LaneFilter { worker: Some(name(odd)), ..LaneFilter::default() };
        let page = desk.reader().lanes(&of_worker, &Cursor { after: None, limit: 9 }).expect("they are read");
        assert_eq!(page.items, [lane(odd, odd)]);
    }
    assert_eq!(
        loaded!(desk, Loaded::Worker(worker) => worker),
        names.map(worker),
        "they come in their order"
    );
}

fn the_feed_may_hold_anything(desk: &mut Desk) {
    let odd_entry = |(seq, odd): (u64, &&str)| FeedEntry { body: (*odd).into(), ..(*entry(seq)).clone() };
    let feed: Vec<Arc<FeedEntry>> = (1..).zip(&ODD).map(odd_entry).map(Arc::new).collect();
    desk.try_commit(&Batch { feed: feed.clone(), ..Batch::default() }).expect("it is kept");
    assert_eq!(desk.reader().feed(0, 100).expect("it is read").entries, feed);
}

fn a_job_comes_back_whole(desk: &mut Desk) {
    use JobStatus::{Cancelled, Failed, Pending, Running, Success};
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
    desk.reopen();
    for job in written {
        assert_eq!(desk.reader().job(job.id).expect("it is read"), Some(job));
    }
}

fn every_scope_comes_back(desk: &mut Desk) {
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

fn a_job_is_loaded_without_its_payload(desk: &mut Desk) {
    desk.commit([changed(job(1))]);
    assert_eq!(loaded!(desk, Loaded::Job(job) => job), [JobRecord { payload: None, ..job(1) }]);
}

fn a_payload_may_lack_what_it_can_lack(desk: &mut Desk) {
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

fn a_task_comes_back_whole(desk: &mut Desk) {
    use TaskStatus::{Cancelled, Completed, Failed, Pending, Running};
    let statuses = [Pending, Running, Completed, Failed, Cancelled];
    let full = (1..).zip(statuses).map(|(ordinal, status)| full_task(ordinal, status));
    let written: Vec<TaskRecord> = full.chain([task(1, 6)]).collect();
    desk.commit(written.iter().cloned().map(changed));
    desk.reopen();
    for task in written {
        assert_eq!(desk.reader().task(task.id).expect("it is read"), Some(task));
    }
}

fn a_task_is_loaded_without_its_result(desk: &mut Desk) {
    desk.commit([changed(job(1)), changed(full_task(1, TaskStatus::Completed))]);
    desk.reopen();
    assert_eq!(
        loaded!(desk, Loaded::Task(task) => task),
        [TaskRecord { result: None, ..full_task(1, TaskStatus::Completed) }]
    );
}

fn a_large_text_comes_back(desk: &mut Desk) {
    let large: Box<str> = "기기".repeat(500_000).into();
    let written = TaskRecord { result: Some(large), ..ended_task(1, 1, 5) };
    desk.commit([changed(written.clone())]);
    assert_eq!(desk.reader().task(written.id).expect("it is read"), Some(written));
}

fn the_largest_ordinal_comes_back(desk: &mut Desk) {
    let ordinals = [1, 9, 10, 99, 100, TaskId::ORDINAL_MAX];
    desk.commit(ordinals.map(|ordinal| changed(task(1, ordinal))));
    let page =
        desk.reader().tasks(job_id(1), &crate::TaskFilter::default(), &Cursor { after: None, limit: 9 });
    let read: Vec<u32> = page.expect("they are read").items.iter().map(|task| task.id.ordinal).collect();
    assert_eq!(read, ordinals);
}
