//! Workers ask for work and submit results (P6, P7, P19, P20).

use super::{ask, key_of, ready, refuse, refuse_result};
use crate::{
    bodies::{LargeBody, apart},
    payloads::{respond, with_payloads},
};
use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use muster_contract_pool::{
    ParsedSubmission, ParsedWork, PollAnswer, PollRequest, Refusal, SubmitRequest, Submitted, SubmittedItem,
    UnverifiedResult, UnverifiedResults, WorkAnswer, WorkRequest, read_worker_key, refusal::NO_ASSIGNMENT,
};
use muster_http::{BodyBytes, HttpState, Owner, Place, Problem};
use muster_model::{
    PoolRejection, PoolResult, PoolTaken, PoolWork, PoolWorkReply,
    ask::pool::{HandIn, Poll, Resume},
};
use muster_proof::PublicKey;
use std::{sync::Arc, time::Duration};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(poll)).routes(routes!(submit)).routes(routes!(work))
}

/// Gives a worker its oldest assignment that was not started, or, to `resume`, all that were.
#[utoipa::path(
    post, path = "/jobs/poll", operation_id = "pool_poll", tag = "pool workers",
    security(("user" = [])),
    request_body = PollRequest,
    responses(
        (status = 200, description = "An assignment; to resume, those that were started", body = PollAnswer),
        (status = 404, description = "Worker not found, or No assignment available"),
    )
)]
async fn poll(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    place: Place,
    BodyBytes(body): BodyBytes,
) -> Result<Response, Problem> {
    let request = PollRequest::parse(&body)?;
    let (worker, wait) = (request.worker(), request.wait());
    if request.resume {
        let handouts = ask(&http, None, Resume { worker, owner: owner.id }).await?;
        return respond(&http, None, handouts).await;
    }
    place.wait_apart(wait)?;
    let poll = Poll { worker, owner: owner.id, start: request.start, supply: true };
    let handout = http.coordinator.poll_pool(poll, wait).await.map_err(refuse)?;
    owner.look_again(&http)?;
    let shown = with_payloads(&http, handout.as_slice()).await?.pop();
    let nothing = || NO_ASSIGNMENT.into();
    shown.map(|one| Json(one).into_response()).ok_or_else(nothing)
}

/// Takes a result whose signature holds.
///
/// What is checked with the worker's key alone is checked here; the one writer only sees results that are their worker's.
#[utoipa::path(
    post, path = "/jobs/submit", operation_id = "pool_submit", tag = "pool workers",
    security(("user" = [])),
    request_body = SubmitRequest,
    responses(
        (status = 200, description = "The result was taken", body = Submitted),
        (status = 400, description = "Worker public key is not configured, Invalid public key encoding, Invalid public key length, Invalid signature encoding, Invalid signature length, Signature verification failed, Invalid nonce, Output required, or Output hash mismatch"),
        (status = 404, description = "Worker not found, or Assignment not found"),
        (status = 409, description = "Assignment already submitted (with the header Muster-Identical: true where the bodies are the same), Assignment is not in a submittable state, or Concurrent submission conflict"),
    )
)]
async fn submit(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    BodyBytes(body): BodyBytes,
) -> Result<Json<Submitted>, Problem> {
    let ParsedSubmission { worker, result } =
        apart(body.len(), move || SubmitRequest::parse(&body)).await??;
    let public_key = key_of(&http, worker, owner.id).await?;
    let key = read_worker_key(public_key.as_deref())?;
    let result = Arc::new(result.verify(&key, public_key.unwrap_or_default())?);
    ready(&http)?;
    let hand_in = HandIn { worker, owner: owner.id, result };
    let taken = http.coordinator.ask(hand_in).await.map_err(refuse_result)?;
    Ok(Json(Submitted::of(&taken)))
}

/// Takes results and gives more work.
///
/// Every result is judged as by `POST /jobs/submit`, each for itself: what is wrong with one does not touch the others. One
/// `batch_signature` may stand for the signatures of all results; if it is invalid, every result is refused. With results in
/// it the call is answered at once; without, it waits for work as a poll does.
#[utoipa::path(
    post, path = "/jobs/work", operation_id = "pool_work", tag = "pool workers",
    security(("user" = [])),
    request_body = WorkRequest,
    responses(
        (status = 200, description = "What became of each result, and more work", body = WorkAnswer),
        (status = 404, description = "Worker not found"),
        (status = 409, description = "Concurrent submission conflict"),
    )
)]
async fn work(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    place: Place,
    body: LargeBody,
) -> Result<Response, Problem> {
    let (length, bytes) = (body.bytes.len(), body.bytes.clone());
    let work = apart(length, move || WorkRequest::parse(&bytes)).await??;
    let public_key = key_of(&http, work.worker, owner.id).await?;
    let ParsedWork { worker, results, max, start, wait } = work;
    let checked = verify_all(results, public_key).await?;
    let asked = PoolWork { worker, owner: owner.id, results: Vec::new(), max, start, supply: max > 0 };
    let call = WorkCall::new(asked, wait, checked);
    place.wait_apart(call.wait)?;
    ready(&http)?;
    let PoolWorkReply { results, assignments } = call.ask(&http).await?;
    owner.look_again(&http)?;
    respond(&http, Some(&call.submitted(results)), assignments).await
}

