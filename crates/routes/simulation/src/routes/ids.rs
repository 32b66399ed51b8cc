//! Ids: more of them, and chunks that are never used again (S1, S12, S13, S17).

use super::{ask, check_claim, order, refuse, session_id};
use axum::{Json, extract::State};
use muster_contract_simulation::{
    Chunk, ChunkList, ChunkStateWord, IdChunk, IdRangeRequest, ReasonRequest, read_id_request, read_reason,
};
use muster_coordinator::Coordinator;
use muster_http::{HttpState, JsonBody, Operator, Params, PathText, Problem, Renderer};
use muster_model::{ChunkRecord, ChunkState, ask::frames::RetireChunk};
use muster_store::{ChunkFilter, Page};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(more)).routes(routes!(list)).routes(routes!(retire))
}

/// Gives a worker a further chunk of ids for the task it holds.
#[utoipa::path(
    post, path = "/api/v1/id-ranges", operation_id = "more_ids", tag = "simulation workers",
    security(("worker" = []), ("worker_token" = [])),
    request_body = IdRangeRequest,
    responses(
        (status = 200, description = "A chunk at least that large", body = IdChunk),
        (status = 404, description = "There is no such task"),
        (status = 409, description = "The worker holds no task, or several, or there are no more ids"),
        (status = 410, description = "The worker was removed"),
    )
)]
async fn more(
    caller: Renderer,
    State(http): State<HttpState>,
    JsonBody(body): JsonBody,
) -> Result<Json<IdChunk>, Problem> {
    check_claim(&caller, &body)?;
    let ids = ask(&http.coordinator, read_id_request(&body, caller.0)?).await?;
    Ok(Json(ids.into()))
}

/// Lists granted chunks, by number.
#[utoipa::path(
    get, path = "/api/v1/chunks", operation_id = "list_chunks", tag = "simulation", security(("operator" = [])),
    params(
        ("state" = inline(Option<ChunkStateWord>), Query, description = "Only those"),
        ("session" = Option<String>, Query, description = "Only of this session"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Chunks per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of chunks", body = ChunkList),
        (status = 404, description = "There is no such session"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<ChunkList>, Problem> {
    params.only(&["state", "session", "after", "limit"])?;
    let state = params.opt_choice("state", &ChunkStateWord::ALL)?.and_then(ChunkState::from_word);
    let session = params.opt_text("session").map(session_id).transpose()?;
    let (filter, page) = (ChunkFilter { state, session }, params.cursor()?);
    let read = http.coordinator.read(move |store| store.chunks(&filter, &page)).await;
    let Page { items, next } = read.map_err(refuse)?;
    Ok(Json(ChunkList { chunks: items.into_iter().map(Chunk::from).collect(), next }))
}

/// Retires a chunk; the range it was given out with is done anew.
#[utoipa::path(
    post, path = "/api/v1/chunks/{id}/retire", operation_id = "retire_chunk", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The chunk's number")),
    request_body = ReasonRequest,
    responses(
        (status = 200, description = "The chunk is retired", body = Chunk),
        (status = 404, description = "There is no such chunk"),
        (status = 409, description = "Its session has ended"),
    )
)]
async fn retire(
    operator: Operator,
    State(http): State<HttpState>,
    id: PathText,
    JsonBody(body): JsonBody,
) -> Result<Json<Chunk>, Problem> {
    let reason = read_reason(&body)?;
    let coordinator = &http.coordinator;
    let known = chunk(coordinator, id.id("chunk")?).await?;
    let number = known.ids.chunk;
    let request = RetireChunk { chunk: number, task: Some(known.task), reason };
    order(&http, &operator, request).await?;
    chunk(coordinator, number).await.map(|chunk| Json(chunk.into()))
}

async fn chunk(coordinator: &Coordinator, number: u64) -> Result<ChunkRecord, Problem> {
    let chunk = coordinator.read(move |store| store.chunk(number)).await.map_err(refuse)?;
    chunk.ok_or_else(|| Problem::not_found("there is no such chunk"))
}
