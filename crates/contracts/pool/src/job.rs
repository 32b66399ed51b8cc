//! Jobs: how clients submit them, what they see of them, and the proof of a result (P13, P17, P18, P20).

use crate::{
    JsonText, Moment, limit,
    shape::{Shape, read},
    specs::specs,
};
use http::HeaderMap;
use muster_model::{
    AssignmentRecord, AssignmentState, BatchPlace, Demand, Digest, Millis, PoolEndRecord, PoolJobDraft,
    PoolJobId, PoolJobRecord, PoolJobStatus, PoolResult, PoolSubmission, PoolSubmissionReply, SubmissionKey,
    Timestamp, UserId,
};
use muster_problem::{Misfit, Problem, WireMutant, planted};
use muster_proof::{encode_base64url, hex, leaf_hash, root_of_path, signed_bytes};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use utoipa::ToSchema;

/// The body of `POST /jobs` (P13), and an item of `POST /jobs/batch` (P18).
#[derive(Clone, Debug, Serialize)]
pub struct JobRequest {
    /// Input of the worker: any JSON.
    pub payload: JsonText,
    /// 0 to 100; more comes first.
    pub priority: u8,
    /// Only workers of this region do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Box<str>>,
    /// Requirements on a worker's specs: a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires: Option<JsonText>,
    /// Maximum number of attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u8>,
    /// Time limit of one attempt.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seconds")]
    pub timeout_s: Option<f64>,
    /// Refuses results whose hash is not that of their output.
    pub verify_output_hash: bool,
    /// Number of workers of different owners that execute the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redundancy: Option<u8>,
}

impl JobRequest {
    /// A job with nothing but a payload.
    #[must_use]
    pub const fn new(payload: JsonText) -> Self {
        Self {
            payload,
            priority: 0,
            region: None,
            requires: None,
            max_attempts: None,
            timeout_s: None,
            verify_output_hash: false,
            redundancy: None,
        }
    }

    /// Parses the body of `POST /jobs`.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8], client: UserId) -> Result<PoolSubmission, Problem> {
        let jobs = vec![read(body, parse_draft)?];
        Ok(PoolSubmission { client, key: None, digest: digest(body, Route::One), jobs })
    }
}

/// The body of `POST /jobs/batch` (P18).
#[derive(Clone, Debug, Serialize)]
pub struct BatchRequest {
    /// All of them are accepted, or none.
    pub jobs: Vec<JobRequest>,
}

impl BatchRequest {
    /// Parses the body. No payload may be longer than in a job by itself.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8], client: UserId, payload_max: usize) -> Result<PoolSubmission, Problem> {
        let jobs = read(body, |fields| {
            fields.list("jobs", 1..=limit::BATCH_JOBS, |job| {
                let draft = parse_draft(job);
                if draft.payload.len() > payload_max {
                    job.blame("payload", format!("Input should be at most {payload_max} bytes of JSON"));
                }
                draft
            })
        })?;
        Ok(PoolSubmission { client, key: None, digest: digest(body, Route::Batch), jobs })
    }
}

/// The submission of the same job once more, for the same client (P13).
#[must_use]
pub fn resubmission(job: &PoolJobRecord) -> PoolSubmission {
    let digest = digest(job.id.to_string().as_bytes(), Route::Retry);
    PoolSubmission { client: job.client, key: None, digest, jobs: vec![job.draft.clone()] }
}

/// The route by which jobs came. A key that was used for one is not mistaken for the same key of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// `POST /jobs`
    One,
    /// `POST /jobs/batch`
    Batch,
    /// `POST /jobs/{id}/retry`
    Retry,
}

/// A job and what came of it (P13).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolJob)]
pub struct Job {
    /// Its id.
    pub id: u64,
    /// `queued`, `running`, `completed`, `failed` or `cancelled`.
    #[schema(example = "queued")]
    pub status: Cow<'static, str>,
    /// As it was handed in.
    pub payload: JsonText,
    /// 0 to 100; more comes first.
    pub priority: u8,
    /// Only workers of this region do it.
    pub region: Option<Box<str>>,
    /// What its worker handed in.
    #[schema(value_type = JsonText)]
    pub output: Option<JsonText>,
    /// What its worker signed for.
    pub output_hash: Option<Box<str>>,
    /// Why it failed.
    pub error_message: Option<Box<str>>,
    /// Any text; nobody here ever looks at what it leads to.
    pub artifact_uri: Option<Box<str>>,
    /// What its worker measured.
    #[schema(value_type = JsonText)]
    pub metrics_json: Option<JsonText>,
    /// When it was handed in.
    pub created_at: Moment,
    /// When it ended.
    pub finished_at: Option<Moment>,
    /// While it has not ended: what it waits for, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

impl Job {
    /// Shows a job as it was when it was submitted, whatever became of it since: a repeat is answered as the first was (P13).
    #[must_use]
    pub fn created(id: PoolJobId, draft: PoolJobDraft, at: Timestamp) -> Self {
        Self {
            id: id.0,
            status: PoolJobStatus::Queued.as_str().into(),
            payload: draft.payload.into(),
            priority: draft.priority,
            region: draft.demand.region,
            output: None,
            output_hash: None,
            error_message: None,
            artifact_uri: None,
            metrics_json: None,
            created_at: Moment(at),
            finished_at: None,
            explanation: None,
        }
    }

