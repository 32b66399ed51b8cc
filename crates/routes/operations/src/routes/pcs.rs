//! PCs: list, show, cap (Q13, Q3).

use super::refuse;
use axum::{Json, extract::State};
use muster_contract_operations::{
    LiveFacts, Pc, PcCounts, PcDetail, PcList, PcPatch, read_cap, show_history, show_pc,
};
use muster_http::{HttpState, JsonBody, Operator, Params, PathText, Problem};
use muster_model::{Name, WorkerSupply, ask::devices::SetCap};
use muster_store::{Page, WorkerSummary};
use std::collections::HashMap;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(show, cap))
}

/// Lists PCs with the counts of `pc_device_summary`, by id.
#[utoipa::path(
    get, path = "/api/pcs", operation_id = "list_pcs", tag = "pcs", security(("operator" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "PCs per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of PCs", body = PcList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(State(http): State<HttpState>, _: Operator, params: Params) -> Result<Json<PcList>, Problem> {
    params.only(&["after", "limit"])?;
    let page = params.cursor()?;
    let Page { items, next } =
        http.coordinator.read(move |store| store.workers(&page)).await.map_err(refuse)?;
    Ok(Json(PcList { pcs: overlay(&http, &items).await?, next }))
}

/// Shows one PC with its life, newest first.
#[utoipa::path(
    get, path = "/api/pcs/{id}", operation_id = "show_pc", tag = "pcs", security(("operator" = [])),
    params(("id" = String, Path, description = "The PC")),
    responses(
        (status = 200, description = "The PC", body = PcDetail),
        (status = 404, description = "There is no such PC"),
    )
)]
async fn show(State(http): State<HttpState>, _: Operator, id: PathText) -> Result<Json<PcDetail>, Problem> {
    let id = id.name("PC")?;
    let found =
        http.coordinator.read(move |store| Ok((store.worker(&id)?, store.worker_log(&id, EVENTS_MAX)?)));
    let (found, log) = found.await.map_err(refuse)?;
    let own_max_devices = found.as_ref().and_then(|pc| pc.worker.cap);
    let pc = overlay_one(&http, found).await?;
    Ok(Json(PcDetail { own_max_devices, pc, history: show_history(&log) }))
}

/// Sets how many devices may run at once on a PC.
#[utoipa::path(
    patch, path = "/api/pcs/{id}", operation_id = "cap_pc", tag = "pcs", security(("operator" = [])),
    params(("id" = String, Path, description = "The PC")),
    request_body = PcPatch,
    responses(
        (status = 200, description = "The PC with its cap", body = Pc),
        (status = 404, description = "There is no such PC"),
    )
)]
async fn cap(
    State(http): State<HttpState>,
    operator: Operator,
    id: PathText,
    JsonBody(body): JsonBody,
) -> Result<Json<Pc>, Problem> {
    let worker = id.name("PC")?;
    let cap = read_cap(&body)?;
    http.ask(operator.actor(), SetCap { worker: worker.clone(), cap }).await.map_err(refuse)?;
    pc(&http, worker).await
}

/// One PC as it stands now.
pub(super) async fn pc(http: &HttpState, id: Name) -> Result<Json<Pc>, Problem> {
    let pc = http.coordinator.read(move |store| store.worker(&id)).await.map_err(refuse)?;
    overlay_one(http, pc).await.map(Json)
}

async fn overlay_one(http: &HttpState, pc: Option<WorkerSummary>) -> Result<Pc, Problem> {
    let pc = pc.ok_or_else(|| Problem::not_found("there is no such PC"))?;
    let mut shown = overlay(http, &[pc]).await?;
    shown.pop().ok_or_else(|| Problem::not_found("there is no such PC"))
}

/// Adds the facts that memory knows better: the last sign of life, which is stored only now and then, and the figures of
/// Q3, all from one moment.
async fn overlay(http: &HttpState, pcs: &[WorkerSummary]) -> Result<Vec<Pc>, Problem> {
    let names = pcs.iter().map(|pc| pc.worker.id.clone()).collect();
    let supplies = http.coordinator.supplies(names).await.map_err(refuse)?;
    let mut supplies: HashMap<Name, WorkerSupply> =
        supplies.into_iter().map(|supply| (supply.worker.clone(), supply)).collect();
    let slots = http.coordinator.settings().slots;
    let show = |pc: &WorkerSummary| {
        let last_seen = http.coordinator.last_seen(&pc.worker.id);
        let counts = PcCounts {
            worker: &pc.worker,
            device_count: pc.device_count,
            idle_count: pc.idle_count,
            error_count: pc.error_count,
            disconnected_count: pc.disconnected_count,
        };
        show_pc(&counts, &LiveFacts { last_seen, supply: supplies.remove(&pc.worker.id), slots })
    };
    Ok(pcs.iter().map(show).collect())
}

const EVENTS_MAX: u32 = 100;
