//! Derives the figures of the overview.

use crate::fleet::{DeviceState, Fleet};
use muster_model::{PoolStatus, PoolWorkerStatus, RendererState, StatusView, WorkerRecord, WorkerStatus};
use muster_store::{Backlog, LaneView};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A node with its devices.
type NodeView<'a> = (&'a WorkerRecord, Vec<&'a LaneView>);

/// Nodes.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct NodeCounts {
    online: u64,
    offline: u64,
    /// Those of them, of either kind, that are given no more work.
    draining: u64,
}

/// Devices by what they do.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct DeviceCounts {
    total: u64,
    idle: u64,
    running: u64,
    offline: u64,
    error: u64,
}

/// Running attempts, and capacity.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Slots {
    /// Devices that run something.
    used: u64,
    /// How many could run something now: of each node that is online and not draining its usable devices, no more than
    /// it may run at once.
    target: u64,
}

/// Runs that have not ended.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct RunCounts {
    /// Behind older ones of their queue.
    pending: u64,
    running: u64,
}

/// Sessions that have not ended.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct SessionCounts {
    /// Of these nothing was given out yet.
    pending: u64,
    running: u64,
    paused: u64,
}

/// The pool.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct PoolCounts {
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
pub(super) struct Waiting {
    /// `run`, `session` or `job`.
    kind: &'static str,
    id: String,
    /// Since when, epoch milliseconds.
    since: i64,
}

impl NodeCounts {
    pub(super) fn of(nodes: &[NodeView<'_>]) -> Self {
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
    pub(super) fn of(nodes: &[NodeView<'_>]) -> Self {
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
    pub(super) fn of(fleet: &Fleet, nodes: &[NodeView<'_>]) -> Self {
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
    pub(super) fn of(backlog: &Backlog) -> Self {
        Self { pending: backlog.jobs.pending, running: backlog.jobs.running }
    }
}

impl SessionCounts {
    pub(super) fn of(backlog: &Backlog) -> Self {
        let sessions = &backlog.sessions;
        Self { pending: sessions.pending, running: sessions.running, paused: sessions.paused }
    }
}

impl PoolCounts {
    pub(super) fn of(pool: &PoolStatus) -> Self {
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
pub(super) fn sim_workers(frames: &StatusView) -> BTreeMap<&'static str, u64> {
    let known = RendererState::ALL.into_iter().map(|state| (state, 0));
    let counted = known.chain(frames.renderers.iter().copied());
    let shown = counted.filter(|(state, _)| *state != RendererState::Removed);
    let shown = shown.map(|(state, count)| (state.as_str(), count));
    shown.chain([("zombie", frames.zombies)]).collect()
}

/// The one that has waited longest, of all kinds.
pub(super) fn oldest_waiting(backlog: Backlog) -> Option<Waiting> {
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