    /// Shows a job as it is now; `end` and `result` are there once it has ended.
    #[must_use]
    pub fn of(
        job: PoolJobRecord,
        status: PoolJobStatus,
        end: Option<PoolEndRecord>,
        result: Option<&PoolResult>,
    ) -> Self {
        let text = |of: fn(&PoolResult) -> &Option<Box<str>>| result.and_then(|result| of(result).clone());
        let json = |of: fn(&PoolResult) -> &Option<Box<str>>| result.and_then(|result| of(result).as_deref());
        let error = end.as_ref().and_then(|end| end.error.clone());
        Self {
            status: status.as_str().into(),
            output: json(|result| &result.output).map(JsonText::from),
            output_hash: text(|result| &result.output_hash),
            error_message: error.or_else(|| text(|result| &result.error)),
            artifact_uri: text(|result| &result.artifact_uri),
            metrics_json: json(|result| &result.metrics).map(JsonText::from),
            finished_at: end.map(|end| Moment(end.at)),
            ..Self::created(job.id, job.draft, job.created_at)
        }
    }
}

/// Jobs, newest first (P13).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolJobList)]
pub struct JobList {
    /// This page; it may be short, or empty, and still have a next.
    pub jobs: Vec<Job>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Jobs that were taken together (P18).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolBatch)]
pub struct BatchAnswer {
    /// One for each, in their order.
    pub jobs: Vec<BatchItem>,
}

impl BatchAnswer {
    /// Shows jobs as they were taken, now or before (P13).
    #[must_use]
    pub fn of(taken: &PoolSubmissionReply) -> Self {
        let first = taken.first.0.saturating_add(u64::from(planted(WireMutant::PoolBatchIdsOffByOne)));
        let ids = first..first.saturating_add(u64::from(taken.count));
        Self { jobs: ids.map(|id| BatchItem { id, status: PoolJobStatus::Queued.as_str().into() }).collect() }
    }
}

/// One job of a batch (P18).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolBatchItem)]
pub struct BatchItem {
    /// Its id.
    pub id: u64,
    /// Where it stood when it was taken.
    #[schema(example = "queued")]
    pub status: Cow<'static, str>,
}

/// Why a job is not done yet.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PoolJobExplained)]
pub struct Explained {
    /// Which job.
    pub job_id: u64,
    /// The cause in one word.
    #[schema(example = "no_workers")]
    pub cause: Cow<'static, str>,
    /// The same as `GET /api/explain` has it.
    #[schema(example = "no_workers")]
    pub code: Cow<'static, str>,
    /// The rule that says so.
    #[schema(example = "P3")]
    pub rule: Cow<'static, str>,
    /// The cause in one sentence, and what to do.
    pub explanation: String,
}

/// What proves a result (P17).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolReceipt)]
pub struct Receipt {
    /// Which assignment.
    pub assignment_id: u64,
    /// Of which job.
    pub job_id: u64,
    /// Who did it.
    pub worker_id: u64,
    /// The key that verified it.
    pub public_key: Box<str>,
    /// What was signed, in base64url.
    pub signed_bytes: String,
    /// The signature, in base64url; `null` where one covers many results.
    pub signature: Option<Box<str>>,
    /// The hash that was handed in.
    pub output_hash: Option<Box<str>>,
    /// When the result was taken.
    pub finished_at: Moment,
    /// The signature that covers many results, and the place of this one among them (P20).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<ReceiptBatch>,
}

/// One signature for many results, and the place of one among them (P20).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolReceiptBatch)]
pub struct ReceiptBatch {
    /// Number of results.
    pub count: u32,
    /// The place of this one, from 0 on.
    pub index: u32,
    /// Hashes from the result to the root of the Merkle tree of RFC 6962, in lower-case hexadecimal digits.
    pub path: Vec<String>,
    /// The root.
    pub root: String,
    /// The signature over the canonical JSON of count, root and worker_id, in base64url.
    pub signature: Box<str>,
}

