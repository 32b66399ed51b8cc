//! PCs, which are the nodes of contract N, and alerts (Q13, N17, N8b).

use muster_model::{AlertRecord, Timestamp, WorkerLogRecord, WorkerRecord, WorkerSupply};
use muster_problem::{Fields, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use utoipa::ToSchema;

/// A row of `pc_device_summary`, and a little more.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pc {
    /// The PC's id, which is its node's name.
    pub pc_id: String,
    /// The same.
    pub pc_number: String,
    /// `online` or `offline`.
    pub pc_status: Cow<'static, str>,
    /// How many devices may run at once there.
    pub max_devices: u32,
    /// Devices attached.
    pub device_count: u64,
    /// Devices with a running task.
    pub running_count: u64,
    /// Devices that an active run could start on now (Q5); 0 without an active run.
    pub eligible_device_count: u64,
    /// How many devices should run: `min(max_devices, running_count + eligible_device_count)` (Q3).
    pub target: u64,
    /// Devices online without one.
    pub idle_count: u64,
    /// Devices out of service.
    pub error_count: u64,
    /// Devices offline.
    pub disconnected_count: u64,
    /// The last sign of life, epoch milliseconds.
    pub last_seen_at: i64,
    /// Since when `pc_status` is so.
    pub status_since: i64,
    /// True if it gets no more work on request.
    pub draining: bool,
    /// Supply rests until then after a mass dropout.
    pub paused_until: Option<i64>,
    /// `late` when its heartbeat has been missing for three periods although it pulls or calls back (N8c), else `ok`.
    pub heartbeat: Cow<'static, str>,
    /// When it was first seen.
    pub created_at: i64,
}

/// One PC with its life.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PcDetail {
    /// The PC itself.
    #[serde(flatten)]
    pub pc: Pc,
    /// Its own cap, as it was set; null where the general one applies, which `max_devices` then is.
    pub own_max_devices: Option<u32>,
    /// What happened to it, newest first.
    pub history: Vec<PcEvent>,
}

/// A change in a PC's life.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PcEvent {
    /// `enrolled`, `online`, `offline`, `draining`, `resumed`, `paused`, `supplied`, `capped`, `secret_rotated`.
    pub event_type: Cow<'static, str>,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// A secret of a node's own; shown this once.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewSecret {
    /// Whose.
    pub node_id: String,
    /// The secret.
    pub secret: String,
    /// Until when the one before works too, epoch milliseconds.
    pub old_valid_until: i64,
}

/// One alert.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    /// Its id.
    pub id: String,
    /// `mass_dropout`, `summary_mismatch`, `chunkIntegrity` or `device_contested`.
    pub kind: Cow<'static, str>,
    /// The PC it concerns.
    pub pc_id: String,
    /// The run it concerns.
    pub run_id: Option<String>,
    /// What happened.
    pub message: String,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// Reads the body of `PATCH /api/pcs/{id}`; `null` lifts the PC's own cap.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_cap(body: &Value) -> Result<Option<u32>, Problem> {
    let fields = Fields::of(body)?;
    fields.only(&["max_devices"])?;
    if !fields.object().contains_key("max_devices") {
        return Err(fields.refuse("max_devices", "is missing"));
    }
    let cap = fields.opt_integer_in("max_devices", 1..=DEVICES_MAX)?;
    Ok(cap.and_then(|cap| u32::try_from(cap).ok()))
}

/// The facts about a PC that memory knows better than the store.
#[derive(Clone, Debug, Default)]
pub struct LiveFacts {
    /// The last sign of life.
    pub last_seen: Option<Timestamp>,
    /// The figures of Q3, from one moment.
    pub supply: Option<WorkerSupply>,
    /// The general cap.
    pub slots: u32,
}

/// A PC and its devices, counted.
#[derive(Clone, Copy, Debug)]
pub struct PcCounts<'a> {
    /// The PC.
    pub worker: &'a WorkerRecord,
    /// Devices attached.
    pub device_count: u64,
    /// Devices online without a running task.
    pub idle_count: u64,
    /// Devices out of service.
    pub error_count: u64,
    /// Devices offline.
    pub disconnected_count: u64,
}

