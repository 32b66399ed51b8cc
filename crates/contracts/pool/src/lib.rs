//! Contract P as bytes: a pool of workers whose owners need not be trusted.
//!
//! Each type of the contract exists once, with both of its directions: the server parses requests (`parse`) and writes
//! responses (`of`, `Serialize`); workers, clients and the simulated world write requests ([`to_bytes`]) and read responses
//! (`read`). [`refusal`] has the texts of every refusal, [`golden`] the examples of the source document. Nothing here does
//! IO or decides anything, except whether a signature is valid.

mod batch;
mod description;
pub mod golden;
mod job;
pub mod limit;
mod path;
pub mod refusal;
mod shape;
mod specs;
mod submission;
mod value;
mod work;
mod worker;

pub use batch::{UnverifiedBatch, UnverifiedResults};
pub use job::{
    BatchAnswer, BatchItem, BatchRequest, Explained, IDEMPOTENCY_KEY, Job, JobList, JobRequest, Receipt,
    ReceiptBatch, read_idempotency_key, resubmission,
};
pub use path::{read_job_id, read_worker_id};
pub use refusal::Refusal;
pub use submission::{
    ParsedSubmission, SubmitRequest, Submitted, SubmittedItem, UnverifiedResult, read_worker_key,
};
pub use value::{JsonText, Moment};
pub use work::{
    Assignment, AssignmentListWriter, Assignments, ParsedWork, PollAnswer, PollRequest, WorkAnswer,
    WorkRequest,
};
pub use worker::{
    HeartbeatRequest, KeyRequest, ReasonRequest, RegisterRequest, Registered, Seen, Worker, WorkerList,
    WorkerSummary,
};

use serde::Serialize;

/// Writes a request or a response as JSON.
///
/// # Panics
/// If a [`JsonText`] in it is not JSON.
#[must_use]
pub fn to_bytes(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("a body has only text keys, and texts that are JSON")
}

/// The reason why a response is not what the contract says.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, or not of the right shape.
    #[error("{0}")]
    Shape(#[from] serde_json::Error),
    /// A field has a value that it cannot have.
    #[error("{field}: {why}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// The rule that its value breaks.
        why: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::UserId;
    use proptest::{prelude::*, sample::select};

    const FIELDS: &str = "worker_id assignment_id nonce signature batch_signature output error_message artifact_uri output_hash metrics_json \
        name region specs_json slots public_key reason wait_ms start resume submit max payload priority requires \
        max_attempts timeout_s verify_output_hash redundancy jobs";
    const VALUES: &str = "null true false 0 1 -1 7.0 7.5 -0.0 1e308 9007199254740991 9007199254740992 99999999999999999999 \
        \"\" \"x\" \"\\u0000\" \"\u{1f600}\" [] {} NaN \"\\ud800\"";

    /// Bodies that look like ours: known fields with values of every kind.
    fn body() -> impl Strategy<Value = String> {
        let leaf = select(VALUES.split(' ').collect::<Vec<_>>());
        leaf.prop_map(str::to_owned).prop_recursive(3, 40, 8, |inner| {
            let entry = (select(FIELDS.split(' ').collect::<Vec<_>>()), inner.clone());
            let object = prop::collection::btree_map(entry.0, entry.1, 0..8).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", entries.join(","))
            });
            let list = prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(",")));
            prop_oneof![3 => object, 1 => list]
        })
    }

    proptest! {
        /// P3, P5, P6, P7, P13, P18, P19, P20: every body is parsed or refused with 422, and what was parsed keeps the limits.
        #[test]
        fn every_body_is_parsed_or_refused(text in prop_oneof![4 => body(), 1 => any::<String>()]) {
            let bytes = text.as_bytes();
            let owner = UserId(1);
            let refused = [
                RegisterRequest::parse(bytes, owner).map(|parsed| {
                    assert!((1..=120).contains(&parsed.name.chars().count()) && (1..=1024).contains(&parsed.slots));
                }),
                SubmitRequest::parse(bytes).map(|parsed| {
                    assert!((1..=128).contains(&parsed.result.nonce.chars().count()));
                }),
                JobRequest::parse(bytes, owner).map(|parsed| {
                    let job = &parsed.jobs[0];
                    assert!(job.priority <= 100 && (1..=15).contains(&job.redundancy));
                    assert!(job.timeout.is_none_or(|timeout| timeout.0 > 0));
                }),
                BatchRequest::parse(bytes, owner, 1000)
                    .map(|parsed| assert!((1..=1000).contains(&parsed.jobs.len()))),
                PollRequest::parse(bytes).map(|parsed| assert!(parsed.wait_ms <= 30_000)),
                WorkRequest::parse(bytes)
                    .map(|parsed| assert!(parsed.max <= 1000 && parsed.results.results().len() <= 1000)),
                KeyRequest::parse(bytes).map(drop),
                ReasonRequest::parse(bytes).map(drop),
                HeartbeatRequest::parse(bytes).map(drop),
            ];
            for refused in refused.into_iter().filter_map(Result::err) {
                prop_assert_eq!(refused.status().as_u16(), 422);
            }
        }
    }
}
