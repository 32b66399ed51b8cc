//! The fleet: devices (list, show, label, return to service), PCs (list, show, cap), and what operators do to nodes (drain,
//! resume, give a secret) (Q3, Q11, Q13, Q15).

use super::{OperatorCall, refuse};
use axum::Json;
use muster_contract_operations::{
    DEVICE_WORDS, Device, DeviceList, DevicePatch, DeviceReturn, DeviceStatusWord, LiveFacts, NameWord,
    NewSecret, Pc, PcCounts, PcDetail, PcList, PcPatch, read_cap, read_device_status, read_labels, read_note,
    show_device, show_history, show_pc,
};
use muster_http::{HttpState, JsonBody, Params, PathText, Problem};
use muster_model::{
    Name, WorkerSupply,
    ask::devices::{self, SetCap},
};
use muster_store::{LaneFilter, Page, Reader, WorkerSummary};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(list_devices))
        .routes(routes!(show_one_device, label))
        .routes(routes!(put_back))
        .routes(routes!(list_pcs))
        .routes(routes!(show_one_pc, cap))
        .routes(routes!(drain))
        .routes(routes!(resume))
        .routes(routes!(rotate_secret))
}

/// Lists devices, by id.
#[utoipa::path(
    get, path = "/api/devices", operation_id = "list_devices", tag = "devices", security(("operator" = [])),
    params(
        ("pc_id" = inline(Option<NameWord>), Query, description = "Only devices of this PC"),
        ("status" = inline(Option<DeviceStatusWord>), Query, description = "Only devices that stand there"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Devices per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of devices", body = DeviceList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list_devices(call: OperatorCall, params: Params) -> Result<Json<DeviceList>, Problem> {
    params.only(&["pc_id", "status", "after", "limit"])?;
    let page = params.cursor()?;
    let status = params.opt_choice("status", &DEVICE_WORDS)?.map(read_device_status);
    let filter = LaneFilter { status, worker: params.opt_name("pc_id")? };
    let Page { items, next } = call.read(move |store| store.lanes(&filter, &page)).await?;
    Ok(Json(DeviceList { devices: items.into_iter().map(show_device).collect(), next }))
}

/// Shows one device.
#[utoipa::path(
    get, path = "/api/devices/{id}", operation_id = "show_device", tag = "devices", security(("operator" = [])),
    params(("id" = String, Path, description = "The device's serial")),
    responses(
        (status = 200, description = "The device", body = Device),
        (status = 404, description = "There is no such device"),
    )
)]
async fn show_one_device(call: OperatorCall, id: PathText) -> Result<Json<Device>, Problem> {
    device(&call, id.name("device")?).await
}

/// Replaces a device's labels.
#[utoipa::path(
    patch, path = "/api/devices/{id}", operation_id = "label_device", tag = "devices", security(("operator" = [])),
    params(("id" = String, Path, description = "The device's serial")),
    request_body = DevicePatch,
    responses(
        (status = 200, description = "The device with its labels", body = Device),
        (status = 404, description = "There is no such device"),
    )
)]
async fn label(call: OperatorCall, id: PathText, JsonBody(body): JsonBody) -> Result<Json<Device>, Problem> {
    let lane = id.name("device")?;
    let labels = read_labels(&body)?;
    call.ask(devices::Label { lane: lane.clone(), labels }).await?;
    device(&call, lane).await
}

/// Puts a device that is out of service back into it.
#[utoipa::path(
    post, path = "/api/devices/{id}/return", operation_id = "return_device", tag = "devices", security(("operator" = [])),
    params(("id" = String, Path, description = "The device's serial")),
    request_body = Option<DeviceReturn>,
    responses(
        (status = 200, description = "The device, in service", body = Device),
        (status = 404, description = "There is no such device"),
        (status = 409, description = "The device was in service"),
    )
)]
async fn put_back(call: OperatorCall, id: PathText, body: Option<JsonBody>) -> Result<Json<Device>, Problem> {
    let lane = id.name("device")?;
    let note = read_note(body.as_ref().map(|body| &body.0))?;
    call.ask(devices::ReturnToService { lane: lane.clone(), note }).await?;
    device(&call, lane).await
}

async fn device(call: &OperatorCall, id: Name) -> Result<Json<Device>, Problem> {
    call.find("device", move |store| store.lane(&id)).await.map(|lane| Json(show_device(lane)))
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
async fn list_pcs(call: OperatorCall, params: Params) -> Result<Json<PcList>, Problem> {
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
async fn show_one_pc(call: OperatorCall, id: PathText) -> Result<Json<PcDetail>, Problem> {
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
async fn pc(call: &OperatorCall, id: Name) -> Result<Json<Pc>, Problem> {
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

/// Gives a node no more work; what it has, it ends.
#[utoipa::path(
    post, path = "/api/nodes/{id}/drain", operation_id = "drain_node", tag = "nodes", security(("operator" = [])),
    params(("id" = String, Path, description = "The node")),
    responses(
        (status = 200, description = "The node is draining", body = Pc),
        (status = 404, description = "There is no such node"),
    )
)]
async fn drain(call: OperatorCall, id: PathText) -> Result<Json<Pc>, Problem> {
    let worker = id.name("node")?;
    call.ask(devices::Drain { worker: worker.clone() }).await?;
    pc(&call, worker).await
}

/// Gives a drained node work again.
#[utoipa::path(
    post, path = "/api/nodes/{id}/resume", operation_id = "resume_node", tag = "nodes", security(("operator" = [])),
    params(("id" = String, Path, description = "The node")),
    responses(
        (status = 200, description = "The node gets work", body = Pc),
        (status = 404, description = "There is no such node"),
    )
)]
async fn resume(call: OperatorCall, id: PathText) -> Result<Json<Pc>, Problem> {
    let worker = id.name("node")?;
    call.ask(devices::Resume { worker: worker.clone() }).await?;
    pc(&call, worker).await
}

/// Gives a node a new secret of its own, shown this once.
#[utoipa::path(
    post, path = "/api/nodes/{id}/secret", operation_id = "rotate_secret", tag = "nodes", security(("operator" = [])),
    params(("id" = String, Path, description = "The node")),
    responses(
        (status = 200, description = "The new secret", body = NewSecret),
        (status = 404, description = "There is no such node"),
    )
)]
async fn rotate_secret(call: OperatorCall, id: PathText) -> Result<Json<NewSecret>, Problem> {
    let worker = id.name("node")?;
    let secret = call.coordinator.new_secret();
    let hash = Sha256::digest(secret.as_bytes()).into();
    call.ask(devices::RotateSecret { worker: worker.clone(), hash }).await?;
    let old_valid_until = call.coordinator.now() + call.coordinator.settings().secret_overlap;
    Ok(Json(NewSecret { node_id: worker.to_string(), secret, old_valid_until: old_valid_until.0 }))
}
