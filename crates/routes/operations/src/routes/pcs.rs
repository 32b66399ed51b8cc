//! PCs: list, show, cap (Q13, Q3).

use super::{OperatorCall, refuse};
use axum::Json;
use muster_contract_operations::{
    LiveFacts, Pc, PcCounts, PcDetail, PcList, PcPatch, read_cap, show_history, show_pc,
};
use muster_http::{HttpState, JsonBody, Params, PathText, Problem};
use muster_model::{Name, WorkerSupply, ask::devices::SetCap};
use muster_store::{Page, Reader, WorkerSummary};
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
async fn list(call: OperatorCall, params: Params) -> Result<Json<PcList>, Problem> {
    params.only(&["after", "limit"])?;
    let page = params.cursor()?;
    let Page { items, next } = call.read(move |store| store.workers(&page)).await?;
    Ok(Json(PcList { pcs: overlay(&call, &items).await?, next }))
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
async fn show(call: OperatorCall, id: PathText) -> Result<Json<PcDetail>, Problem> {
    let id = id.name("PC")?;
    let read = move |store: &dyn Reader| Ok(store.worker(&id)?.zip(Some(store.worker_log(&id, EVENTS_MAX)?)));
    let (found, log) = call.find("PC", read).await?;
    let own_max_devices = found.worker.cap;
    Ok(Json(PcDetail { own_max_devices, pc: overlay_one(&call, found).await?, history: show_history(&log) }))
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
async fn cap(call: OperatorCall, id: PathText, JsonBody(body): JsonBody) -> Result<Json<Pc>, Problem> {
    let worker = id.name("PC")?;
    let cap = read_cap(&body)?;
    call.ask(SetCap { worker: worker.clone(), cap }).await?;
    pc(&call, worker).await
}

/// One PC as it stands now.
pub(super) async fn pc(call: &OperatorCall, id: Name) -> Result<Json<Pc>, Problem> {
    let pc = call.find("PC", move |store| store.worker(&id)).await?;
    overlay_one(call, pc).await.map(Json)
}

async fn overlay_one(call: &OperatorCall, pc: WorkerSummary) -> Result<Pc, Problem> {
    let mut shown = overlay(call, &[pc]).await?;
    shown.pop().ok_or_else(|| Problem::not_found("there is no such PC"))
}

/// Adds the facts that memory knows better: the last sign of life, which is stored only now and then, and the figures of
/// Q3, all from one moment.
async fn overlay(call: &OperatorCall, pcs: &[WorkerSummary]) -> Result<Vec<Pc>, Problem> {
    let names = pcs.iter().map(|pc| pc.worker.id.clone()).collect();
    let supplies = call.coordinator.supplies(names).await.map_err(refuse)?;
    let mut supplies: HashMap<Name, WorkerSupply> =
        supplies.into_iter().map(|supply| (supply.worker.clone(), supply)).collect();
    let slots = call.coordinator.settings().slots;
    let show = |pc: &WorkerSummary| {
        let last_seen = call.coordinator.last_seen(&pc.worker.id);
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
