//! A node's request for work (N1): as a node writes it and as the coordinator reads it.

use crate::Text;
use muster_model::{Attachment, DeviceReport, Millis, Name, Pull};
use muster_problem::{Fields, Item, Problem, WireMutant, planted, schema};
use serde::Serialize;
use serde_json::Value;
use std::{collections::HashSet, time::Duration};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ArrayBuilder, Type},
    },
};

/// A node's request for work (N1).
#[derive(Debug, Serialize, ToSchema)]
pub struct PullRequest<'a> {
    /// Who asks.
    #[schema(schema_with = name)]
    pub node_id: &'a str,
    /// At most so many jobs; 0 is a mere report.
    #[schema(schema_with = max_jobs)]
    pub max_jobs: u32,
    /// How long to wait for work to appear; more than 30000 counts as 30000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = wait_ms, required = false)]
    pub wait_ms: Option<i64>,
    /// All devices attached now; absent: no report.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = devices_schema, required = false)]
    pub devices: Option<Vec<DeviceEntry<'a>>>,
}

/// One attached device (N1b).
#[derive(Debug, Serialize, ToSchema)]
pub struct DeviceEntry<'a> {
    /// The immutable serial.
    #[schema(schema_with = name)]
    pub device_id: &'a str,
    /// Whatever reaches it now; the serial where absent.
    #[schema(schema_with = handle, required = false)]
    pub runtime_handle: &'a str,
    /// `online` counts; everything else counts as offline.
    #[schema(schema_with = status)]
    pub status: &'static str,
}

/// A device as its node sees it (N1b).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Its immutable serial.
    pub device: Text,
    /// Whatever reaches it now: serial, `ip:port`, `emulator-5554`.
    pub handle: Text,
    /// Its condition; never `Absent`.
    pub attachment: Attachment,
}

/// Writes a request for work.
#[must_use]
pub fn write_pull(node: &str, max_jobs: u32, wait: Option<Millis>, devices: Option<&[Attached]>) -> Vec<u8> {
    let devices = devices.map(|devices| devices.iter().map(DeviceEntry::of).collect());
    let request = PullRequest { node_id: node, max_jobs, wait_ms: wait.map(|wait| wait.0), devices };
    serde_json::to_vec(&request).expect("texts and numbers are always JSON")
}

impl<'a> DeviceEntry<'a> {
    fn of(attached: &'a Attached) -> Self {
        let status = match attached.attachment {
            Attachment::Online => "online",
            Attachment::Offline | Attachment::Absent => "offline",
            Attachment::Unauthorized => "unauthorized",
            Attachment::Error => "error",
        };
        Self { device_id: &attached.device, runtime_handle: &attached.handle, status }
    }
}

/// A pull as the coordinator understands it: the command, and how long it may wait.
#[derive(Clone, Debug)]
pub struct PullOrder {
    /// The command.
    pub pull: Pull,
    /// At most 30 s, whatever was asked for (N1).
    pub wait: Duration,
}

/// Reads the body of `POST /api/nodes/pull`.
///
/// # Errors
/// 422 naming the field that is missing or wrong (N6).
pub fn read_pull(body: &Value) -> Result<PullOrder, Problem> {
    let fields = Fields::of(body)?;
    let worker = fields.name("node_id")?;
    let max = fields.integer_in("max_jobs", 0..=JOBS_MAX)?;
    let wait = wait(fields.opt_integer_in("wait_ms", 0..=WHOLE_MAX)?);
    let devices = fields.opt_items("devices", DEVICES_MAX)?.map(|items| devices(&items)).transpose()?;
    let devices = devices.filter(|_| !planted(WireMutant::DevicesNotRead));
    let max = u32::try_from(max).unwrap_or(u32::MAX) + u32::from(planted(WireMutant::MaxJobsOffByOne));
    Ok(PullOrder { pull: Pull { worker, max, devices }, wait })
}

/// Makes the order of `GET /api/nodes/pull`: one job, no report of devices.
#[must_use]
pub fn order_one(worker: Name, wait_ms: Option<i64>) -> PullOrder {
    let wait = wait(wait_ms);
    PullOrder { pull: Pull { worker, max: 1, devices: None }, wait }
}

