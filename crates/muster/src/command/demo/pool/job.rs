//! A job of the pool and its planned end.

use super::member::{BUILT_IN, PROGRAMS};
use muster_contract_pool::JobRequest;
use muster_proof::{Receipt, canonical, sha256_hex};
use serde_json::{Value, json};

/// A job that was submitted.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) plan: JobPlan,
    pub(super) id: u64,
    /// Its status, once it has ended.
    pub(super) ended: Option<String>,
    /// The demo cancelled it.
    pub(super) is_cancelled: bool,
    /// The proof of its result, as the server gave it (P17).
    pub(super) receipt: Option<Receipt>,
}

/// A job as it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobPlan {
    kind: Kind,
    /// Makes its payload unique.
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Done by the built-in handler.
    Sum,
    /// Takes so long that its worker can be killed at it, and only one worker may do it.
    LongNap,
    /// Every attempt fails, this many there are.
    Fails(u8),
    /// Done by a program that fails at first.
    ColdStart,
    /// Given to workers of different owners, who vote.
    Vote,
}

impl Job {
    /// Planned status (P8, P13).
    pub(super) const fn ending(&self) -> &'static str {
        match self.plan.kind {
            _ if self.is_cancelled => "cancelled",
            Kind::Fails(_) => "failed",
            _ => "completed",
        }
    }

    /// Compares how it ended with the plan.
    pub(super) fn check(&self, status: &str, hash: Option<&str>, attempts: u64) -> Result<(), String> {
        let Self { id, plan, is_cancelled, .. } = self;
        if status != self.ending() {
            return Err(format!("job {id} ended {status}, not {}", self.ending()));
        }
        if *is_cancelled {
            return Ok(());
        }
        if plan.attempts().is_some_and(|planned| planned != attempts) {
            return Err(format!("job {id} was tried {attempts} times"));
        }
        if status == "completed" && hash != plan.output_hash().as_deref() {
            return Err(format!("job {id} came to another result"));
        }
        Ok(())
    }

    /// Verifies its receipt with the key of the worker that it names.
    pub(super) fn check_receipt(&self, accepted: u64, key: Option<&str>) -> Result<(), String> {
        let receipt = self.receipt.as_ref().ok_or("there is none")?;
        let key = key.ok_or("it names no worker of the demo")?;
        receipt.check(Some(key)).map_err(|fault| fault.to_string())?;
        if receipt.job_id != self.id || receipt.assignment_id != accepted {
            return Err("it is about something else".to_owned());
        }
        if receipt.output_hash != self.plan.output_hash() {
            return Err("it proves another result".to_owned());
        }
        Ok(())
    }
}

impl JobPlan {
    /// The jobs that a round begins with: each is done by one worker.
    pub(super) fn alone() -> Vec<Self> {
        let kinds = [
            (Kind::Sum, SUMS),
            (Kind::LongNap, 2),
            (Kind::Fails(2), 1),
            (Kind::Fails(3), 2),
            (Kind::ColdStart, COLD_STARTS),
        ];
        let kinds = kinds.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
        (0..).zip(kinds).map(|(number, kind)| Self { kind, number }).collect()
    }

    /// Another job that the victim can be killed at.
    pub(super) fn bait() -> Vec<Self> {
        vec![Self { kind: Kind::LongNap, number: 0 }]
    }

    /// The jobs that a round ends with: workers vote on each.
    pub(super) fn votes() -> Vec<Self> {
        (0..VOTES).map(|number| Self { kind: Kind::Vote, number }).collect()
    }

