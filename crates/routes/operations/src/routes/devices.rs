//! Devices: list, show, label, return to service (Q15, Q11).

use super::OperatorCall;
use axum::Json;
use muster_contract_operations::{
    DEVICE_WORDS, Device, DeviceList, DevicePatch, DeviceReturn, DeviceStatusWord, NameWord,
    read_device_status, read_labels, read_note, show_device,
};
use muster_http::{HttpState, JsonBody, Params, PathText, Problem};
use muster_model::{Name, ask::devices};
use muster_store::{LaneFilter, Page};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(show, label)).routes(routes!(put_back))
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
async fn list(call: OperatorCall, params: Params) -> Result<Json<DeviceList>, Problem> {
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
async fn show(call: OperatorCall, id: PathText) -> Result<Json<Device>, Problem> {
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
