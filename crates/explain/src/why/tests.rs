use super::*;
use muster_model::{
    Cause, FrameCause, FrameTaskStatus, JobId, JobOutcome, JobStatus, MemberCause, Missed, Name, PoolCause,
    PoolJobId, PoolJobStatus, PoolWorkerId, SessionId, SessionStatus, TaskId, TaskStatus,
};
use std::collections::BTreeSet;

const JOB: JobId = JobId(0x0199_0000_0000_7000_8000_0000_0000_0001);
const NOW: Timestamp = Timestamp(1_000_000);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn task() -> TaskId {
    TaskId { job: JOB, ordinal: 3 }
}

fn why(subject: Subject, cause: Cause) -> Why {
    show(&Explanation { subject, cause, heartbeat_late_since: None }, NOW)
}

fn of_devices() -> Vec<Cause> {
    let (lane, worker, task) = (name("d1"), name("PC-01"), task());
    vec![
        Cause::Running { leases: 3 },
        Cause::JobEnded { status: JobStatus::Success, outcome: Some(JobOutcome::Partial) },
        Cause::TaskEnded { status: TaskStatus::Completed },
        Cause::QueuedBehind { active: JOB, ahead: 2 },
        Cause::WorkQueuedBehind { job: JOB, active: JOB, ahead: 1 },
        Cause::NoSlot { worker: worker.clone(), running: 20, cap: 20 },
        Cause::LaneBusy { lane: lane.clone(), task },
        Cause::DeviceError { lane: lane.clone() },
        Cause::DeviceOffline { lane: lane.clone(), since: Timestamp(0) },
        Cause::NodeOffline { worker: worker.clone(), since: Timestamp(0) },
        Cause::NodeDraining { worker: worker.clone() },
        Cause::SupplyPaused { worker: worker.clone(), until: Timestamp(1_090_000) },
        Cause::AwaitingRedelivery { task, at: Timestamp(1_015_000) },
        Cause::WaitingForDevices { until: Timestamp(1_120_000) },
        Cause::AwaitingRetry { task, attempt: 1 },
        Cause::AwaitingPull { worker: worker.clone() },
        Cause::Stopping { task },
        Cause::AlreadyServed { lane: lane.clone(), job: JOB },
        Cause::DeviceContested { lane: lane.clone(), worker, other: name("PC-02") },
        Cause::OutOfScope { lane },
        Cause::NoWork,
        Cause::ScheduleWaiting { next_at: Timestamp(1_090_000), missed: Missed::Once, last_job: Some(JOB) },
        Cause::ScheduleDue { slot: Timestamp(0), missed: Missed::Skip },
        Cause::ScheduleOver { last_job: None },
    ]
}

fn of_frames() -> Vec<Cause> {
    let (worker, session) = (name("W1"), SessionId::new("s").unwrap());
    let (since, reason, workers) = (Timestamp(0), Some("it is odd".into()), 2);
    let causes = [
        FrameCause::SessionRunning { ranges: 1 },
        FrameCause::SessionMerging,
        FrameCause::SessionEnded { status: SessionStatus::Completed },
        FrameCause::SessionPaused { session: session.clone() },
        FrameCause::FarmPaused,
        FrameCause::SessionQueuedBehind { session: session.clone(), ahead: 1 },
        FrameCause::NoRenderers,
        FrameCause::RenderersLost { workers },
        FrameCause::RenderersQuarantined { workers },
        FrameCause::NoneCapable { lost: 1, quarantined: 1 },
        FrameCause::RenderersBusy { workers },
        FrameCause::RenderersPressed { workers },
        FrameCause::RenderersResting { workers },
        FrameCause::AwaitingRenderer { workers },
        FrameCause::RangeUnconfirmed { worker: worker.clone(), attempt: 1, since },
        FrameCause::RangeRunning { worker: worker.clone(), attempt: 1, processed: 3, frames: 9 },
        FrameCause::RangeReplay { worker, attempt: 1, is_loss: true },
        FrameCause::RangeEnded { status: FrameTaskStatus::Completed },
        FrameCause::RendererLost { since, reason: reason.clone() },
        FrameCause::RendererQuarantined { since, reason: reason.clone() },
        FrameCause::RendererRemoved { since, reason: None },
        FrameCause::RendererDegraded { since, reason },
        FrameCause::RendererPressed,
        FrameCause::RendererResting { until: Timestamp(1_001_000) },
        FrameCause::RendererRunning { ranges: 2 },
        FrameCause::NoFrames { sessions: 0 },
        FrameCause::RendererIdle { session },
        FrameCause::RenderersUnheard { workers },
        FrameCause::RendererUnheard { since },
        FrameCause::RangeAvoided {
            worker: Name::new("w8").unwrap(),
            attempt: 2,
            until: Timestamp(1_001_000),
        },
    ];
    causes.into_iter().map(Cause::Frames).collect()
}