impl ReceiptBatch {
    /// `None` if the place cannot be that of a result.
    fn of(place: &BatchPlace, signed: &[u8], signature: &str) -> Option<Self> {
        let BatchPlace { count, index, path } = place;
        let root = root_of_path(leaf_hash(signed), u64::from(*index), u64::from(*count), path)?;
        let (path, root) = (path.iter().map(|hash| hex(hash)).collect(), hex(&root));
        Some(Self { count: *count, index: *index, path, root, signature: signature.into() })
    }
}

impl Receipt {
    /// Shows the receipt of an assignment; `None` for one without a completed result.
    #[must_use]
    pub fn of(assignment: &AssignmentRecord) -> Option<Self> {
        if assignment.state != AssignmentState::Completed {
            return None;
        }
        let (id, result) = (assignment.id, assignment.result.as_ref()?);
        let signed = signed_bytes(id.0, &assignment.fence.to_string(), result.output_hash.as_deref());
        let batch = match &result.batch {
            Some(place) => Some(ReceiptBatch::of(place, &signed, &result.signature)?),
            None => None,
        };
        Some(Self {
            assignment_id: id.0,
            job_id: id.job().0,
            worker_id: assignment.worker.0,
            public_key: result.public_key.clone(),
            signed_bytes: encode_base64url(&signed),
            signature: batch.is_none().then(|| result.signature.clone()),
            output_hash: result.output_hash.clone(),
            finished_at: Moment(assignment.ended_at?),
            batch,
        })
    }
}

/// Reads the header `Idempotency-Key`, if it is there.
///
/// # Errors
/// 422 when it stands twice, or is not a key.
pub fn read_idempotency_key(headers: &HeaderMap) -> Result<Option<SubmissionKey>, Problem> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next().filter(|_| !planted(WireMutant::PoolKeyNotRead)) else { return Ok(None) };
    let wrong = |msg: &str| Problem::misfit(Misfit::new(vec!["header".into(), IDEMPOTENCY_KEY.into()], msg));
    if values.next().is_some() {
        return Err(wrong("Input stands twice in the request"));
    }
    let text = value.to_str().map_err(|_| wrong("Input should be printable ASCII"))?;
    SubmissionKey::new(text).map(Some).map_err(|error| wrong(&format!("Input {error}")))
}

fn parse_draft(fields: &mut Shape<'_, '_, '_>) -> PoolJobDraft {
    let requires = fields.opt_object_within("requires", limit::REQUIRES_BYTES);
    let max_attempts = fields.opt_integer("max_attempts", 1..=limit::ATTEMPTS).map(small);
    let max_attempts = match max_attempts {
        None if planted(WireMutant::PoolMaxAttemptsDefault) => Some(1),
        given => given,
    };
    let redundancy = fields.opt_integer("redundancy", 1..=limit::REDUNDANCY).map_or(1, small);
    if max_attempts.is_some_and(|attempts| redundancy > attempts) {
        fields.blame("redundancy", "Input should be less than or equal to max_attempts");
    }
    let priority_max = limit::PRIORITY - i64::from(planted(WireMutant::PoolPriorityLimit));
    PoolJobDraft {
        payload: fields.required("payload").map_or_else(|| "null".into(), |payload| payload.text().into()),
        priority: fields.opt_integer("priority", 0..=priority_max).map_or(0, small),
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
    if planted(WireMutant::PoolTimeoutReadAsMillis) {
        return Millis(seconds.ceil() as i64);
    }
    Millis((seconds * 1000.0).ceil() as i64)
}

/// Of the canonical form: the same job in another spelling is the same (P13).
fn digest(body: &[u8], route: Route) -> Digest {
    let route: &[u8] = match route {
        Route::One => b"POST /jobs\n",
        Route::Batch => b"POST /jobs/batch\n",
        Route::Retry => b"POST /jobs/{id}/retry\n",
    };
    let canonical = muster_proof::canonical(body).unwrap_or_else(|_| body.to_vec());
    let hash: [u8; 32] = Sha256::new().chain_update(route).chain_update(canonical).finalize().into();
    let (half, _) = hash.split_first_chunk().expect("a hash has 32 bytes");
    Digest(u128::from_be_bytes(*half))
}

/// Whole seconds are written without a fraction, so that two spellings of one request are one.
#[allow(
    clippy::ref_option,
    clippy::cast_possible_truncation,
    reason = "serde asks for a reference; it is whole"
)]
fn seconds<S: Serializer>(seconds: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match *seconds {
        Some(seconds) if seconds.fract() == 0.0 && seconds.abs() < 1e15 => to.serialize_i64(seconds as i64),
        Some(seconds) => to.serialize_f64(seconds),
        None => to.serialize_none(),
    }
}

/// The header that recognises a repeated submission (P13).
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

#[cfg(test)]
mod tests;
