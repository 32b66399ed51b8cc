//! All figures at one moment.

use crate::{
    About, Dashboard,
    dashboard::refuse,
    fleet::{DeviceState, Fleet},
    pulse::{FailureCount, Throughput},
};
use axum::{Extension, extract::State, http::header, response::IntoResponse};
use bytes::Bytes;
use muster_contract_operations::{Alert, show_alert};
use muster_coordinator::Coordinator;
use muster_http::{HttpState, Operator, Params, Problem};
use muster_model::{
    AlertRecord, FrameQuery, FrameView, PoolStatus, PoolWorkerStatus, RendererState, StatusView,
    WorkerRecord, WorkerStatus,
};
use muster_store::{Backlog, Cursor, LaneView};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(overview))
}

/// Shows all figures, as a snapshot that the feed goes on from.
#[utoipa::path(
    get, path = "/api/overview", operation_id = "show_overview", tag = "dashboard", security(("operator" = [])),
    responses(
        (status = 200, description = "All figures; at most half a second old, or ten times as old as it takes to read them", body = Overview),
        (status = 422, description = "It takes no parameters"),
    )
)]
async fn overview(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
    Extension(dashboard): Extension<Dashboard>,
) -> Result<impl IntoResponse, Problem> {
    params.only(&[])?;
    let look = look(&dashboard, &http.coordinator);
    let body = dashboard.0.overview.get_or(look).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body))
}

/// The fleet comes first: nothing that follows is read before its number of the feed was taken.
async fn look(dashboard: &Dashboard, coordinator: &Coordinator) -> Result<Bytes, Problem> {
    let fleet = Fleet::of(dashboard, coordinator).await?;
    let page = Cursor { after: None, limit: ALERTS };
    let stored = coordinator.read(move |store| Ok((store.backlog()?, store.alerts(&page)?.items)));
    let (backlog, alerts) = stored.await.map_err(refuse)?;
    let (frames, pool) = (frames(coordinator).await?, coordinator.pool_status().await.map_err(refuse)?);
    let looked = Looked { fleet: &fleet, backlog, frames, pool, alerts };
    let overview = Overview::of(dashboard, coordinator, looked);
    Ok(serde_json::to_vec(&overview).expect("the figures are plain data").into())
}

/// Only memory knows how workers of sessions stand.
async fn frames(coordinator: &Coordinator) -> Result<StatusView, Problem> {
    match coordinator.frames(FrameQuery::Status).await.map_err(refuse)? {
        FrameView::Status(view) => Ok(view),
        other => Err(Problem::internal(&format_args!("the status was shown as {other:?}"))),
    }
}

/// The readings behind one overview.
struct Looked<'a> {
    fleet: &'a Fleet,
    backlog: Backlog,
    frames: StatusView,
    pool: PoolStatus,
    alerts: Vec<AlertRecord>,
}

/// All figures.
#[derive(Serialize, ToSchema)]
struct Overview {
    /// The feed's newest number before anything was read: `GET /api/events?after=` it, and nothing is missed.
    seq: u64,
    /// Time of the reading, epoch milliseconds.
    at: i64,
    /// Of the server.
    version: &'static str,
    leader: Leader,
    nodes: NodeCounts,
    devices: DeviceCounts,
    slots: Slots,
    runs: RunCounts,
    sessions: SessionCounts,
    /// Workers of sessions by state.
    #[schema(value_type = BTreeMap<String, u64>)]
    sim_workers: BTreeMap<&'static str, u64>,
    pool: PoolCounts,
    /// The thing that has waited longest.
    oldest_waiting: Option<Waiting>,
    throughput: Throughput,
    /// Failures in the last hour, or since this server leads; most frequent first.
    failures: Vec<FailureCount>,
    /// From when on throughput and failures are counted.
    counting_since: i64,
    /// The newest, at most twenty.
    alerts: Vec<Alert>,
}

/// The server that leads.
#[derive(Serialize, ToSchema)]
struct Leader {
    /// Its address for others.
    address: String,
    /// The number of its term.
    epoch: u64,
    /// `sqlite`, `postgres` or `memory`.
    store: &'static str,
}

impl Overview {
    fn of(dashboard: &Dashboard, coordinator: &Coordinator, looked: Looked<'_>) -> Self {
        let Looked { fleet, backlog, frames, pool, alerts } = looked;
        let About { address, store, .. } = &dashboard.0.about;
        let (now, pulse) = (coordinator.now(), dashboard.0.pulse());
        let nodes: Vec<_> = fleet.nodes().collect();
        Self {
            seq: fleet.seq,
            at: fleet.at.0,
            version: env!("CARGO_PKG_VERSION"),
            leader: Leader { address: address.clone(), epoch: coordinator.epoch(), store },
            nodes: NodeCounts::of(&nodes),
            devices: DeviceCounts::of(&nodes),
            slots: Slots::of(fleet, &nodes),
            runs: RunCounts::of(&backlog),
            sessions: SessionCounts::of(&backlog),
            sim_workers: sim_workers(&frames),
            pool: PoolCounts::of(&pool),
            oldest_waiting: oldest_waiting(backlog),
            throughput: pulse.throughput(now),
            failures: pulse.failures(now),
            counting_since: pulse.since().0,
            alerts: alerts.into_iter().map(show_alert).collect(),
        }
    }
}

