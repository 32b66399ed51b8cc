//! Posts messages, one at a time, as the mind says (C18, C20).

use super::{Envoy, Heard, outlet::Outlet};
use crate::{Clock, Fault, Folder, Place, Wake};
use jiff::Timestamp;
use muster_worker_kit::clock::instant_now;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The way of messages from their directory to people.
pub(super) struct Delivery {
    folder: Arc<Folder>,
    outlet: Outlet,
    mind: Envoy,
}

impl Delivery {
    pub(super) fn new(folder: Arc<Folder>, outlet: Outlet) -> Self {
        Self { folder, outlet, mind: Envoy::default() }
    }

    /// Posts until told to stop. A post that is on its way is waited for: cut short, it would be posted twice.
    pub(super) async fn run(mut self, stop: &CancellationToken) {
        let wake = Wake::on(&[&self.folder.directory(Place::MessagesPending)], POLL);
        if let Err(error) = self.folder.sweep(Clock.now()) {
            tracing::warn!(%error, "what dead writers left behind cannot be removed");
        }
        while !stop.is_cancelled() {
            if let Err(error) = self.post_all(stop).await {
                tracing::warn!(%error, "the envoy could not finish a step; it is tried again");
            }
            let now = Clock.now();
            let limit = self.mind.next_deadline(now).map(|at| wait_until(at, now));
            let _ = stop.run_until_cancelled(wake.wait(limit)).await;
        }
    }

    async fn post_all(&mut self, stop: &CancellationToken) -> Result<(), Fault> {
        self.mind.look(&self.folder)?;
        let mut looked = instant_now();
        while !stop.is_cancelled() {
            let Some(post) = self.mind.next(&self.folder, Clock.now())? else { break };
            let answer = self.outlet.post(&post).await;
            self.mind.hear(&self.folder, &post, Heard { answer, at: Clock.now() })?;
            // While thousands are posted, what is new must not wait for the last of them.
            if looked.elapsed() >= LOOK {
                self.mind.look(&self.folder)?;
                looked = instant_now();
            }
        }
        Ok(())
    }
}

/// A little at least, so that a clock that stands still costs nothing.
fn wait_until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default().max(Duration::from_millis(10))
}

/// How long a message may lie before it is looked at, should no notice come.
const POLL: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_secs(1);
