//! Every node and every device at one moment (Q13).

use crate::{
    Dashboard,
    dashboard::{newest, refuse},
};
use axum::{Extension, extract::State, http::header, response::IntoResponse};
use bytes::Bytes;
use muster_coordinator::Coordinator;
use muster_http::{HttpState, Operator, Params, Problem};
use muster_model::{LaneStatus, Name, Timestamp, WorkerRecord, WorkerStatus};
use muster_store::{FleetView, LaneView};
use serde::{Serialize, Serializer, ser::SerializeTuple};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(fleet))
}

/// Shows every node with all its devices, as a snapshot that the feed goes on from.
#[utoipa::path(
    get, path = "/api/fleet", operation_id = "show_fleet", tag = "dashboard", security(("operator" = [])),
    responses(
        (status = 200, description = "Nodes and devices by id; at most a quarter of a second old, or ten times as old as it takes to read them", body = FleetBody),
        (status = 422, description = "It takes no parameters"),
    )
)]
async fn fleet(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
    Extension(dashboard): Extension<Dashboard>,
) -> Result<impl IntoResponse, Problem> {
    params.only(&[])?;
    let fleet = Fleet::of(&dashboard, &http.coordinator).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], fleet.body()))
}

/// The fleet as it was read, and how it is told.
pub(crate) struct Fleet {
    /// The feed's newest number before it was read.
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    /// The cap of nodes that have none of their own (Q3).
    pub(crate) slots: u32,
    pub(crate) view: FleetView,
    body: OnceLock<Bytes>,
}

impl Fleet {
    /// The fleet as it is, or was a moment ago.
    pub(crate) async fn of(dashboard: &Dashboard, coordinator: &Coordinator) -> Result<Arc<Self>, Problem> {
        let look = async {
            let (seq, at) = (newest(coordinator)?, coordinator.now());
            let view = coordinator.read(|store| store.fleet()).await.map_err(refuse)?;
            Ok(Arc::new(Self { seq, at, slots: coordinator.settings().slots, view, body: OnceLock::new() }))
        };
        dashboard.0.fleet.get_or(look).await
    }

    /// The largest number of devices of this node that may run at once.
    pub(crate) fn cap(&self, worker: &WorkerRecord) -> u32 {
        worker.cap.unwrap_or(self.slots)
    }

    /// Every node with its devices, both by name.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&WorkerRecord, Vec<&LaneView>)> {
        let mut lanes: HashMap<&Name, Vec<&LaneView>> = HashMap::with_capacity(self.view.workers.len());
        for lane in &self.view.lanes {
            lanes.entry(&lane.worker).or_default().push(lane);
        }
        self.view.workers.iter().map(move |worker| (worker, lanes.remove(&worker.id).unwrap_or_default()))
    }

    /// Written once, however many ask for it.
    fn body(&self) -> Bytes {
        let write = || serde_json::to_vec(&FleetBody::of(self)).expect("the fleet is plain data").into();
        self.body.get_or_init(write).clone()
    }
}

/// The state of a device: the first of these that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeviceState {
    Error,
    Running,
    Offline,
    Idle,
}

impl DeviceState {
    pub(crate) fn of(lane: &LaneView, worker: &WorkerRecord) -> Self {
        let is_away = lane.status == LaneStatus::Offline || worker.status == WorkerStatus::Offline;
        match lane.status {
            LaneStatus::Error => Self::Error,
            _ if lane.running.is_some() => Self::Running,
            _ if is_away => Self::Offline,
            LaneStatus::Online | LaneStatus::Offline => Self::Idle,
        }
    }
}

/// The whole fleet.
#[derive(Serialize, ToSchema)]
#[schema(as = Fleet)]
struct FleetBody<'a> {
    /// The feed's newest number before the fleet was read: `GET /api/events?after=` it, and nothing is missed.
    seq: u64,
    /// Time of the reading, epoch milliseconds.
    at: i64,
    /// By id.
    nodes: Vec<Node<'a>>,
}

/// A node among all others.
#[derive(Serialize, ToSchema)]
#[schema(as = FleetNode)]
struct Node<'a> {
    node_id: &'a str,
    /// `online` or `offline`.
    status: &'static str,
    /// True if it gets no more work.
    draining: bool,
    /// Until when it is given no work, if it is.
    paused_until: Option<i64>,
    /// The largest number of its devices that may run at once.
    max_devices: u32,
    /// By id; each is its id, what it does (`error`, `running`, `offline`, `idle`), what runs on it, or null, and whether its
    /// node last said that it is usable: what it does once nothing runs on it and the node is heard of.
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    devices: Vec<Device<'a>>,
}

