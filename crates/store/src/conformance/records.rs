//! Every record comes back as it was written, whatever its texts hold.

use super::{
    Fixture,
    desk::{Desk, entry},
    named,
    samples::*,
};
use crate::{Batch, Cursor, FeedEntry, LaneFilter, Loaded};
use muster_model::{
    AlertKind, AlertRecord, Attachment, Change, Fact, JobPayload, JobRecord, Key, LaneRecord, LaneStatus,
    LogKind, LogRecord, ReportRecord, SecretRecord, ShareCounts, ShareRecord, TaskRecord, Timestamp,
    WorkerLogKind, WorkerRecord, WorkerStatus,
};

named![
    a_worker_comes_back_whole,
    a_lane_comes_back_whole,
    a_share_comes_back_whole,
    secrets_come_back_in_their_order,
    every_station_of_a_task_comes_back,
    every_kind_of_worker_log_comes_back,
    an_alert_comes_back_whole,
    what_was_never_written_is_not_there,
    free_texts_may_hold_anything,
    names_and_keys_may_hold_what_is_no_control,
    the_feed_may_hold_anything,
];

const LATE: Option<Timestamp> = Some(Timestamp(i64::MAX));

fn a_worker_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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
    let mut desk = desk.reopen(fixture);
    let loaded = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Worker(worker) => Some(worker),
        _ => None,
    });
    assert_eq!(loaded.collect::<Vec<_>>(), written);
    for worker in written {
        assert!(desk.reader().worker_records().expect("they are read").contains(&worker));
        assert_eq!(desk.reader().worker_record(&worker.id).expect("it is read"), Some(worker));
    }
}

fn a_lane_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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
    let mut desk = desk.reopen(fixture);
    let loaded = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Lane(lane) => Some(lane),
        _ => None,
    });
    assert_eq!(loaded.collect::<Vec<_>>(), written);
    for lane in written {
        assert_eq!(desk.reader().lane(&lane.id).expect("it is read"), Some(lane));
    }
}

fn a_share_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let counts = ShareCounts { completed: 1, failed: u32::MAX, failed_attempts: 3 };
    let written = [share("PC-01", 1), ShareRecord { finished: true, counts, ..share("PC-02", 1) }];
    desk.commit(written.clone().map(changed));
    let mut desk = desk.reopen(fixture);
    let loaded = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Share(share) => Some(share),
        _ => None,
    });
    assert_eq!(loaded.collect::<Vec<_>>(), written);
}

fn secrets_come_back_in_their_order(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let secret = |byte: u8, valid_until| SecretRecord { hash: [byte; 32], valid_until };
    let first = vec![secret(9, None), secret(0, LATE), secret(255, Some(Timestamp(0)))];
    let second = vec![secret(1, None)];
    desk.commit([
        Change::Secrets(name("PC-01"), first.clone()),
        Change::Secrets(name("PC-02"), second.clone()),
    ]);
    let mut desk = desk.reopen(fixture);
    let loaded = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Secrets(worker, secrets) => Some((worker, secrets)),
        _ => None,
    });
    assert_eq!(loaded.collect::<Vec<_>>(), [(name("PC-01"), first), (name("PC-02"), second)]);
}

fn every_station_of_a_task_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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
    desk.commit(written.iter().rev().cloned().chain([neighbour]).map(changed));
    let desk = desk.reopen(fixture);
    assert_eq!(desk.reader().task_log(task_id(1, 1)).expect("it is read"), written);
}

fn every_kind_of_worker_log_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let written: Vec<_> =
        (1..).zip(WorkerLogKind::ALL).map(|(at, kind)| worker_log("PC-01", kind, at)).collect();
    desk.commit(written.iter().cloned().chain([worker_log("PC-02", WorkerLogKind::Online, 3)]).map(changed));
    let desk = desk.reopen(fixture);
    let read = desk.reader().worker_log(&name("PC-01"), 100).expect("it is read");
    assert_eq!(read, written.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(desk.reader().worker_log(&name("PC-01"), 2).expect("it is read"), read[..2]);
}

fn an_alert_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let mismatch = AlertRecord {
        kind: AlertKind::SummaryMismatch,
        worker: name("피씨"),
        job: Some(job_id(1)),
        message: "요약".into(),
        ..alert(u128::MAX, 2)
    };
    let integrity = AlertRecord { kind: AlertKind::ChunkIntegrity, ..alert(2, 3) };
    desk.commit([changed(alert(1, 1)), changed(mismatch.clone()), changed(integrity.clone())]);
    let desk = desk.reopen(fixture);
    let page = desk.reader().alerts(&Cursor { after: None, limit: 9 }).expect("they are read");
    assert_eq!(page.items, [integrity, mismatch, alert(1, 1)]);
}

fn what_was_never_written_is_not_there(fixture: &mut dyn Fixture) {
    let desk = Desk::open(fixture);
    let reader = desk.reader();
    assert_eq!(reader.job(job_id(1)).expect("it is read"), None);
    assert_eq!(reader.task(task_id(1, 1)).expect("it is read"), None);
    assert_eq!(reader.lane(&name("x")).expect("it is read"), None);
    assert_eq!(reader.worker(&name("x")).expect("it is read"), None);
    assert_eq!(reader.task_log(task_id(1, 1)).expect("it is read"), []);
    assert_eq!(reader.worker_log(&name("x"), 9).expect("it is read"), []);
}

/// What a store could stumble over: NUL, what may stand in its place, and what that may be escaped by.
const ODD: [&str; 6] =
    ["\0", "\u{F8FF}", "a\0\u{F8FF}0\u{F8FF}1\0z", "\u{F8FF}\0", "\u{10FFFF}\u{FFFF}", "\\0\\u0000%00"];

fn free_texts_may_hold_anything(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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

fn names_and_keys_may_hold_what_is_no_control(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let names = ["PC\u{F8FF}", "PC\u{F8FF}0", "PC\u{F8FF}1", "PC\u{F8FF}\u{F8FF}", "PC\u{F900}"];
    for odd in names {
        desk.commit([changed(worker(odd)), changed(lane(odd, odd)), changed(key(odd, 1))]);
        assert_eq!(desk.fact(Key::Submission(submission_key(odd))), Some(Fact::Submission(key(odd, 1))));
        let of_worker = LaneFilter { worker: Some(name(odd)), ..LaneFilter::default() };
        let page = desk.reader().lanes(&of_worker, &Cursor { after: None, limit: 9 }).expect("they are read");
        assert_eq!(page.items, [lane(odd, odd)]);
    }
    let loaded = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Worker(worker) => Some(worker),
        _ => None,
    });
    assert_eq!(loaded.collect::<Vec<_>>(), names.map(worker), "they come in their order");
}

fn the_feed_may_hold_anything(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let feed: Vec<FeedEntry> =
        (1..).zip(ODD).map(|(seq, odd)| FeedEntry { body: odd.into(), ..entry(seq) }).collect();
    desk.try_commit(&Batch { feed: feed.clone(), ..Batch::default() }).expect("it is kept");
    assert_eq!(desk.reader().feed(0, 100).expect("it is read").entries, feed);
}