fn of_pool() -> Vec<Cause> {
    let (job, worker) = (PoolJobId(3), PoolWorkerId(4));
    let jobs = [
        PoolCause::Ended { status: PoolJobStatus::Failed },
        PoolCause::Running { assignments: 1 },
        PoolCause::LeaseOut { worker, until: NOW },
        PoolCause::NoWorkers,
        PoolCause::NoWorkerInRegion { region: "mars".into() },
        PoolCause::RequirementsUnmet,
        PoolCause::WorkersAway { offline: 3, draining: 0, banned: 1 },
        PoolCause::WorkersBusy { workers: 2 },
        PoolCause::TooFewOwners { owners: 1, needed: 3 },
        PoolCause::HigherPriorityFirst { job, priority: 9 },
        PoolCause::ClientsTurn { job },
        PoolCause::OlderJobFirst { job },
        PoolCause::WaitingForPoll { workers: 1 },
    ];
    let workers = [
        MemberCause::Banned { reason: "it lied".into() },
        MemberCause::Offline { since: Timestamp(0) },
        MemberCause::Draining { running: 0 },
        MemberCause::Full { running: 1, slots: 1 },
        MemberCause::Running { running: 1, slots: 2 },
        MemberCause::NoJobs,
        MemberCause::NoMatchingJob { waiting: 2 },
        MemberCause::Idle { job },
    ];
    jobs.into_iter().map(Cause::Pool).chain(workers.into_iter().map(Cause::Member)).collect()
}

fn causes() -> Vec<Cause> {
    [of_devices(), of_frames(), of_pool()].concat()
}

/// Q16: every cause has a row with its rule, and one sentence that names the subject and every object it refers to but
/// the jobs of other clients; nothing of a template is left in it.
#[test]
fn every_cause_has_a_sentence() {
    for cause in causes() {
        let why = why(Subject::Lane(name("d9")), cause.clone());
        let sentence = &why.sentence;
        assert!(sentence.starts_with("The device d9 ") && sentence.ends_with('.'), "{sentence}");
        assert!(!sentence.contains(['{', '}', '[', ']']) && !sentence.contains("  "), "{sentence}");
        for (key, value) in why.data.iter().filter(|(key, _)| key.ends_with("_id") && *key != "job_id") {
            assert!(sentence.contains(value.as_str().unwrap()), "{key} is missing: {sentence}");
        }
        let row = rows().find(|row| row.code == why.code).unwrap();
        assert_eq!((&*why.rule, &*why.code), cause.rule_and_code());
        assert!(row.rule.split(", ").any(|rule| rule == why.rule), "{row:?}");
    }
}

/// Q16: codes are unique, each of the engine's is some cause's, and there are at least thirty.
#[test]
fn every_row_is_of_use() {
    let used: BTreeSet<_> = causes().iter().map(|cause| cause.rule_and_code().1).collect();
    let codes: BTreeSet<_> = rows().map(|row| row.code).collect();
    assert_eq!(codes.len(), rows().count(), "two rows have the same code");
    let of_courts: BTreeSet<_> = codes.iter().copied().filter(|code| code.starts_with("court_")).collect();
    assert_eq!(used, &codes - &of_courts);
    assert!(used.len() >= 30);
    for row in rows() {
        let is_code = row.code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(is_code && row.advice.ends_with('.') && !row.kinds.is_empty(), "{row:?}");
    }
}

/// Q16: the sentence says when a thing will change, and numbers have their nouns.
#[test]
fn a_sentence_reads_well() {
    let node = || Subject::Worker(name("PC-01"));
    let paused = why(node(), Cause::SupplyPaused { worker: name("PC-01"), until: Timestamp(1_090_000) });
    let expected = "The node PC-01 waits because node PC-01 gets no work for another 90 s: many of its devices dropped out at once.";
    assert_eq!(paused.sentence, expected);
    let silent = why(node(), Cause::NodeOffline { worker: name("PC-01"), since: Timestamp(0) });
    assert!(silent.sentence.ends_with("silent for 16 min."), "{}", silent.sentence);
    let one = why(Subject::Task(task()), Cause::Running { leases: 1 });
    let expected =
        "The task device 01990000-0000-7000-8000-000000000001.0000003 is running: 1 attempt is live.";
    assert_eq!(
        (one.sentence.as_str(), &*one.kind, &*one.rule, &*one.code),
        (expected, "task_device", "Q1", "running")
    );
    let removed = FrameCause::RendererRemoved { since: Timestamp(990_000), reason: None };
    let removed = why(Subject::Renderer(name("W1")), Cause::Frames(removed));
    assert_eq!(removed.sentence, "The worker W1 was removed 10 s ago.");
}
