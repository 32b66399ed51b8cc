//! The demo's nodes, together.

use super::{
    node::{Node, Parts},
    plan::{PCS, Plan},
    server::Server,
    tally::Tally,
};
use muster_coordinator::SystemClock;
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet};

/// All nodes, at work.
pub(super) struct Fleet {
    nodes: Vec<Arc<Node>>,
    working: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Fleet {
    /// Makes the nodes known to the server, with their devices.
    pub(super) async fn enrol(plan: Plan, server: &Server) -> Self {
        let clock = Arc::new(SystemClock::start());
        let node = |name| {
            let (clock, slots) = (Arc::clone(&clock), server.slots);
            Node::new(&Parts { name, plan, server: &server.url, secret: &server.node_secret, clock, slots })
        };
        let nodes: Vec<_> = PCS.map(node).into();
        for node in &nodes {
            node.enrol().await;
        }
        Self { nodes, working: JoinSet::new(), stop: watch::Sender::new(false) }
    }

    /// Lets them pull.
    pub(super) fn start(&mut self) {
        for node in &self.nodes {
            self.working.spawn(Arc::clone(node).work(self.stop.subscribe()));
        }
    }

    /// Readies all nodes for the cancelling of whatever is open, and says whether they are ready: a job in a lost
    /// answer is known to nobody who could end it, so all of them must have come again first.
    pub(super) fn is_ready_to_cancel(&self) -> bool {
        for node in &self.nodes {
            node.lose_no_more();
        }
        self.sum(|tally| tally.lost_jobs.get()) == self.sum(|tally| tally.redelivered.get())
    }

    /// Waits until nobody has anything in hand or left to say, then stops them; says whether that came about.
    pub(super) async fn finish(&mut self) -> bool {
        let all_idle = async {
            while !self.nodes.iter().all(|node| node.is_idle()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let is_idle = tokio::time::timeout(IDLE_MAX, all_idle).await.is_ok();
        self.stop.send_replace(true);
        while self.working.join_next().await.is_some() {}
        is_idle
    }

    pub(super) fn tallies(&self) -> impl Iterator<Item = (&'static str, &Tally)> {
        self.nodes.iter().map(|node| (node.name(), node.tally()))
    }

    /// A sum over all nodes.
    pub(super) fn sum(&self, count: impl Fn(&Tally) -> u64) -> u64 {
        self.tallies().map(|(_, tally)| count(tally)).sum()
    }
}

const IDLE_MAX: Duration = Duration::from_secs(20);