fn devices(items: &[Item<'_>]) -> Result<Vec<DeviceReport>, Problem> {
    let mut seen = HashSet::with_capacity(items.len());
    let mut reports = Vec::with_capacity(items.len());
    for item in items {
        let fields = item.fields()?;
        let report = device(&fields)?;
        if !seen.insert(report.device.clone()) {
            return Err(fields.refuse("device_id", "stands twice in one report"));
        }
        reports.push(report);
    }
    Ok(reports)
}

fn device(fields: &Fields<'_>) -> Result<DeviceReport, Problem> {
    let device = fields.name("device_id")?;
    let handle = fields.opt_name("runtime_handle")?.unwrap_or_else(|| device.clone());
    let attachment = match fields.choice("status", &DEVICE_STATUSES)? {
        "online" => Attachment::Online,
        "offline" => Attachment::Offline,
        "unauthorized" => Attachment::Unauthorized,
        _ => Attachment::Error,
    };
    Ok(DeviceReport { device, handle, attachment })
}

fn wait(asked_ms: Option<i64>) -> Duration {
    Duration::from_millis(asked_ms.unwrap_or(0).unsigned_abs().min(WAIT_MS_MAX))
}

/// The name of a node, as a parameter.
#[derive(Clone, Copy, Debug)]
pub struct NodeName;

impl PartialSchema for NodeName {
    fn schema() -> RefOr<Schema> {
        name()
    }
}

impl ToSchema for NodeName {}

/// No device stands twice in a report; that the ids differ is more than a schema can say.
fn devices_schema() -> RefOr<Schema> {
    let entries = ArrayBuilder::new().items(DeviceEntry::schema()).max_items(Some(DEVICES_MAX));
    let entries = entries.unique_items(true).schema_type(schema::nullable(Type::Array));
    RefOr::T(Schema::Array(entries.build()))
}

fn name() -> RefOr<Schema> {
    schema::schema(schema::name())
}

fn handle() -> RefOr<Schema> {
    schema::schema(schema::name_or_null())
}

fn max_jobs() -> RefOr<Schema> {
    schema::schema(schema::between(0, JOBS_MAX))
}

fn wait_ms() -> RefOr<Schema> {
    schema::schema(schema::between_or_null(0, WHOLE_MAX))
}

fn status() -> RefOr<Schema> {
    schema::schema(schema::one_of(&DEVICE_STATUSES))
}

const DEVICE_STATUSES: [&str; 4] = ["online", "offline", "unauthorized", "error"];
const JOBS_MAX: i64 = 1000;
const DEVICES_MAX: usize = 10_000;
const WAIT_MS_MAX: u64 = 30_000;
/// The largest whole number that every JSON reader holds exactly.
pub const WHOLE_MAX: i64 = schema::WHOLE_MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn blamed(body: &Value) -> String {
        let problem = read_pull(body).unwrap_err();
        assert_eq!(problem.status(), 422);
        problem.field().unwrap().to_owned()
    }

    /// N1: the request with every field.
    #[test]
    fn a_full_request_is_understood() {
        let body = json!({"node_id": "PC-01", "max_jobs": 20, "wait_ms": 500, "devices": [
            {"device_id": "a", "runtime_handle": "10.0.0.7:5555", "status": "online"},
            {"device_id": "b", "status": "unauthorized"},
        ], "agent_version": "kept out of the way"});
        let order = read_pull(&body).unwrap();
        assert_eq!((order.pull.worker.as_str(), order.pull.max), ("PC-01", 20));
        assert_eq!(order.wait, Duration::from_millis(500));
        let devices = order.pull.devices.unwrap();
        assert_eq!(devices[0].handle.as_str(), "10.0.0.7:5555");
        assert_eq!((devices[1].handle.as_str(), devices[1].attachment), ("b", Attachment::Unauthorized));
    }

    /// N1b: no `devices` is no report, an empty list says that none is attached; `wait_ms` is clamped.
    #[test]
    fn absent_devices_are_no_report() {
        let order = read_pull(&json!({"node_id": "PC-01", "max_jobs": 0, "devices": null})).unwrap();
        assert!(order.pull.devices.is_none() && order.wait.is_zero());
        let order =
            read_pull(&json!({"node_id": "PC-01", "max_jobs": 0, "devices": [], "wait_ms": 99_000_000}))
                .unwrap();
        assert_eq!((order.pull.devices, order.wait), (Some(Vec::new()), Duration::from_secs(30)));
    }

    /// N1b: each word for a device's condition is kept as it is.
    #[test]
    fn every_status_is_understood() {
        let words = ["online", "offline", "unauthorized", "error"];
        let kinds = [Attachment::Online, Attachment::Offline, Attachment::Unauthorized, Attachment::Error];
        for (word, kind) in words.into_iter().zip(kinds) {
            let body =
                json!({"node_id": "n", "max_jobs": 1, "devices": [{"device_id": "d", "status": word}]});
            assert_eq!(read_pull(&body).unwrap().pull.devices.unwrap()[0].attachment, kind);
        }
    }

    /// N6: a refusal names the field.
    #[test]
    fn a_wrong_field_is_named() {
        let device = |device: Value| json!({"node_id": "n", "max_jobs": 1, "devices": [device]});
        assert_eq!(blamed(&json!({"max_jobs": 1})), "node_id");
        assert_eq!(blamed(&json!({"node_id": "../etc", "max_jobs": 1})), "node_id");
        for max in [json!(null), json!(-1), json!(1001), json!("1"), json!(1.5)] {
            assert_eq!(blamed(&json!({"node_id": "n", "max_jobs": max})), "max_jobs");
        }
        for wait in [json!(-1), json!("5"), json!(true)] {
            assert_eq!(blamed(&json!({"node_id": "n", "max_jobs": 1, "wait_ms": wait})), "wait_ms");
        }
        assert_eq!(blamed(&json!({"node_id": "n", "max_jobs": 1, "devices": {}})), "devices");
        assert_eq!(blamed(&device(json!(7))), "devices[0]");
        assert_eq!(blamed(&device(json!({"status": "online"}))), "devices[0].device_id");
        assert_eq!(blamed(&device(json!({"device_id": "d"}))), "devices[0].status");
        assert_eq!(blamed(&device(json!({"device_id": "d", "status": "ONLINE"}))), "devices[0].status");
        let handle = json!({"device_id": "d", "status": "online", "runtime_handle": ""});
        assert_eq!(blamed(&device(handle)), "devices[0].runtime_handle");
    }

    #[test]
    fn a_report_is_bounded_and_free_of_doubles() {
        let entry = |n: usize| json!({"device_id": format!("d{n}"), "status": "online"});
        let many: Vec<_> = (0..=DEVICES_MAX).map(entry).collect();
        assert_eq!(blamed(&json!({"node_id": "n", "max_jobs": 1, "devices": many})), "devices");
        let twice = json!({"node_id": "n", "max_jobs": 1, "devices": [entry(1), entry(2), entry(1)]});
        assert_eq!(blamed(&twice), "devices[2].device_id");
    }

    /// N1: `GET` asks for one job.
    #[test]
    fn a_query_asks_for_one_job() {
        let node = Name::new("PC-01").unwrap();
        let order = order_one(node.clone(), Some(40_000));
        assert_eq!((order.pull.max, order.wait), (1, Duration::from_secs(30)));
        assert!(order_one(node, None).wait.is_zero());
    }

    /// N1, N1b: the coordinator understands what a node writes.
    #[test]
    fn a_written_request_is_read_back() {
        let attached =
            |device: &str, attachment| Attached { device: device.into(), handle: "h".into(), attachment };
        let devices = [attached("a", Attachment::Online), attached("b", Attachment::Unauthorized)];
        let body = write_pull("PC-01", 3, Some(Millis(500)), Some(&devices));
        let order = read_pull(&serde_json::from_slice(&body).unwrap()).unwrap();
        assert_eq!((order.pull.worker.as_str(), order.pull.max, order.wait.as_millis()), ("PC-01", 3, 500));
        let read = order.pull.devices.unwrap();
        assert_eq!((read[0].device.as_str(), read[0].handle.as_str()), ("a", "h"));
        assert_eq!(read[1].attachment, Attachment::Unauthorized);
        let body: Value = serde_json::from_slice(&write_pull("PC-01", 0, None, None)).unwrap();
        assert_eq!(body, json!({"node_id": "PC-01", "max_jobs": 0}));
    }
}