struct Device<'a>(&'a LaneView, DeviceState);

impl<'a> FleetBody<'a> {
    fn of(fleet: &'a Fleet) -> Self {
        let node = |(worker, lanes): (&'a WorkerRecord, Vec<&'a LaneView>)| Node {
            node_id: worker.id.as_str(),
            status: worker.status.as_str(),
            draining: worker.draining,
            paused_until: worker.paused_until.map(|until| until.0),
            max_devices: fleet.cap(worker),
            devices: lanes.into_iter().map(|lane| Device(lane, DeviceState::of(lane, worker))).collect(),
        };
        Self { seq: fleet.seq, at: fleet.at.0, nodes: fleet.nodes().map(node).collect() }
    }
}

impl Serialize for Device<'_> {
    /// As an array: ten thousand times the names of four members would be half of the answer.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_tuple(4)?;
        row.serialize_element(self.0.id.as_str())?;
        row.serialize_element(&self.1)?;
        row.serialize_element(&self.0.running.map(|task| task.to_string()))?;
        row.serialize_element(&self.0.attached)?;
        row.end()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use muster_model::{JobId, TaskId};
    use serde_json::{Value, json};

    pub(crate) fn worker(id: &str, status: WorkerStatus) -> WorkerRecord {
        WorkerRecord {
            id: Name::new(id).unwrap(),
            status,
            status_since: Timestamp(0),
            cap: None,
            draining: false,
            paused_until: None,
            lease_until: Timestamp(0),
            last_seen: Timestamp(0),
            heartbeat_late_since: None,
            created_at: Timestamp(0),
        }
    }

    pub(crate) fn lane(id: &str, worker: &str, status: LaneStatus) -> LaneView {
        let (id, worker) = (Name::new(id).unwrap(), Name::new(worker).unwrap());
        LaneView { id, worker, status, attached: status == LaneStatus::Online, running: None }
    }

    pub(crate) fn busy(lane: LaneView) -> LaneView {
        LaneView { running: Some(task()), ..lane }
    }

    pub(crate) fn of(workers: Vec<WorkerRecord>, lanes: Vec<LaneView>) -> Fleet {
        let view = FleetView { workers, lanes };
        Fleet { seq: 7, at: Timestamp(9), slots: 20, view, body: OnceLock::new() }
    }

    fn task() -> TaskId {
        TaskId { job: JobId::new(Timestamp(1), 1), ordinal: 3 }
    }

    /// Q13: a device does the first that holds of error, running, offline, idle; that of a silent node is offline.
    #[test]
    fn a_device_does_one_thing() {
        use LaneStatus::{Error, Offline, Online};
        for (status, runs, node, expected) in [
            (Online, false, WorkerStatus::Online, DeviceState::Idle),
            (Online, false, WorkerStatus::Offline, DeviceState::Offline),
            (Offline, false, WorkerStatus::Online, DeviceState::Offline),
            (Online, true, WorkerStatus::Online, DeviceState::Running),
            (Offline, true, WorkerStatus::Offline, DeviceState::Running),
            (Error, true, WorkerStatus::Online, DeviceState::Error),
            (Error, false, WorkerStatus::Offline, DeviceState::Error),
        ] {
            let lane = lane("d", "n", status);
            let lane = if runs { busy(lane) } else { lane };
            assert_eq!(DeviceState::of(&lane, &worker("n", node)), expected, "{status:?} {runs} {node:?}");
        }
    }

    /// Q13, Q3: nodes with their devices, in the order of their ids.
    #[test]
    fn a_fleet_is_told_whole() {
        let capped = WorkerRecord {
            cap: Some(5),
            draining: true,
            paused_until: Some(Timestamp(8)),
            ..worker("b", WorkerStatus::Offline)
        };
        let lanes = vec![
            lane("d1", "a", LaneStatus::Online),
            lane("d2", "b", LaneStatus::Online),
            busy(lane("d3", "a", LaneStatus::Online)),
        ];
        let fleet = of(vec![worker("a", WorkerStatus::Online), capped], lanes);
        let told: Value = serde_json::from_slice(&fleet.body()).unwrap();
        let expected = json!({"seq": 7, "at": 9, "nodes": [
            {"node_id": "a", "status": "online", "draining": false, "paused_until": null, "max_devices": 20,
                "devices": [["d1", "idle", null, true], ["d3", "running", task().to_string(), true]]},
            {"node_id": "b", "status": "offline", "draining": true, "paused_until": 8, "max_devices": 5,
                "devices": [["d2", "offline", null, true]]},
        ]});
        assert_eq!(told, expected);
    }
}
