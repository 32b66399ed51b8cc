//! S6, S9, S15, S17, S26: what people do while the world runs.

use super::{Director, FarmView, ask, order};
use crate::scene::Scene;
use muster_model::{Digest, FrameCommand, FrameTaskId, Name, QuarantineRecord, SessionSubmission, Steering};

impl Director {
    /// Does one thing, drawn by chance.
    pub(super) fn operate(&mut self, scene: &mut Scene, view: &FarmView<'_>) {
        let worker = scene.dice.pick(&view.renderers).map(|(name, _)| (*name).clone());
        let command = match (scene.dice.below(24), worker) {
            (0..3, _) => steer(scene, view),
            (3, _) => return self.cancel_one(scene, view),
            (4..7, _) => Some(FrameCommand::Broadcast { pause: scene.dice.chance(300) }),
            (7, Some(worker)) => Some(FrameCommand::Quarantine { worker, reason: "odd".into() }),
            (8..11, Some(worker)) => Some(FrameCommand::Approve { worker, reason: "mended".into() }),
            (11, Some(worker)) => Some(FrameCommand::Remove { worker, itself: false }),
            (12..15, Some(worker)) => assign(scene, view, worker),
            (15..17, _) => retire(scene, view),
            (17, _) => return retire_all(scene, view),
            (18..20, _) => confirm(scene, view),
            (20..22, _) => return self.order_more(scene),
            (22, _) => self.order_again(scene),
            _ => None,
        };
        if let Some(command) = command {
            ask(command, scene);
        }
    }

    /// A long world needs more sessions than it was planned with.
    fn order_more(&mut self, scene: &mut Scene) {
        let n = self.orders.len();
        if n < ORDERS_MAX {
            self.orders.push(order(n, scene));
            self.wanted.insert(n);
            self.submit(n, scene);
        }
    }

    /// Somebody submits what is there already, perhaps with another body.
    fn order_again(&self, scene: &mut Scene) -> Option<FrameCommand> {
        let order = scene.dice.pick(&self.orders)?.clone();
        let change = u128::from(scene.dice.chance(500)) << 64;
        let digest = Digest(order.digest.0 | change);
        Some(FrameCommand::Submit(Box::new(SessionSubmission { digest, ..order })))
    }

    fn cancel_one(&mut self, scene: &mut Scene, view: &FarmView<'_>) {
        if let Some(session) = scene.dice.pick(&view.sessions).map(|session| session.id.clone()) {
            self.cancel(session, scene);
        }
    }
}

fn steer(scene: &mut Scene, view: &FarmView<'_>) -> Option<FrameCommand> {
    let session = scene.dice.pick(&view.sessions)?.id.clone();
    let to = if scene.dice.chance(400) { Steering::Pause } else { Steering::Resume };
    Some(FrameCommand::Steer { session, to })
}

/// Places a task by hand; it may not be one, or not wait.
fn assign(scene: &mut Scene, view: &FarmView<'_>, worker: Name) -> Option<FrameCommand> {
    let session = scene.dice.pick(&view.sessions)?;
    let per_task = session.frames_per_task.max(1);
    let places = usize::try_from(session.total_frames.div_ceil(per_task)).unwrap_or(1);
    let place = scene.dice.below(places) as u64 * per_task;
    let task = FrameTaskId { session: session.id.clone(), start: place };
    Some(FrameCommand::Assign { task, worker })
}

/// Ids that are live, ids whose range is done, or ids that were never granted.
fn retire(scene: &mut Scene, view: &FarmView<'_>) -> Option<FrameCommand> {
    let (chunk, task) = match scene.dice.chance(100) {
        true => (10_000, None),
        false => scene.dice.pick(&view.chunks).map(|(chunk, task)| (*chunk, Some((*task).clone())))?,
    };
    scene.count("retiring of ids asked");
    Some(FrameCommand::RetireChunk { chunk, task, reason: "wrong".into() })
}

/// All ids of one range at once.
fn retire_all(scene: &mut Scene, view: &FarmView<'_>) {
    let Some(task) = scene.dice.pick(&view.chunks).map(|(_, task)| *task) else {
        return;
    };
    for (chunk, task) in view.chunks.iter().filter(|(_, other)| *other == task) {
        scene.count("retiring of ids asked");
        let (chunk, task) = (*chunk, Some((*task).clone()));
        ask(FrameCommand::RetireChunk { chunk, task, reason: "all wrong".into() }, scene);
    }
}

fn confirm(scene: &mut Scene, view: &FarmView<'_>) -> Option<FrameCommand> {
    let (_, record) = scene.dice.pick(&view.entries)?;
    let record: QuarantineRecord = (*record).clone();
    Some(FrameCommand::Confirm { record: Box::new(record), note: "looked at".into() })
}

/// Sessions that one world may have.
const ORDERS_MAX: usize = 12;