/// More than anybody has on a page; those who want all of them ask for the list of alerts.
const ALERTS: u32 = 20;

/// A node with its devices.
type NodeView<'a> = (&'a WorkerRecord, Vec<&'a LaneView>);

/// Nodes.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct NodeCounts {
    online: u64,
    offline: u64,
    /// Those of them, of either kind, that are given no more work.
    draining: u64,
}

/// Devices by what they do.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
struct DeviceCounts {
    total: u64,
    idle: u64,
    running: u64,
    offline: u64,
    error: u64,
}

/// Running attempts, and capacity.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct Slots {
    /// Devices that run something.
    used: u64,
    /// How many could run something now: of each node that is online and not draining its usable devices, no more than
    /// it may run at once.
    target: u64,
}

/// Runs that have not ended.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct RunCounts {
    /// Behind older ones of their queue.
    pending: u64,
    running: u64,
}

/// Sessions that have not ended.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct SessionCounts {
    /// Of these nothing was given out yet.
    pending: u64,
    running: u64,
    paused: u64,
}

/// The pool.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct PoolCounts {
    /// Jobs that could be given out now.
    jobs_waiting: u64,
    /// Jobs of which all that is wanted was given out.
    jobs_running: u64,
    workers_online: u64,
    /// All that are not banned.
    workers: u64,
    /// Shut out, and beside those.
    workers_banned: u64,
}

/// The thing that has waited longest.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
struct Waiting {
    /// `run`, `session` or `job`.
    kind: &'static str,
    id: String,
    /// Since when, epoch milliseconds.
    since: i64,
}