/// A PC as outsiders see it.
#[must_use]
pub fn show_pc(pc: &PcCounts<'_>, live: &LiveFacts) -> Pc {
    let LiveFacts { last_seen, supply, slots } = live;
    let worker = pc.worker;
    let supply = supply.as_ref().map(|supply| (supply.running, supply.eligible, supply.target));
    // A PC that memory does not know has nothing to run.
    let (running, eligible, target) = supply.unwrap_or_default();
    Pc {
        pc_id: worker.id.to_string(),
        pc_number: worker.id.to_string(),
        pc_status: worker.status.as_str().into(),
        max_devices: worker.cap.unwrap_or(*slots),
        device_count: pc.device_count,
        running_count: u64::from(running),
        eligible_device_count: u64::from(eligible),
        target: u64::from(target),
        idle_count: pc.idle_count,
        error_count: pc.error_count,
        disconnected_count: pc.disconnected_count,
        last_seen_at: last_seen.map_or(worker.last_seen, |seen| seen.max(worker.last_seen)).0,
        status_since: worker.status_since.0,
        draining: worker.draining,
        paused_until: worker.paused_until.map(|until| until.0),
        heartbeat: if worker.heartbeat_late_since.is_some() { "late" } else { "ok" }.into(),
        created_at: worker.created_at.0,
    }
}

/// A PC's life.
#[must_use]
pub fn show_history(log: &[WorkerLogRecord]) -> Vec<PcEvent> {
    log.iter().map(|entry| PcEvent { event_type: entry.kind.as_str().into(), at: entry.at.0 }).collect()
}

/// An alert as outsiders see it.
#[must_use]
pub fn show_alert(alert: AlertRecord) -> Alert {
    Alert {
        id: format!("{:032x}", alert.id),
        kind: alert.kind.as_str().into(),
        pc_id: alert.worker.to_string(),
        run_id: alert.job.map(|job| job.to_string()),
        message: alert.message.into(),
        at: alert.at.0,
    }
}

const DEVICES_MAX: i64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use muster_model::{AlertKind, Name, WorkerRecord, WorkerStatus};
    use serde_json::json;

    fn shown(cap: Option<u32>, live: &LiveFacts) -> Pc {
        let worker = WorkerRecord {
            id: Name::new("PC-01").unwrap(),
            status: WorkerStatus::Online,
            status_since: Timestamp(2),
            cap,
            draining: false,
            paused_until: None,
            lease_until: Timestamp(0),
            last_seen: Timestamp(5),
            heartbeat_late_since: None,
            created_at: Timestamp(1),
        };
        let counts = PcCounts {
            worker: &worker,
            device_count: 9,
            idle_count: 3,
            error_count: 1,
            disconnected_count: 1,
        };
        show_pc(&counts, live)
    }

    fn live(last_seen: Option<i64>) -> LiveFacts {
        let worker = Name::new("PC-01").unwrap();
        let supply = Some(WorkerSupply { worker, running: 5, eligible: 3, target: 8 });
        LiveFacts { last_seen: last_seen.map(Timestamp), supply, slots: 20 }
    }

    /// Q13, Q21: the columns of `pc_device_summary` with the general cap where the PC has none, and the figures of Q3.
    #[test]
    fn a_pc_has_the_columns_of_the_view() {
        let expected = json!({"pc_id": "PC-01", "pc_number": "PC-01", "pc_status": "online", "max_devices": 20,
            "device_count": 9, "running_count": 5, "eligible_device_count": 3, "target": 8, "idle_count": 3,
            "error_count": 1, "disconnected_count": 1, "last_seen_at": 8, "status_since": 2, "draining": false,
            "paused_until": null, "heartbeat": "ok", "created_at": 1});
        golden::check(&shown(None, &live(Some(8))), &expected);
        assert_eq!(shown(Some(5), &live(None)).max_devices, 5);
        assert_eq!(shown(None, &live(Some(3))).last_seen_at, 5);
        let unknown = LiveFacts { supply: None, ..live(None) };
        assert_eq!(shown(None, &unknown).running_count, 0);
    }

    /// Q3: a PC's cap is a number of devices, or lifted.
    #[test]
    fn a_cap_is_given_or_lifted() {
        assert_eq!(read_cap(&json!({"max_devices": 5})).unwrap(), Some(5));
        assert_eq!(read_cap(&json!({"max_devices": null})).unwrap(), None);
        for bad in [
            json!({}),
            json!({"max_devices": 0}),
            json!({"max_devices": 10_001}),
            json!({"max_devices": "5"}),
        ] {
            assert_eq!(read_cap(&bad).unwrap_err().field(), Some("max_devices"));
        }
        assert_eq!(read_cap(&json!({"max_devices": 5, "cap": 5})).unwrap_err().field(), Some("cap"));
    }

    /// N17: an alert names its PC and says what happened.
    #[test]
    fn an_alert_is_shown() {
        let alert = AlertRecord {
            id: 0xab,
            kind: AlertKind::MassDropout,
            worker: Name::new("PC-01").unwrap(),
            job: None,
            message: "12 devices vanished".into(),
            at: Timestamp(7),
        };
        let expected = json!({"id": "000000000000000000000000000000ab", "kind": "mass_dropout", "pc_id": "PC-01",
            "run_id": null, "message": "12 devices vanished", "at": 7});
        golden::check(&show_alert(alert), &expected);
    }
}
