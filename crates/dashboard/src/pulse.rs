//! Counts of recent events: work that was done, and failures (Q13).
//!
//! Counted from the feed, so that nothing on the writer's path knows of it; in memory, since whoever wants history has the
//! tables and `/metrics`. What is kept does not grow with what happens.

use muster_model::{RangeEnd, Timestamp};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, btree_map::Entry},
};
use utoipa::ToSchema;

/// Counts from a moment on.
#[derive(Clone, Debug)]
pub(crate) struct Pulse {
    since: Timestamp,
    /// The last entry of the feed that it counted.
    seq: u64,
    done: Ring<Done, BUCKETS>,
    failures: BTreeMap<(Contract, Box<str>), Failures>,
}

/// Work done in one stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    tasks_ok: u64,
    tasks_failed: u64,
    frames: u64,
    jobs_ok: u64,
    jobs_failed: u64,
}

/// The counts of one kind of failure.
#[derive(Clone, Debug)]
struct Failures {
    counts: Ring<u64, MINUTES>,
    last: Timestamp,
}

/// Work done in the last ten minutes, in equal stretches, oldest first.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Throughput {
    /// The last entry of the feed that is counted here, and among the failures; whoever goes on counting begins after it.
    seq: u64,
    /// Length of a stretch.
    bucket_ms: i64,
    /// Start of the first stretch.
    from: i64,
    /// Attempts on devices that succeeded.
    tasks_ok: Vec<u64>,
    /// Attempts on devices that did not.
    tasks_failed: Vec<u64>,
    /// Frames of sessions that are done.
    frames: Vec<u64>,
    /// Jobs of the pool that completed.
    jobs_ok: Vec<u64>,
    /// Jobs of the pool that failed.
    jobs_failed: Vec<u64>,
}

/// A kind of failure, and its count in the last hour.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct FailureCount {
    /// `nodes`, `sessions` or `pool`.
    contract: Contract,
    /// One word; `other` for those beyond the number that is kept apart.
    reason: Box<str>,
    count: u64,
    /// Time of the last one.
    last_at: i64,
}

impl Pulse {
    /// Counts what happens from now on, after entry number `seq`.
    pub(crate) fn new(since: Timestamp, seq: u64) -> Self {
        Self { since, seq, done: Ring::new(BUCKET_MS), failures: BTreeMap::new() }
    }

    /// From when on it counts.
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    /// The last entry of the feed that it knows of.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Goes on after an entry that it was not shown: those up to it are no longer kept.
    pub(crate) fn skip_to(&mut self, seq: u64) {
        self.seq = seq;
    }

    /// Takes the next entry of the feed.
    pub(crate) fn note(&mut self, seq: u64, kind: &str, body: &str) {
        self.seq = seq;
        let Some((at, findings)) = findings(kind, body) else { return };
        for finding in findings {
            if let Finding::Failed(contract, reason) = &finding {
                self.note_failure(*contract, reason, at);
            }
            if let Some(done) = self.done.at(at) {
                done.add(&finding);
            }
        }
    }

    /// Work done up to a moment.
    pub(crate) fn throughput(&self, now: Timestamp) -> Throughput {
        let series = |count: fn(&Done) -> u64| self.done.up_to(now).map(|done| count(&done)).collect();
        Throughput {
            seq: self.seq,
            bucket_ms: BUCKET_MS,
            from: self.done.begin(now),
            tasks_ok: series(|done| done.tasks_ok),
            tasks_failed: series(|done| done.tasks_failed),
            frames: series(|done| done.frames),
            jobs_ok: series(|done| done.jobs_ok),
            jobs_failed: series(|done| done.jobs_failed),
        }
    }

    /// Failures in the hour up to a moment, most frequent first.
    pub(crate) fn failures(&self, now: Timestamp) -> Vec<FailureCount> {
        let counts = self.failures.iter().map(|((contract, reason), failures)| FailureCount {
            contract: *contract,
            reason: reason.clone(),
            count: failures.count(now),
            last_at: failures.last.0,
        });
        let mut counts: Vec<FailureCount> = counts.filter(|failure| failure.count > 0).collect();
        counts.sort_by_key(|failure| (Reverse(failure.count), Reverse(failure.last_at)));
        counts.truncate(SHOWN_MAX);
        counts
    }

