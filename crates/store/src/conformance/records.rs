//! Every record comes back as it was written, over a restart.

use super::{Fixture, desk::Desk, named, samples::*};
use crate::{Cursor, Loaded};
use muster_model::{
    AlertKind, AlertRecord, Attachment, Change, Fence, JobPayload, JobRecord, JobStatus, LaneRecord,
    LaneStatus, LeaseKind, LogKind, LogRecord, Scope, SecretRecord, ShareCounts, ShareRecord, TaskId,
    TaskRecord, TaskStatus, Timestamp, WorkerRecord, WorkerStatus,
};

named![
    a_worker_comes_back_whole,
    a_lane_comes_back_whole,
    a_job_comes_back_whole,
    every_scope_comes_back,
    a_job_is_loaded_without_its_payload,
    a_payload_may_lack_what_it_can_lack,
    a_task_comes_back_whole,
    a_task_is_loaded_without_its_result,
    a_large_text_comes_back,
    the_largest_ordinal_comes_back,
    a_share_comes_back_whole,
    secrets_come_back_in_their_order,
    every_station_of_a_task_comes_back,
    every_kind_of_worker_log_comes_back,
    an_alert_comes_back_whole,
    what_was_never_written_is_not_there,
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
        assert_eq!(
            desk.reader().worker_record(&worker.id).expect("it is read"),
            Some(worker)
        );
    }
}

fn a_lane_comes_back_whole(fixture: &mut dyn Fixture) {
    use Attachment::{Absent, Error, Offline, Online, Unauthorized};
    let mut desk = Desk::open(fixture);
    let statuses = [LaneStatus::Online, LaneStatus::Offline, LaneStatus::Error];
    let variant = |(place, attachment)| LaneRecord {
        attachment,
        status: statuses[place % 3],
        failed: place % 2 == 1,
        labels: [(name("모델"), name("S24 \"Ultra\"")), (name("rack"), name("7"))].into(),
        offline_since: LATE,
        note: Some("new cable\n'ok'".into()),
        ..lane(&format!("lane-{place}"), "PC-01")
    };
    let mut written: Vec<LaneRecord> = [Online, Offline, Unauthorized, Error, Absent]
        .into_iter()
        .enumerate()
        .map(variant)
        .collect();
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
    let written: Vec<JobRecord> = (1..)
        .zip(scopes)
        .map(|(seq, scope)| JobRecord { scope, ..job(seq) })
        .collect();
    desk.commit(written.iter().cloned().map(changed));
    for job in written {
        let read = desk
            .reader()
            .job(job.id)
            .expect("it is read")
            .expect("it is there");
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
    assert_eq!(
        loaded,
        Some(JobRecord {
            payload: None,
            ..job(1)
        })
    );
}

fn a_payload_may_lack_what_it_can_lack(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let bare = JobPayload {
        title: None,
        workflow: "".into(),
        params: "".into(),
        timeout: None,
    };
    desk.commit([changed(JobRecord {
        payload: Some(bare.clone()),
        ..job(1)
    })]);
    let read = desk
        .reader()
        .job(job_id(1))
        .expect("it is read")
        .expect("it is there");
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
    let full = (1..)
        .zip(statuses)
        .map(|(ordinal, status)| full_task(ordinal, status));
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
    assert_eq!(
        loaded,
        Some(TaskRecord {
            result: None,
            ..full_task(1, TaskStatus::Completed)
        })
    );
}

fn a_large_text_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let large: Box<str> = "기기".repeat(500_000).into();
    let written = TaskRecord {
        result: Some(large),
        ..ended_task(1, 1, 5)
    };
    desk.commit([changed(written.clone())]);
    assert_eq!(desk.reader().task(written.id).expect("it is read"), Some(written));
}

fn the_largest_ordinal_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let ordinals = [1, 9, 10, 99, 100, TaskId::ORDINAL_MAX];
    desk.commit(ordinals.map(|ordinal| changed(task(1, ordinal))));
    let page = desk.reader().tasks(
        job_id(1),
        &crate::TaskFilter::default(),
        &Cursor {
            after: None,
            limit: 9,
        },
    );
    let read: Vec<u32> = page
        .expect("they are read")
        .items
        .iter()
        .map(|task| task.id.ordinal)
        .collect();
    assert_eq!(read, ordinals);
}

fn a_share_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let counts = ShareCounts {
        completed: 1,
        failed: u32::MAX,
        failed_attempts: 3,
    };
    let written = [
        share("PC-01", 1),
        ShareRecord {
            finished: true,
            counts,
            ..share("PC-02", 1)
        },
    ];
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
    let secret = |byte: u8, valid_until| SecretRecord {
        hash: [byte; 32],
        valid_until,
    };
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
    assert_eq!(
        loaded.collect::<Vec<_>>(),
        [(name("PC-01"), first), (name("PC-02"), second)]
    );
}

fn every_station_of_a_task_comes_back(fixture: &mut dyn Fixture) {
    use LogKind::{Acked, Created, Failed, FailedFinal, RetryScheduled, Sent, Succeeded, Timeout};
    let mut desk = Desk::open(fixture);
    let kinds = [
        Created,
        Sent,
        Acked,
        Succeeded,
        Failed,
        Timeout,
        RetryScheduled,
        FailedFinal,
    ];
    let variant = |(seq, kind)| LogRecord {
        attempt: u16::MAX,
        message: Some("연결 끊김".into()),
        at: Timestamp(i64::MAX),
        ..log(task_id(1, 1), seq, kind)
    };
    let mut written: Vec<LogRecord> = (1..).zip(kinds).map(variant).collect();
    written.push(log(task_id(1, 1), 1_000, Created));
    // Neither the order of writing nor the neighbours matter.
    let neighbour = log(task_id(1, 2), 1, Created);
    desk.commit(written.iter().rev().cloned().chain([neighbour]).map(changed));
    let desk = desk.reopen(fixture);
    assert_eq!(
        desk.reader().task_log(task_id(1, 1)).expect("it is read"),
        written
    );
}

fn every_kind_of_worker_log_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let kinds = [
        "enrolled",
        "online",
        "offline",
        "draining",
        "resumed",
        "paused",
        "supplied",
        "capped",
        "secret_rotated",
    ];
    let written: Vec<_> = (1..)
        .zip(kinds)
        .map(|(at, kind)| worker_log("PC-01", kind, at))
        .collect();
    desk.commit(
        written
            .iter()
            .cloned()
            .chain([worker_log("PC-02", "online", 3)])
            .map(changed),
    );
    let desk = desk.reopen(fixture);
    let read = desk.reader().worker_log(&name("PC-01"), 100).expect("it is read");
    assert_eq!(read, written.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(
        desk.reader().worker_log(&name("PC-01"), 2).expect("it is read"),
        read[..2]
    );
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
    desk.commit([changed(alert(1, 1)), changed(mismatch.clone())]);
    let desk = desk.reopen(fixture);
    let page = desk
        .reader()
        .alerts(&Cursor {
            after: None,
            limit: 9,
        })
        .expect("they are read");
    assert_eq!(page.items, [mismatch, alert(1, 1)]);
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