    /// One of the jobs of `POST /jobs/batch` (P13, P18). Hashes are checked against outputs, the liar's too: it lies about
    /// the answer, not about what it submitted.
    pub(super) fn submission(self) -> JobRequest {
        let (requires, max_attempts, redundancy) = match self.kind {
            Kind::LongNap => (Some(r#"{"disk_gb":100}"#.into()), None, 1),
            Kind::Fails(attempts) => (None, Some(attempts), 1),
            Kind::Vote => (None, None, OWNERS),
            Kind::Sum | Kind::ColdStart => (None, None, 1),
        };
        let region = match self.kind {
            Kind::Sum | Kind::LongNap | Kind::Fails(_) => Some(BUILT_IN),
            Kind::ColdStart => Some(PROGRAMS),
            Kind::Vote => None,
        };
        let priority = if self.kind == Kind::LongNap { 100 } else { self.number * 37 % 100 };
        JobRequest {
            priority: u8::try_from(priority).unwrap_or(100),
            region: region.map(Into::into),
            requires,
            max_attempts,
            verify_output_hash: true,
            redundancy: Some(redundancy),
            ..JobRequest::new(self.payload().to_string().as_str().into())
        }
    }

    /// Planned number of assignments; none for votes, where it depends on the voters.
    const fn attempts(self) -> Option<u64> {
        match self.kind {
            Kind::Sum | Kind::LongNap => Some(1),
            Kind::ColdStart => Some(2),
            Kind::Fails(attempts) => Some(attempts as u64),
            Kind::Vote => None,
        }
    }

    /// The hash of the honest result; none for a job that fails.
    fn output_hash(self) -> Option<String> {
        let output = match self.kind {
            Kind::Sum => json!({"sum": 1000 + 2 * self.number}),
            Kind::LongNap => json!({"slept_ms": LONG_NAP_MS}),
            Kind::ColdStart | Kind::Vote => json!({"echo": self.payload()}),
            Kind::Fails(_) => return None,
        };
        let output = canonical(output.to_string().as_bytes()).expect("the demo's outputs are plain JSON");
        Some(sha256_hex(&output))
    }

    fn payload(self) -> Value {
        let number = self.number;
        match self.kind {
            Kind::Sum => json!({"op": "sum", "values": [1000, number, number]}),
            Kind::LongNap => json!({"op": "sleep", "ms": LONG_NAP_MS}),
            Kind::Fails(_) => json!({"op": "fail", "message": "it was meant to fail"}),
            Kind::ColdStart => {
                json!({"prompt": format!("Name {number} birds of the hills."), "start": "cold"})
            }
            Kind::Vote => json!({"prompt": format!("What is {number} times {number}?")}),
        }
    }
}

const SUMS: usize = 24;
const COLD_STARTS: usize = 4;
const VOTES: u64 = 12;
/// One worker of each may vote.
const OWNERS: u8 = 3;
/// Long enough for the demo to see it under way, however slow the machine.
const LONG_NAP_MS: u64 = 2000;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_proof::{KeyPair, encode_base64url, signed_bytes};

    fn job(kind: Kind) -> Job {
        Job { plan: JobPlan { kind, number: 0 }, id: 7, ended: None, is_cancelled: false, receipt: None }
    }

    /// P14: a job that one worker does cannot come to one who lies; one that is voted on can come to any worker.
    #[test]
    fn only_votes_are_for_every_worker() {
        for plan in JobPlan::alone().into_iter().chain(JobPlan::votes()) {
            let submission = plan.submission();
            assert_eq!(submission.region.is_none(), plan.kind == Kind::Vote);
            assert_eq!(submission.redundancy == Some(1), plan.kind != Kind::Vote);
        }
    }

    /// I2, P8, P13: a job that ended in another way, with another result or after too many attempts is found.
    #[test]
    fn a_job_ends_as_planned() {
        let right = sha256_hex(br#"{"sum":1000}"#);
        let sum = job(Kind::Sum);
        assert_eq!(sum.check("completed", Some(&right), 1), Ok(()));
        assert!(sum.check("failed", None, 1).is_err() && sum.check("completed", Some(&right), 2).is_err());
        assert!(sum.check("completed", Some("lie"), 1).is_err() && sum.check("completed", None, 1).is_err());
        assert_eq!(job(Kind::Fails(3)).check("failed", None, 3), Ok(()));
        assert_eq!(Job { is_cancelled: true, ..sum }.check("cancelled", None, 0), Ok(()));
    }

    /// P9, P17: a receipt that is missing, of another job, of another key or changed proves nothing.
    #[test]
    fn a_receipt_must_prove() {
        let keys = KeyPair::from_seed(&[1; 32]);
        let key = keys.public_text();
        let mut sum = job(Kind::Sum);
        assert!(sum.check_receipt(449, Some(&key)).is_err());
        let output_hash = sum.plan.output_hash();
        let signed = signed_bytes(449, "a nonce", output_hash.as_deref());
        sum.receipt = Some(Receipt {
            assignment_id: 449,
            job_id: 7,
            worker_id: 1,
            public_key: key.clone(),
            proof: muster_proof::Proof::Single(keys.sign(&signed).to_text()),
            signed_bytes: encode_base64url(&signed),
            output_hash,
            finished_at: "2026-02-08T12:30:45.123000Z".to_owned(),
        });
        assert_eq!(sum.check_receipt(449, Some(&key)), Ok(()));
        assert!(sum.check_receipt(450, Some(&key)).is_err() && sum.check_receipt(449, None).is_err());
        assert!(sum.check_receipt(449, Some(&KeyPair::from_seed(&[2; 32]).public_text())).is_err());
        sum.receipt.as_mut().unwrap().proof = muster_proof::Proof::Single(keys.sign(b"else").to_text());
        assert!(sum.check_receipt(449, Some(&key)).is_err());
    }
}