    fn note_failure(&mut self, contract: Contract, reason: &str, at: Timestamp) {
        let key = (contract, Box::from(reason));
        let is_known = self.failures.contains_key(&key);
        if !is_known && self.failures.len() >= REASONS_MAX {
            self.failures.retain(|_, failures| failures.count(at) > 0);
        }
        let is_full = !is_known && self.failures.len() >= REASONS_MAX;
        let key = if is_full || reason.len() > REASON_BYTES_MAX { (contract, OTHER.into()) } else { key };
        match self.failures.entry(key) {
            Entry::Occupied(mut failures) => failures.get_mut().add(at),
            Entry::Vacant(place) => place.insert(Failures::new(at)).add(at),
        }
    }
}

impl Done {
    fn add(&mut self, finding: &Finding<'_>) {
        match finding {
            Finding::TaskDone => self.tasks_ok += 1,
            Finding::FramesDone(frames) => self.frames = self.frames.saturating_add(*frames),
            Finding::JobsDone(jobs) => self.jobs_ok += jobs,
            Finding::JobsFailed(jobs) => self.jobs_failed += jobs,
            Finding::Failed(Contract::Nodes, _) => self.tasks_failed += 1,
            Finding::Failed(Contract::Sessions | Contract::Pool, _) => {}
        }
    }
}

impl Failures {
    fn new(at: Timestamp) -> Self {
        Self { counts: Ring::new(MINUTE_MS), last: at }
    }

    fn add(&mut self, at: Timestamp) {
        self.last = self.last.max(at);
        if let Some(count) = self.counts.at(at) {
            *count += 1;
        }
    }

    fn count(&self, now: Timestamp) -> u64 {
        self.counts.up_to(now).sum()
    }
}

/// Whose work it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Contract {
    Nodes,
    Sessions,
    Pool,
}

/// One thing to count.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding<'body> {
    TaskDone,
    FramesDone(u64),
    JobsDone(u64),
    JobsFailed(u64),
    Failed(Contract, Cow<'body, str>),
}

/// The findings of an entry and their time; `None` if nothing in it is counted.
fn findings<'body>(kind: &str, body: &'body str) -> Option<(Timestamp, Vec<Finding<'body>>)> {
    if !COUNTED.contains(&kind) {
        return None;
    }
    let Ok(told) = serde_json::from_str::<EntryBody<'body>>(body) else {
        tracing::debug!(kind, "an entry of the feed cannot be read");
        return None;
    };
    Some((Timestamp(told.at), told.findings(kind)))
}

/// The members of bodies that matter here, of all kinds together.
#[derive(Deserialize)]
struct EntryBody<'body> {
    at: i64,
    #[serde(borrow, default)]
    outcome: Cow<'body, str>,
    #[serde(borrow, default)]
    end: Cow<'body, str>,
    #[serde(rename = "frameRange", default)]
    frames: (u64, u64),
    #[serde(default)]
    completed: Vec<IgnoredAny>,
    #[serde(default)]
    failed: Vec<IgnoredAny>,
}

impl<'body> EntryBody<'body> {
    fn findings(self, kind: &str) -> Vec<Finding<'body>> {
        match kind {
            ATTEMPT_ENDED if self.outcome == "succeeded" => vec![Finding::TaskDone],
            ATTEMPT_ENDED if self.outcome == "cancelled" => Vec::new(),
            ATTEMPT_ENDED => vec![Finding::Failed(Contract::Nodes, self.outcome)],
            RANGE_COMPLETED => vec![Finding::FramesDone(self.frames.1.saturating_sub(self.frames.0))],
            RANGE_ENDED if is_wanted(&self.end) => Vec::new(),
            RANGE_ENDED => vec![Finding::Failed(Contract::Sessions, self.end)],
            JOBS_ENDED => self.jobs(),
            DISSENTED => vec![Finding::Failed(Contract::Pool, "outvoted".into())],
            _ => Vec::new(),
        }
    }

    /// One entry tells of all jobs that a command ended; each that failed is one failure.
    fn jobs(self) -> Vec<Finding<'body>> {
        let (done, failed) = (self.completed.len() as u64, self.failed.len() as u64);
        let each = self.failed.iter().map(|_| Finding::Failed(Contract::Pool, "job_failed".into()));
        [Finding::JobsDone(done), Finding::JobsFailed(failed)].into_iter().chain(each).collect()
    }
}

