//! Looking for devices, again and again.

use super::Happened;
use crate::execute::Executor;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// Tells of the devices that are attached until nobody listens any more.
pub(super) async fn devices(executor: Arc<Executor>, tell: UnboundedSender<Happened>) {
    loop {
        let seen = executor.fleet().discover().await;
        if tell.send(Happened::Devices(seen)).is_err() {
            return;
        }
        tokio::time::sleep(executor.fleet().look_every()).await;
    }
}
