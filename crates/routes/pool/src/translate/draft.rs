//! Jobs as clients hand them in (P13, P18).

use super::{limit, specs::specs};
use crate::shape::{Shape, read};
use axum::http::HeaderMap;
use muster_http::{Misfit, Problem};
use muster_model::{
    Demand, Digest, Millis, PoolJobDraft, PoolJobRecord, PoolSubmission, SubmissionKey, UserId,
};
use sha2::{Digest as _, Sha256};

/// By which route jobs came. A key that was used for one means nothing else for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `POST /jobs`
    One,
    /// `POST /jobs/batch`
    Batch,
    /// `POST /jobs/{id}/retry`
    Retry,
}

/// Reads the body of `POST /jobs`.
pub(crate) fn read_draft(body: &[u8], client: UserId) -> Result<PoolSubmission, Problem> {
    let jobs = vec![read(body, draft)?];
    Ok(PoolSubmission { client, key: None, digest: digest(body, Kind::One), jobs })
}

/// Reads the body of `POST /jobs/batch`. No payload may be longer than by itself.
pub(crate) fn read_batch(body: &[u8], client: UserId, payload_max: usize) -> Result<PoolSubmission, Problem> {
    let jobs = read(body, |fields| {
        fields.list("jobs", 1..=limit::BATCH_JOBS, |job| {
            let draft = draft(job);
            if draft.payload.len() > payload_max {
                job.blame("payload", format!("Input should be at most {payload_max} bytes of JSON"));
            }
            draft
        })
    })?;
    Ok(PoolSubmission { client, key: None, digest: digest(body, Kind::Batch), jobs })
}

/// The same job once more, its client's as before (P13).
pub(crate) fn once_more(job: &PoolJobRecord) -> PoolSubmission {
    let digest = digest(job.id.to_string().as_bytes(), Kind::Retry);
    PoolSubmission { client: job.client, key: None, digest, jobs: vec![job.draft.clone()] }
}

/// Reads the header `Idempotency-Key`, if it is there.
pub(crate) fn read_key(headers: &HeaderMap) -> Result<Option<SubmissionKey>, Problem> {
    let mut values = headers.get_all(KEY_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let wrong = |msg: &str| Problem::misfit(Misfit::new(vec!["header".into(), KEY_HEADER.into()], msg));
    if values.next().is_some() {
        return Err(wrong("Input stands twice in the request"));
    }
    let text = value.to_str().map_err(|_| wrong("Input should be printable ASCII"))?;
    SubmissionKey::new(text).map(Some).map_err(|error| wrong(&format!("Input {error}")))
}

fn draft(fields: &mut Shape<'_, '_, '_>) -> PoolJobDraft {
    let requires = fields.opt_object_within("requires", limit::REQUIRES_BYTES);
    let max_attempts = fields.opt_integer("max_attempts", 1..=limit::ATTEMPTS).map(small);
    let redundancy = fields.opt_integer("redundancy", 1..=limit::REDUNDANCY).map_or(1, small);
    if max_attempts.is_some_and(|attempts| redundancy > attempts) {
        fields.blame("redundancy", "Input should be less than or equal to max_attempts");
    }
    PoolJobDraft {
        payload: fields.required("payload").map_or_else(|| "null".into(), |payload| payload.text().into()),
        priority: fields.opt_integer("priority", 0..=limit::PRIORITY).map_or(0, small),
        demand: Demand {
            region: fields.opt_text("region", limit::REGION_CHARS),
            requires: requires.map(specs).unwrap_or_default(),
        },
        requires_json: requires.map(|requires| requires.text().into()),
        max_attempts,
        timeout: fields.opt_positive("timeout_s", limit::TIMEOUT_S).map(millis),
        verify_output_hash: fields.flag("verify_output_hash"),
        redundancy,
    }
}

fn small(number: i64) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// A time too short to be counted is the shortest that can be.
#[allow(clippy::cast_possible_truncation, reason = "at most thirty days")]
fn millis(seconds: f64) -> Millis {
    Millis((seconds * 1000.0).ceil() as i64)
}

/// Of the canonical form: the same job in another spelling is the same (P13).
fn digest(body: &[u8], kind: Kind) -> Digest {
    let route: &[u8] = match kind {
        Kind::One => b"POST /jobs\n",
        Kind::Batch => b"POST /jobs/batch\n",
        Kind::Retry => b"POST /jobs/{id}/retry\n",
    };
    let canonical = muster_proof::canonical(body).unwrap_or_else(|_| body.to_vec());
    let hash: [u8; 32] = Sha256::new().chain_update(route).chain_update(canonical).finalize().into();
    let (half, _) = hash.split_first_chunk().expect("a hash has 32 bytes");
    Digest(u128::from_be_bytes(*half))
}

const KEY_HEADER: &str = "Idempotency-Key";

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
