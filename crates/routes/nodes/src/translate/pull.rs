//! A node's request for work (N1).

use muster_http::{Fields, Item, Problem};
use muster_model::{Attachment, DeviceReport, Name, Pull};
use serde_json::Value;
use std::{collections::HashSet, time::Duration};

/// A request and how long it may wait.
#[derive(Clone, Debug)]
pub(crate) struct PullOrder {
    /// What is asked.
    pub(crate) pull: Pull,
    /// At most 30 s, whatever was asked for (N1).
    pub(crate) wait: Duration,
}

/// Reads the body of `POST /api/nodes/pull`.
pub(crate) fn read_pull(body: &Value) -> Result<PullOrder, Problem> {
    let fields = Fields::of(body)?;
    let worker = fields.name("node_id")?;
    let max = fields.integer_in("max_jobs", 0..=JOBS_MAX)?;
    let wait = wait(fields.opt_integer_in("wait_ms", 0..=WHOLE_MAX)?);
    let devices = fields.opt_items("devices", DEVICES_MAX)?.map(|items| devices(&items)).transpose()?;
    let max = u32::try_from(max).unwrap_or(u32::MAX);
    Ok(PullOrder { pull: Pull { worker, max, devices }, wait })
}

/// Makes the order of `GET /api/nodes/pull`: one job, no report of devices.
pub(crate) fn order_one(worker: Name, wait_ms: Option<i64>) -> PullOrder {
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
    let attachment = match fields.choice("status", &["online", "offline", "unauthorized", "error"])? {
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

const JOBS_MAX: i64 = 1000;
const DEVICES_MAX: usize = 10_000;
const WAIT_MS_MAX: u64 = 30_000;
/// The largest whole number that every JSON reader holds exactly.
pub(crate) const WHOLE_MAX: i64 = (1 << 53) - 1;

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
}
