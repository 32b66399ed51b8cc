//! A job of the pool: what it is meant to come to, and where it stands.

use super::member::{BUILT_IN, PROGRAMS};
use muster_proof::{Receipt, canonical, sha256_hex};
use serde_json::{Value, json};

/// A job that was submitted, and where it stands.
#[derive(Debug)]
pub(in super::super) struct Job {
    pub(in super::super) plan: JobPlan,
    pub(in super::super) id: u64,
    pub(in super::super) round: usize,
    pub(in super::super) status: String,
    /// The demo asked for its end.
    pub(in super::super) is_cancelled: bool,
    /// What proves its result, as the server gave it (P17).
    pub(in super::super) receipt: Option<Receipt>,
}

/// A job as it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct JobPlan {
    pub(in super::super) kind: Kind,
    /// Makes its payload one of a kind.
    pub(in super::super) number: u64,
}

/// What is special about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Kind {
    /// Done by what is built in.
    Sum,
    /// Takes a moment.
    Nap,
    /// Takes so long that somebody can be killed at it, and only one worker may do it.
    LongNap,
    /// Every attempt fails, so many there are.
    Fails(u8),
    /// Done by a program.
    Prompt,
    /// Done by a program that fails at first.
    ColdStart,
    /// Given to workers of different owners, who vote.
    Vote,
}

impl Job {
    pub(in super::super) fn submitted(plan: JobPlan, id: u64, round: usize) -> Self {
        Self { plan, id, round, status: "queued".to_owned(), is_cancelled: false, receipt: None }
    }

    pub(in super::super) fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "cancelled")
    }

    pub(in super::super) fn is_completed(&self) -> bool {
        self.status == "completed"
    }

    /// Over, and with its proof where there must be one.
    pub(super) fn is_settled(&self) -> bool {
        self.is_over() && !self.lacks_receipt()
    }

    pub(super) fn lacks_receipt(&self) -> bool {
        self.is_completed() && self.receipt.is_none()
    }

    /// How it must have ended (P8, P13).
    pub(in super::super) const fn ending(&self) -> &'static str {
        match self.plan.kind {
            _ if self.is_cancelled => "cancelled",
            Kind::Fails(_) => "failed",
            _ => "completed",
        }
    }
}

impl JobPlan {
    /// What a round begins with: jobs that one worker does, the urgent and the others in disorder.
    pub(super) fn alone() -> Vec<Self> {
        let kinds = [
            (Kind::Sum, SUMS),
            (Kind::Nap, NAPS),
            (Kind::LongNap, 2),
            (Kind::Fails(2), 1),
            (Kind::Fails(3), 2),
            (Kind::Prompt, PROMPTS),
            (Kind::ColdStart, COLD_STARTS),
        ];
        let kinds = kinds.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
        (0..).zip(kinds).map(|(number, kind)| Self { kind, number }).collect()
    }

    /// What the worker is killed at, once more.
    pub(super) fn bait() -> Vec<Self> {
        vec![Self { kind: Kind::LongNap, number: 0 }]
    }

    /// What a round ends with: jobs that are voted on.
    pub(super) fn votes() -> Vec<Self> {
        (0..VOTES).map(|number| Self { kind: Kind::Vote, number }).collect()
    }

    /// 0 to 100; more comes first (P14).
    pub(in super::super) const fn priority(self) -> u64 {
        match self.kind {
            Kind::LongNap => 100,
            _ => (self.number * 37) % 100,
        }
    }

