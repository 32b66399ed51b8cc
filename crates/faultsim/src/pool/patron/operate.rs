//! P3, P13, P14: what people do while the world runs.

use super::{Cancellation, Patron, PoolView, ask, order};
use crate::{pool::wire, scene::Scene};
use muster_model::{PoolCommand, PoolWorkerRecord, UserId};

impl Patron {
    /// Does one thing, drawn by chance.
    pub(super) fn operate(&mut self, scene: &mut Scene, view: &PoolView<'_>) {
        let row = scene.dice.pick(&view.workers).copied();
        let command = match (scene.dice.below(20), row) {
            (0..6, _) => return self.order_more(scene),
            (6..8, _) => return self.cancel_one(scene, view),
            (8..10, _) => self.order_again(scene),
            (10, Some(row)) => Some(PoolCommand::Ban { worker: row.id, reason: "odd".into() }),
            (11..14, Some(row)) => Some(PoolCommand::Unban { worker: row.id, reason: "well".into() }),
            (14..16, Some(row)) => Some(drain(row, true, scene)),
            (16..19, Some(row)) => Some(drain(row, false, scene)),
            _ => None,
        };
        if let Some(command) = command {
            ask(command, scene);
        }
    }

    /// A long world needs more jobs than it was planned with.
    fn order_more(&mut self, scene: &mut Scene) {
        let n = self.orders.len();
        if n < ORDERS_MAX {
            self.orders.push(order(n, scene));
            self.submit(n, scene);
        }
    }

    /// Somebody hands in again what is there already, perhaps with another body.
    fn order_again(&self, scene: &mut Scene) -> Option<PoolCommand> {
        let order = scene.dice.pick(&self.orders).filter(|order| order.key.is_some())?.clone();
        let mut order = order;
        if scene.dice.chance(400) {
            order.jobs[0].payload = "{}".into();
        }
        wire::submit(&order, scene).map(|order| PoolCommand::Submit(Box::new(order)))
    }

    /// By its client, by an admin, or by somebody whose it is not.
    fn cancel_one(&mut self, scene: &mut Scene, view: &PoolView<'_>) {
        let Some((job, client)) = scene.dice.pick(&view.jobs).copied() else {
            return;
        };
        let client = match scene.dice.below(10) {
            0..2 => None,
            2 => Some(UserId(1)),
            _ => Some(client),
        };
        self.cancel(Cancellation { job, client }, scene);
    }
}

/// By its owner, by an admin, or by somebody whose it is not.
fn drain(row: &PoolWorkerRecord, draining: bool, scene: &mut Scene) -> PoolCommand {
    let owner = match scene.dice.below(10) {
        0..2 => None,
        2 => Some(UserId(1)),
        _ => Some(row.owner),
    };
    PoolCommand::Drain { worker: row.id, owner, draining }
}

/// Submissions that one world may have.
const ORDERS_MAX: usize = 14;