/// True if an assignment of frames ended as somebody wanted.
fn is_wanted(end: &str) -> bool {
    [RangeEnd::GivenBack, RangeEnd::Retired, RangeEnd::SessionEnded].iter().any(|known| known.as_str() == end)
}

const BUCKET_MS: i64 = 10_000;
const BUCKETS: usize = 60;
const MINUTE_MS: i64 = 60_000;
const MINUTES: usize = 60;

/// So many reasons are kept apart, all contracts together; the contracts know fewer.
const REASONS_MAX: usize = 64;

/// A reason is a word.
const REASON_BYTES_MAX: usize = 64;

const OTHER: &str = "other";

/// As many as anybody reads.
const SHOWN_MAX: usize = 20;
const ATTEMPT_ENDED: &str = "attempt_ended";
const RANGE_COMPLETED: &str = "range_completed";
const RANGE_ENDED: &str = "range_ended";
const JOBS_ENDED: &str = "pool_jobs_ended";
const DISSENTED: &str = "pool_worker_dissented";
const COUNTED: [&str; 5] = [ATTEMPT_ENDED, RANGE_COMPLETED, RANGE_ENDED, JOBS_ENDED, DISSENTED];

/// The newest `N` stretches, each with its number since the epoch.
#[derive(Clone, Debug)]
struct Ring<T, const N: usize> {
    width_ms: i64,
    slots: [(i64, T); N],
}

impl<T: Copy + Default, const N: usize> Ring<T, N> {
    fn new(width_ms: i64) -> Self {
        Self { width_ms, slots: [(i64::MIN, T::default()); N] }
    }

    /// The value of the stretch that a moment is in; none if newer ones took its place.
    fn at(&mut self, at: Timestamp) -> Option<&mut T> {
        let number = self.number(at);
        let slot = &mut self.slots[place::<N>(number)];
        if slot.0 < number {
            *slot = (number, T::default());
        }
        (slot.0 == number).then_some(&mut slot.1)
    }

    /// The values of the stretches up to the one that `now` is in, oldest first.
    fn up_to(&self, now: Timestamp) -> impl Iterator<Item = T> {
        (self.first(now)..=self.number(now)).map(|number| {
            let (held, value) = self.slots[place::<N>(number)];
            if held == number { value } else { T::default() }
        })
    }

    /// Start of the first of these stretches.
    fn begin(&self, now: Timestamp) -> i64 {
        self.first(now) * self.width_ms
    }

    fn first(&self, now: Timestamp) -> i64 {
        self.number(now) - (N as i64 - 1)
    }

    fn number(&self, at: Timestamp) -> i64 {
        at.0.div_euclid(self.width_ms)
    }
}

fn place<const N: usize>(number: i64) -> usize {
    usize::try_from(number.rem_euclid(N as i64)).expect("a remainder is not negative")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn values(ring: &Ring<u32, 3>, now: i64) -> Vec<u32> {
        ring.up_to(Timestamp(now)).collect()
    }

    #[test]
    fn the_newest_stretches_are_kept() {
        let mut ring = Ring::<u32, 3>::new(10);
        for (at, value) in [(100, 1), (109, 2), (110, 3), (125, 4)] {
            *ring.at(Timestamp(at)).unwrap() += value;
        }
        assert_eq!((values(&ring, 129), ring.begin(Timestamp(129))), (vec![3, 3, 4], 100));
        *ring.at(Timestamp(130)).unwrap() = 9;
        assert_eq!(values(&ring, 130), [3, 4, 9]);
        assert!(ring.at(Timestamp(109)).is_none(), "it is over");
        assert_eq!(values(&ring, 160), [0, 0, 0], "nothing happened since");
    }

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
            .map(|failure| {
                (format!("{:?} {}", failure.contract, failure.reason), failure.count, failure.last_at)
            })
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
}
