//! What is counted, and that it stays small.

use super::*;
use muster_model::RangeEnd;
use serde_json::{Value, json};

/// In the middle of a bucket and of a minute.
const NOW: Timestamp = Timestamp(1_000_025_000);

fn noted(entries: &[(&str, Value)]) -> Pulse {
    let mut pulse = Pulse::new(Timestamp(0), 0);
    for (kind, body) in entries {
        pulse.note(1, kind, &body.to_string());
    }
    pulse
}

fn ended(at: i64, outcome: &str) -> (&'static str, Value) {
    ("attempt_ended", json!({"at": at, "task": "t", "attempt": 1, "outcome": outcome}))
}

fn reasons(pulse: &Pulse, now: Timestamp) -> Vec<(String, u64, i64)> {
    let failures = pulse.failures(now).into_iter();
    failures
        .map(|failure| (format!("{:?} {}", failure.contract, failure.reason), failure.count, failure.last_at))
        .collect()
}

/// Q13: each contract's work stands in the stretch in which it was done.
#[test]
fn work_is_counted_where_it_was_done() {
    let now = NOW.0;
    let pulse = noted(&[
        ended(now, "succeeded"),
        ended(now - 10_000, "succeeded"),
        ended(now - 10_000, "adb_offline"),
        ended(now - 10_000, "cancelled"),
        ("range_completed", json!({"at": now, "session": "s", "frameRange": [100, 350]})),
        ("range_completed", json!({"at": now, "session": "s", "frameRange": [350, 351]})),
        ("pool_jobs_ended", json!({"at": now, "completed": [1, 2, 3], "failed": [4], "cancelled": [5]})),
        ("task_leased", json!({"at": now})),
        ("attempt_ended", json!({"outcome": "succeeded"})),
        ("attempt_ended", json!("nonsense")),
    ]);
    let throughput = pulse.throughput(NOW);
    assert_eq!((throughput.bucket_ms, throughput.from), (10_000, 1_000_020_000 - 59 * 10_000));
    assert_eq!(throughput.tasks_ok.len(), 60);
    assert_eq!(throughput.tasks_ok[57..], [0, 1, 1]);
    assert_eq!(throughput.tasks_failed[57..], [0, 1, 0]);
    assert_eq!(throughput.frames[58..], [0, 251]);
    assert_eq!(throughput.jobs_ok[58..], [0, 3]);
    assert_eq!(throughput.jobs_failed[58..], [0, 1]);
    let later = pulse.throughput(Timestamp(now + 590_000));
    assert_eq!(later.tasks_ok[..2], [1, 0], "ten minutes later it leaves");
    assert_eq!(pulse.throughput(Timestamp(now + 600_000)).tasks_ok, [0; 60]);
}

/// Q13: what went wrong in the last hour, most frequent first, with the contract and one word; what people stopped did not.
#[test]
fn failures_are_counted_by_reason() {
    let now = NOW.0;
    let pulse = noted(&[
        ended(now - 3_700_000, "timed_out"),
        ended(now - 60_000, "timed_out"),
        ended(now - 1, "adb_offline"),
        ended(now - 2, "adb_offline"),
        ended(now, "cancelled"),
        ("range_ended", json!({"at": now, "end": "worker_lost"})),
        ("range_ended", json!({"at": now, "end": RangeEnd::SessionEnded.as_str()})),
        ("range_ended", json!({"at": now, "end": RangeEnd::Retired.as_str()})),
        ("pool_jobs_ended", json!({"at": now, "failed": [4, 5, 6]})),
        ("pool_worker_dissented", json!({"at": now, "worker": 1})),
    ]);
    let expected = [
        ("Pool job_failed", 3, now),
        ("Nodes adb_offline", 2, now - 1),
        ("Sessions worker_lost", 1, now),
        ("Pool outvoted", 1, now),
        ("Nodes timed_out", 1, now - 60_000),
    ];
    assert_eq!(reasons(&pulse, NOW), expected.map(|(what, count, at)| (what.to_owned(), count, at)));
    assert!(reasons(&pulse, Timestamp(now + 3_700_000)).is_empty());
}

/// I9: however many reasons there are, a bounded number is kept; those of long ago make place.
#[test]
fn reasons_do_not_grow() {
    let mut pulse = Pulse::new(Timestamp(0), 0);
    let mut note = |at: i64, reason: String| {
        let (kind, body) = ended(at, &reason);
        pulse.note(1, kind, &body.to_string());
        pulse.failures.len()
    };
    for n in 0..1_000 {
        assert!(note(NOW.0, format!("reason_{n}")) <= REASONS_MAX + 1);
    }
    note(NOW.0, "x".repeat(REASON_BYTES_MAX + 1));
    assert_eq!(note(NOW.0 + 7_200_000, "fresh".to_owned()), 1);
    let mut full = Pulse::new(Timestamp(0), 0);
    for n in 0..100 {
        full.note_failure(Contract::Nodes, &format!("reason_{n}"), NOW);
    }
    assert_eq!(reasons(&full, NOW)[0].0, "Nodes other");
    assert_eq!(reasons(&full, NOW)[0].1, 100 - REASONS_MAX as u64);
    assert_eq!(full.failures(NOW).len(), SHOWN_MAX);
}