    /// In which region the job is done by one worker; none that is voted on.
    pub(in super::super) const fn region(self) -> Option<&'static str> {
        match self.kind {
            Kind::Sum | Kind::Nap | Kind::LongNap | Kind::Fails(_) => Some(BUILT_IN),
            Kind::Prompt | Kind::ColdStart => Some(PROGRAMS),
            Kind::Vote => None,
        }
    }

    /// How many assignments the job must have had; nothing where that is for the voters to say.
    pub(in super::super) const fn attempts(self) -> Option<usize> {
        match self.kind {
            Kind::Sum | Kind::Nap | Kind::LongNap | Kind::Prompt => Some(1),
            Kind::ColdStart => Some(2),
            Kind::Fails(attempts) => Some(attempts as usize),
            Kind::Vote => None,
        }
    }

    /// One of the jobs of `POST /jobs/batch` (P13, P18). Hashes are checked against outputs, also the liar's: it lies
    /// about the answer, not about what it handed in.
    pub(super) fn submission(self) -> Value {
        let (requires, attempts, redundancy) = match self.kind {
            Kind::LongNap => (json!({"disk_gb": 100}), None, 1),
            Kind::Fails(attempts) => (Value::Null, Some(attempts), 1),
            Kind::Vote => (Value::Null, None, OWNERS),
            Kind::Sum | Kind::Nap | Kind::Prompt | Kind::ColdStart => (Value::Null, None, 1),
        };
        json!({"payload": self.payload(), "priority": self.priority(), "region": self.region(), "requires": requires,
            "max_attempts": attempts, "redundancy": redundancy, "verify_output_hash": true})
    }

    /// The hash that whoever does it honestly hands in; nothing for a job that fails.
    pub(in super::super) fn output_hash(self) -> Option<String> {
        let output = match self.kind {
            Kind::Sum => json!({"sum": 1000 + 2 * self.number}),
            Kind::Nap => json!({"slept_ms": NAP_MS + self.number}),
            Kind::LongNap => json!({"slept_ms": LONG_NAP_MS}),
            Kind::Prompt | Kind::ColdStart | Kind::Vote => json!({"echo": self.payload()}),
            Kind::Fails(_) => return None,
        };
        Some(sha256_hex(
            &canonical(output.to_string().as_bytes()).expect("the demo's outputs are plain JSON"),
        ))
    }

    fn payload(self) -> Value {
        let number = self.number;
        match self.kind {
            Kind::Sum => json!({"op": "sum", "values": [1000, number, number]}),
            Kind::Nap => json!({"op": "sleep", "ms": NAP_MS + number}),
            Kind::LongNap => json!({"op": "sleep", "ms": LONG_NAP_MS}),
            Kind::Fails(_) => json!({"op": "fail", "message": FAILS_WITH}),
            Kind::Prompt => json!({"prompt": format!("Name {number} birds of the coast.")}),
            Kind::ColdStart => {
                json!({"prompt": format!("Name {number} birds of the hills."), "start": "cold"})
            }
            Kind::Vote => json!({"prompt": format!("What is {number} times {number}?")}),
        }
    }
}

const FAILS_WITH: &str = "it was meant to fail";
const SUMS: usize = 24;
const NAPS: usize = 12;
const PROMPTS: usize = 20;
const COLD_STARTS: usize = 4;
const VOTES: u64 = 20;
/// One of each may vote.
const OWNERS: u8 = 3;
const NAP_MS: u64 = 100;
/// Long enough for the demo to see it under way, however slow the machine.
const LONG_NAP_MS: u64 = 2000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// P14: a job that one worker does cannot come to one who lies; one that is voted on can come to anybody.
    #[test]
    fn only_votes_are_for_everybody() {
        let jobs: Vec<JobPlan> = JobPlan::alone().into_iter().chain(JobPlan::votes()).collect();
        for job in &jobs {
            let submission = job.submission();
            assert_eq!(submission["region"].is_null(), job.kind == Kind::Vote);
            assert_eq!(submission["redundancy"] == 1, job.kind != Kind::Vote);
            assert!(job.priority() <= 100);
        }
        let priorities: BTreeSet<u64> = jobs.iter().map(|job| job.priority()).collect();
        assert!(priorities.len() > 20, "{priorities:?}");
    }

    /// P15: what comes out differs from job to job, so that no result passes for another's.
    #[test]
    fn each_output_is_one_of_a_kind() {
        let jobs = JobPlan::alone().into_iter().chain(JobPlan::votes());
        let jobs: Vec<JobPlan> = jobs.filter(|job| job.kind != Kind::LongNap).collect();
        let hashes: Vec<String> = jobs.iter().filter_map(|job| job.output_hash()).collect();
        assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), hashes.len());
        assert_eq!(jobs.len() - hashes.len(), 3, "those that fail");
        let right = Some(sha256_hex(br#"{"sum":1000}"#));
        assert_eq!(JobPlan { kind: Kind::Sum, number: 0 }.output_hash(), right);
    }

    #[test]
    fn an_ending_is_as_planned_unless_it_was_cancelled() {
        let job = |kind| Job::submitted(JobPlan { kind, number: 1 }, 7, 0);
        assert_eq!((job(Kind::Sum).ending(), job(Kind::Fails(3)).ending()), ("completed", "failed"));
        assert_eq!(Job { is_cancelled: true, ..job(Kind::Fails(3)) }.ending(), "cancelled");
        assert_eq!(JobPlan { kind: Kind::Fails(3), number: 1 }.attempts(), Some(3));
        assert!(!job(Kind::Vote).is_over());
    }
}
