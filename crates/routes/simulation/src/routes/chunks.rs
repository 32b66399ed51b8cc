//! Granted chunks of ids, and the files of chunks and workers that were set apart (S12, S13, S15, S17).

use super::{missing, order, page, refuse, session_id};
use axum::{Json, extract::State};
use muster_contract_simulation::{
    Chunk, ChunkList, ChunkStateWord, ConfirmRequest, EntryList, QuarantineEntry, ReasonRequest, read_note,
    read_reason,
};
use muster_http::{HttpState, JsonBody, Operator, Params, PathText, Problem};
use muster_model::{
    ChunkRecord, ChunkState, EntryId,
    ask::frames::{Confirm, RetireChunk},
};
use muster_store::{ChunkFilter, Page};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(list_chunks))
        .routes(routes!(retire))
        .routes(routes!(list_quarantine))
        .routes(routes!(confirm))
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
async fn list_chunks(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<ChunkList>, Problem> {
    params.only(&["state", "session", "after", "limit"])?;
    let state = params.opt_choice("state", &ChunkStateWord::ALL)?.and_then(ChunkState::from_word);
    let session = params.opt_text("session").map(session_id).transpose()?;
    let filter = ChunkFilter { state, session };
    let Page { items, next } = page(&http, &params, move |store, page| store.chunks(&filter, page)).await?;
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
    let known = chunk(&http, id.id("chunk")?).await?;
    let number = known.ids.chunk;
    let request = RetireChunk { chunk: number, task: Some(known.task), reason };
    order(&http, &operator, request).await?;
    chunk(&http, number).await.map(|chunk| Json(chunk.into()))
}

async fn chunk(http: &HttpState, number: u64) -> Result<ChunkRecord, Problem> {
    let chunk = http.coordinator.read(move |store| store.chunk(number)).await.map_err(refuse)?;
    chunk.ok_or_else(|| missing("chunk"))
}

/// Lists what was set apart, newest first.
#[utoipa::path(
    get, path = "/api/v1/quarantine", operation_id = "list_quarantine", tag = "simulation",
    security(("operator" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Entries per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of entries", body = EntryList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list_quarantine(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<EntryList>, Problem> {
    params.only(&["after", "limit"])?;
    let Page { items, next } = page(&http, &params, |store, page| store.quarantine(page)).await?;
    Ok(Json(EntryList { entries: items.into_iter().map(QuarantineEntry::from).collect(), next }))
}

/// Says that a person has looked at an entry.
#[utoipa::path(
    post, path = "/api/v1/quarantine/{id}/confirm", operation_id = "confirm_quarantine", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The entry")),
    request_body = ConfirmRequest,
    responses(
        (status = 200, description = "The entry is confirmed", body = QuarantineEntry),
        (status = 404, description = "There is no such entry"),
        (status = 409, description = "Its files are still being moved"),
    )
)]
async fn confirm(
    operator: Operator,
    State(http): State<HttpState>,
    id: PathText,
    JsonBody(body): JsonBody,
) -> Result<Json<QuarantineEntry>, Problem> {
    let note = read_note(&body)?;
    let id: EntryId = id.id("entry of the quarantine")?;
    let entry = http.coordinator.read(move |store| store.quarantined(&id)).await.map_err(refuse)?;
    let entry = entry.ok_or_else(|| missing("entry of the quarantine"))?;
    order(&http, &operator, Confirm { record: Box::new(entry.clone()), note: note.clone() }).await?;
    Ok(Json(QuarantineEntry::confirmed(entry, note)))
}
