//! A worker hands in results and asks for more work, in one call and one commit (P19).

use super::{key_of, ready, refuse, refuse_result};
use crate::{
    bodies::{LargeBody, apart},
    keys::WorkerKeys,
    payloads::respond,
    translate::{Handed, Words, Worked, judge, read_work, show_taken, words},
    wire::{SubmittedItem, WorkAnswer, WorkRequest},
};
use axum::{Extension, extract::State, response::Response};
use muster_http::{HttpState, Owner, Place, Problem};
use muster_model::{PoolRejection, PoolResult, PoolTaken, PoolWork, PoolWorkReply, UserId};
use std::{sync::Arc, time::Duration};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(work))
}

/// Takes results and gives more work.
///
/// Every result is judged as by `POST /jobs/submit`, each for itself: what is wrong with one does not touch the others. With
/// results in it the call is answered at once; without, it waits for work as a poll does.
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
    (place, keys): (Place, Extension<WorkerKeys>),
    body: LargeBody,
) -> Result<Response, Problem> {
    let (length, bytes) = (body.bytes.len(), body.bytes.clone());
    let mut worked = apart(length, move || read_work(&bytes)).await??;
    let public_key = key_of(&http, worked.worker, owner.id).await?;
    let judged = judge_all(std::mem::take(&mut worked.results), public_key, &keys).await?;
    let call = Call::new(worked, owner.id, judged);
    place.wait_apart(call.wait)?;
    ready(&http)?;
    let PoolWorkReply { results, assignments } = call.ask(&http).await?;
    owner.look_again(&http)?;
    let submitted = serde_json::to_string(&call.tell(results)).map_err(|error| Problem::internal(&error))?;
    respond(&http, &format!("\"submitted\":{submitted},"), assignments).await
}

/// A call whose results were judged.
struct Call {
    work: PoolWork,
    wait: Duration,
    /// In the order they came: of which assignment, and what is wrong with it so far.
    judged: Vec<(u64, Option<Words>)>,
}

impl Call {
    fn new(worked: Worked, owner: UserId, results: Vec<Judged>) -> Self {
        let Worked { worker, max, start, wait, .. } = worked;
        let mut work = PoolWork { worker, owner, results: Vec::new(), max, start, supply: max > 0 };
        let mut judged = Vec::with_capacity(results.len());
        for Judged { assignment_id, result } in results {
            judged.push((assignment_id, result.as_ref().err().cloned()));
            work.results.extend(result.ok());
        }
        Self { work, wait, judged }
    }

    async fn ask(&self, http: &HttpState) -> Result<PoolWorkReply, Problem> {
        let refuse = if self.judged.is_empty() { refuse } else { refuse_result };
        let worked = http.coordinator.work_pool(self.work.clone(), self.wait).await.map_err(refuse)?;
        if worked.results.len() == self.work.results.len() {
            Ok(worked)
        } else {
            Err(Problem::internal(&"results were handed in and not all of them decided"))
        }
    }

    /// Tells what became of each, in the order they came.
    fn tell(self, results: Vec<Result<PoolTaken, PoolRejection>>) -> Vec<SubmittedItem> {
        let mut results = results.into_iter();
        let mut decided = || results.next().expect("as many were decided as were handed in");
        let tell = |(id, wrong): (u64, Option<Words>)| match wrong {
            Some(words) => refused(id, words),
            None => match decided() {
                Ok(taken) => SubmittedItem::Taken(show_taken(&taken)),
                Err(rejection) => refused(id, words(&rejection)),
            },
        };
        self.judged.into_iter().map(tell).collect()
    }
}

fn refused(assignment_id: u64, words: Words) -> SubmittedItem {
    let Words { status, detail, identical } = words;
    SubmittedItem::Refused { assignment_id, error: detail, code: status.as_u16(), identical }
}

/// A result, or what is wrong with it.
struct Judged {
    assignment_id: u64,
    result: Result<Arc<PoolResult>, Words>,
}

/// Judges results on as many cores as there are, each by itself: see `PublicKey::verify` for why not together.
async fn judge_all(
    handed: Vec<Handed>,
    public_key: Option<Box<str>>,
    keys: &WorkerKeys,
) -> Result<Vec<Judged>, Problem> {
    let (key, text) = (keys.read(public_key.as_deref()), public_key.unwrap_or_default());
    let judge_one = move |one: Handed| {
        let assignment_id = one.assignment.0;
        let result = key.clone().and_then(|key| judge(one, &key, text.clone()));
        Judged { assignment_id, result: result.map(Arc::new) }
    };
    if handed.len() <= SOON_JUDGED {
        return Ok(handed.into_iter().map(judge_one).collect());
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let each = handed.len().div_ceil(cores).max(SOON_JUDGED);
    let mut handed = handed.into_iter();
    let mut shares = Vec::new();
    while handed.len() > 0 {
        let (share, judge_one): (Vec<Handed>, _) = (handed.by_ref().take(each).collect(), judge_one.clone());
        let judged = move || share.into_iter().map(judge_one).collect::<Vec<Judged>>();
        shares.push(tokio::task::spawn_blocking(judged));
    }
    let mut judged = Vec::new();
    for share in shares {
        judged.extend(share.await.map_err(|error| Problem::internal(&error))?);
    }
    Ok(judged)
}

/// Judged in less than half a millisecond.
const SOON_JUDGED: usize = 8;