/// A call whose results were checked.
struct WorkCall {
    work: PoolWork,
    wait: Duration,
    /// In the order they came.
    checked: Vec<CheckedResult>,
}

/// The verdict on one result of a call.
struct CheckedResult {
    assignment_id: u64,
    /// `Err`: the signature is not the worker's. `Ok`: the writer decides.
    verdict: Result<Arc<PoolResult>, Refusal>,
}

impl WorkCall {
    fn new(work: PoolWork, wait: Duration, checked: Vec<CheckedResult>) -> Self {
        let results = checked.iter().filter_map(|one| one.verdict.as_ref().ok()).cloned().collect();
        Self { work: PoolWork { results, ..work }, wait, checked }
    }

    async fn ask(&self, http: &HttpState) -> Result<PoolWorkReply, Problem> {
        let refuse = if self.checked.is_empty() { refuse } else { refuse_result };
        let reply = http.coordinator.work_pool(self.work.clone(), self.wait).await.map_err(refuse)?;
        if reply.results.len() == self.work.results.len() {
            Ok(reply)
        } else {
            Err(Problem::internal(&"not every result of a call was decided"))
        }
    }

    /// Shows what became of each result, in the order they came.
    fn submitted(self, decided: Vec<Result<PoolTaken, PoolRejection>>) -> Vec<SubmittedItem> {
        let mut decided = decided.into_iter();
        let mut next = || decided.next().expect("every result that was asked about is decided");
        let show = |one: CheckedResult| match one.verdict {
            Ok(_) => SubmittedItem::of(one.assignment_id, &next()),
            Err(refusal) => SubmittedItem::refused(one.assignment_id, refusal),
        };
        self.checked.into_iter().map(show).collect()
    }
}

/// Checks the signatures of a call: one for all results (P20), or one for each.
async fn verify_all(
    results: UnverifiedResults,
    public_key: Option<Box<str>>,
) -> Result<Vec<CheckedResult>, Problem> {
    let (key, text) = (read_worker_key(public_key.as_deref()), public_key.unwrap_or_default());
    let assignments: Vec<u64> = results.results().iter().map(|result| result.assignment().0).collect();
    let verdicts = match (key, results) {
        (Err(refusal), _) => vec![Err(refusal); assignments.len()],
        (Ok(key), UnverifiedResults::Single(results)) => verify_each(results, key, text).await?,
        (Ok(key), UnverifiedResults::Batch(batch)) => {
            apart(assignments.len() * LEAF_BYTES, move || batch.verify(&key, &text)).await?
        }
    };
    let checked = assignments
        .into_iter()
        .zip(verdicts)
        .map(|(assignment_id, verdict)| CheckedResult { assignment_id, verdict: verdict.map(Arc::new) });
    Ok(checked.collect())
}

/// Checks signatures on as many cores as there are, each by itself: see `PublicKey::verify` for why not together.
async fn verify_each(
    results: Vec<UnverifiedResult>,
    key: PublicKey,
    public_key: Box<str>,
) -> Result<Vec<Result<PoolResult, Refusal>>, Problem> {
    let verify = move |result: UnverifiedResult| result.verify(&key, public_key.clone());
    if results.len() <= FEW_RESULTS {
        return Ok(results.into_iter().map(verify).collect());
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let each = results.len().div_ceil(cores).max(FEW_RESULTS);
    let mut results = results.into_iter();
    let mut shares = Vec::new();
    while results.len() > 0 {
        let share: Vec<UnverifiedResult> = results.by_ref().take(each).collect();
        let verify = verify.clone();
        let verdicts = move || share.into_iter().map(verify).collect::<Vec<_>>();
        shares.push(tokio::task::spawn_blocking(verdicts));
    }
    let mut verdicts = Vec::new();
    for share in shares {
        verdicts.extend(share.await.map_err(|error| Problem::internal(&error))?);
    }
    Ok(verdicts)
}

/// Approximate number of bytes that are hashed for a result in a batch: its leaf, and a node above it.
const LEAF_BYTES: usize = 256;
/// Checked in less than half a millisecond.
const FEW_RESULTS: usize = 8;