impl NodeCounts {
    fn of(nodes: &[NodeView<'_>]) -> Self {
        let count =
            |wanted: fn(&WorkerRecord) -> bool| nodes.iter().filter(|(node, _)| wanted(node)).count() as u64;
        Self {
            online: count(|node| node.status == WorkerStatus::Online),
            offline: count(|node| node.status == WorkerStatus::Offline),
            draining: count(|node| node.draining),
        }
    }
}

impl DeviceCounts {
    fn of(nodes: &[NodeView<'_>]) -> Self {
        let mut counts = Self::default();
        for (node, lanes) in nodes {
            for lane in lanes {
                counts.total += 1;
                *counts.count_of(DeviceState::of(lane, node)) += 1;
            }
        }
        counts
    }

    fn count_of(&mut self, state: DeviceState) -> &mut u64 {
        match state {
            DeviceState::Error => &mut self.error,
            DeviceState::Running => &mut self.running,
            DeviceState::Offline => &mut self.offline,
            DeviceState::Idle => &mut self.idle,
        }
    }
}

impl Slots {
    fn of(fleet: &Fleet, nodes: &[NodeView<'_>]) -> Self {
        let used = fleet.view.lanes.iter().filter(|lane| lane.running.is_some()).count() as u64;
        let is_open = |node: &WorkerRecord| node.status == WorkerStatus::Online && !node.draining;
        let target = nodes.iter().filter(|(node, _)| is_open(node)).map(|(node, lanes)| {
            let is_usable = |lane: &&&LaneView| {
                matches!(DeviceState::of(lane, node), DeviceState::Running | DeviceState::Idle)
            };
            (lanes.iter().filter(is_usable).count() as u64).min(u64::from(fleet.cap(node)))
        });
        Self { used, target: target.sum() }
    }
}

impl RunCounts {
    fn of(backlog: &Backlog) -> Self {
        Self { pending: backlog.jobs.pending, running: backlog.jobs.running }
    }
}

impl SessionCounts {
    fn of(backlog: &Backlog) -> Self {
        let sessions = &backlog.sessions;
        Self { pending: sessions.pending, running: sessions.running, paused: sessions.paused }
    }
}

impl PoolCounts {
    fn of(pool: &PoolStatus) -> Self {
        let count = |wanted: fn(PoolWorkerStatus) -> bool| {
            pool.workers.iter().filter(|(status, _)| wanted(*status)).map(|(_, count)| count).sum()
        };
        Self {
            jobs_waiting: pool.waiting,
            jobs_running: pool.open.saturating_sub(pool.waiting),
            workers_online: count(|status| status == PoolWorkerStatus::Online),
            workers: count(|status| status != PoolWorkerStatus::Banned),
            workers_banned: count(|status| status == PoolWorkerStatus::Banned),
        }
    }
}

/// Workers of sessions by state. Removed workers are left out, except zombies: they still call or never answered (S6).
fn sim_workers(frames: &StatusView) -> BTreeMap<&'static str, u64> {
    let known = RendererState::ALL.into_iter().map(|state| (state, 0));
    let counted = known.chain(frames.renderers.iter().copied());
    let shown = counted.filter(|(state, _)| *state != RendererState::Removed);
    let shown = shown.map(|(state, count)| (state.as_str(), count));
    shown.chain([("zombie", frames.zombies)]).collect()
}

/// The one that has waited longest, of all kinds.
fn oldest_waiting(backlog: Backlog) -> Option<Waiting> {
    let run = backlog.jobs.oldest.map(|(id, since)| ("run", id.to_string(), since));
    let session = backlog.sessions.oldest.map(|(id, since)| ("session", id.to_string(), since));
    let job = backlog.oldest_pool_job.map(|(id, since)| ("job", id.to_string(), since));
    let oldest = [run, session, job].into_iter().flatten().min_by_key(|(_, _, since)| *since);
    oldest.map(|(kind, id, since)| Waiting { kind, id, since: since.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tests::{busy, lane, of, worker};
    use muster_model::{JobId, LaneStatus, PoolJobId, SessionId, Timestamp};
    use muster_store::OpenCounts;

    /// Q13, Q3: each device is counted once, and no node counts for more than it may run or could.
    #[test]
    fn devices_and_slots_are_counted() {
        use LaneStatus::{Error, Offline, Online};
        let lanes = vec![
            busy(lane("d1", "a", Online)),
            lane("d2", "a", Online),
            lane("d3", "a", Online),
            lane("d4", "a", Error),
            lane("d5", "a", Offline),
            busy(lane("d6", "b", Online)),
            lane("d7", "c", Online),
        ];
        let capped = WorkerRecord { cap: Some(2), ..worker("a", WorkerStatus::Online) };
        let draining = WorkerRecord { draining: true, ..worker("b", WorkerStatus::Online) };
        let fleet = of(vec![capped, draining, worker("c", WorkerStatus::Offline)], lanes);
        let nodes: Vec<_> = fleet.nodes().collect();
        assert_eq!(NodeCounts::of(&nodes), NodeCounts { online: 2, offline: 1, draining: 1 });
        let expected = DeviceCounts { total: 7, idle: 2, running: 2, offline: 2, error: 1 };
        assert_eq!(DeviceCounts::of(&nodes), expected);
        assert_eq!(Slots::of(&fleet, &nodes), Slots { used: 2, target: 2 });
        let fleet = of(vec![worker("a", WorkerStatus::Online)], fleet.view.lanes);
        let nodes: Vec<_> = fleet.nodes().collect();
        assert_eq!(Slots::of(&fleet, &nodes).target, 3, "no more than could run");
    }

    #[test]
    fn whoever_waits_longest_is_named() {
        let job = (JobId::new(Timestamp(1), 1), Timestamp(30));
        let session = (SessionId::new("s1").unwrap(), Timestamp(20));
        let mut backlog = Backlog {
            jobs: OpenCounts { oldest: Some(job), ..OpenCounts::default() },
            sessions: OpenCounts { oldest: Some(session), ..OpenCounts::default() },
            oldest_pool_job: Some((PoolJobId(7), Timestamp(10))),
        };
        let named = |backlog: &Backlog| {
            oldest_waiting(backlog.clone()).map(|found| (found.kind, found.id, found.since))
        };
        assert_eq!(named(&backlog), Some(("job", "7".to_owned(), 10)));
        backlog.oldest_pool_job = None;
        assert_eq!(named(&backlog), Some(("session", "s1".to_owned(), 20)));
        backlog.sessions.oldest = None;
        assert_eq!(named(&backlog), Some(("run", job.0.to_string(), 30)));
        assert_eq!(named(&Backlog::default()), None);
    }

    #[test]
    fn the_pool_is_counted() {
        let workers = vec![
            (PoolWorkerStatus::Online, 2),
            (PoolWorkerStatus::Offline, 3),
            (PoolWorkerStatus::Banned, 4),
        ];
        let status = PoolStatus { workers, open: 9, waiting: 7, ..PoolStatus::default() };
        let expected =
            PoolCounts { jobs_waiting: 7, jobs_running: 2, workers_online: 2, workers: 5, workers_banned: 4 };
        assert_eq!(PoolCounts::of(&status), expected);
    }

    /// S6: every state is named; a removed worker is counted only while it is a zombie.
    #[test]
    fn workers_of_sessions_are_counted_by_state() {
        let renderers = vec![(RendererState::Healthy, 3), (RendererState::Removed, 2)];
        let counts = sim_workers(&StatusView { renderers, zombies: 1, ..StatusView::default() });
        assert_eq!(counts[RendererState::Healthy.as_str()], 3);
        assert_eq!(counts[RendererState::Lost.as_str()], 0);
        assert_eq!(counts["zombie"], 1);
        assert!(!counts.contains_key(RendererState::Removed.as_str()));
        assert_eq!(counts.len(), RendererState::ALL.len());
    }
}
