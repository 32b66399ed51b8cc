//! PCs and alerts (Q13, N17).

use crate::wire::{Alert, Pc, PcEvent};
use muster_http::{Fields, Problem};
use muster_model::{AlertRecord, Timestamp, WorkerLogRecord, WorkerSupply};
use muster_store::WorkerSummary;
use serde_json::Value;

/// Reads the body of `PATCH /api/pcs/{id}`; `null` lifts the PC's own cap.
pub(crate) fn read_cap(body: &Value) -> Result<Option<u32>, Problem> {
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
pub(crate) struct LiveFacts {
    /// The last sign of life.
    pub(crate) last_seen: Option<Timestamp>,
    /// The figures of Q3, from one moment.
    pub(crate) supply: Option<WorkerSupply>,
    /// The general cap.
    pub(crate) slots: u32,
}

/// A PC as outsiders see it.
pub(crate) fn show_pc(pc: &WorkerSummary, live: &LiveFacts) -> Pc {
    let LiveFacts { last_seen, supply, slots } = live;
    let worker = &pc.worker;
    let supply = supply.as_ref().map(|supply| (supply.running, supply.eligible, supply.target));
    // A PC that memory does not know has nothing to run.
    let (running, eligible, target) = supply.unwrap_or_default();
    Pc {
        pc_id: worker.id.to_string(),
        pc_number: worker.id.to_string(),
        pc_status: worker.status.as_str(),
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
        heartbeat: if worker.heartbeat_late_since.is_some() { "late" } else { "ok" },
        created_at: worker.created_at.0,
    }
}

/// A PC's life.
pub(crate) fn show_history(log: &[WorkerLogRecord]) -> Vec<PcEvent> {
    log.iter().map(|entry| PcEvent { event_type: entry.kind.as_str(), at: entry.at.0 }).collect()
}

/// An alert as outsiders see it.
#[must_use]
pub fn show_alert(alert: AlertRecord) -> Alert {
    Alert {
        id: format!("{:032x}", alert.id),
        kind: alert.kind.as_str(),
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
    use muster_model::{AlertKind, Name, WorkerRecord, WorkerStatus};
    use serde_json::json;

    fn summary(cap: Option<u32>) -> WorkerSummary {
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
        WorkerSummary {
            worker,
            device_count: 9,
            running_count: 4,
            idle_count: 3,
            error_count: 1,
            disconnected_count: 1,
        }
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
        assert_eq!(serde_json::to_value(show_pc(&summary(None), &live(Some(8)))).unwrap(), expected);
        assert_eq!(show_pc(&summary(Some(5)), &live(None)).max_devices, 5);
        assert_eq!(show_pc(&summary(None), &live(Some(3))).last_seen_at, 5);
        let unknown = LiveFacts { supply: None, ..live(None) };
        assert_eq!(show_pc(&summary(None), &unknown).running_count, 0);
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
        assert_eq!(serde_json::to_value(show_alert(alert)).unwrap(), expected);
    }
}
