//! What must happen outside.

use crate::shared::Shared;
use muster_model::Effect;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// What must happen outside, each thing once it is durable, for as long as the term runs that asked for it.
pub struct Effects {
    due: UnboundedReceiver<(u64, Effect)>,
    shared: Arc<Shared>,
}

impl Effects {
    pub(crate) fn new(due: UnboundedReceiver<(u64, Effect)>, shared: Arc<Shared>) -> Self {
        Self { due, shared }
    }

    /// The next one; whoever stops waiting misses nothing. What a term asked for that is over is passed over: the next
    /// one derives it again, wherever that runs.
    pub async fn recv(&mut self) -> Option<Effect> {
        loop {
            let (epoch, effect) = self.due.recv().await?;
            if self.shared.runs(epoch) {
                return Some(effect);
            }
        }
    }
}
