//! All figures at one moment.

mod figures;

use crate::{
    About, Dashboard,
    dashboard::refuse,
    fleet::Fleet,
    pulse::{FailureCount, Throughput},
};
use axum::{Extension, extract::State, http::header, response::IntoResponse};
use bytes::Bytes;
use figures::{
    DeviceCounts, NodeCounts, PoolCounts, RunCounts, SessionCounts, Slots, Waiting, oldest_waiting,
    sim_workers,
};
use muster_contract_operations::{Alert, show_alert};
use muster_coordinator::Coordinator;
use muster_http::{HttpState, Operator, Params, Problem};
use muster_model::{AlertRecord, FrameQuery, FrameView, PoolStatus, StatusView};
use muster_store::{Backlog, Cursor};
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

/// What was looked at.
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
    /// When it was read, epoch milliseconds.
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
    /// What nobody has begun for longest.
    oldest_waiting: Option<Waiting>,
    throughput: Throughput,
    /// What went wrong in the last hour, or since this server leads; most frequent first.
    failures: Vec<FailureCount>,
    /// From when on throughput and failures are counted.
    counting_since: i64,
    /// The newest, at most twenty.
    alerts: Vec<Alert>,
}

/// The server that leads.
#[derive(Serialize, ToSchema)]
struct Leader {
    /// Where others reach it.
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
