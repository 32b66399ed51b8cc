//! A worker asks for work (P6).

use super::{ask, refuse};
use crate::{
    payloads::{respond, with_payloads},
    translate::{Polled, Words, read_poll},
    wire::{PollAnswer, PollRequest},
};
use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use muster_http::{BodyBytes, HttpState, Owner, Place, Problem};
use muster_model::{
    PoolWorkerId, UserId,
    ask::pool::{Poll, Resume},
};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(poll))
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
    let Polled { worker, start, resume, wait } = read_poll(&body)?;
    if resume {
        return started(&http, worker, owner.id).await;
    }
    place.wait_apart(wait)?;
    let poll = Poll { worker, owner: owner.id, start, supply: true };
    let handout = http.coordinator.poll_pool(poll, wait).await.map_err(refuse)?;
    owner.look_again(&http)?;
    let shown = with_payloads(&http, handout.as_slice()).await?.pop();
    let nothing = || Words::not_found("No assignment available").into();
    shown.map(|one| Json(one).into_response()).ok_or_else(nothing)
}

async fn started(http: &HttpState, worker: PoolWorkerId, owner: UserId) -> Result<Response, Problem> {
    let handouts = ask(http, None, Resume { worker, owner }).await?;
    respond(http, "", handouts).await
}
