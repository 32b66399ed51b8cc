//! S6, S9, S15, S17, S26: what people do while the world runs.

use super::{Director, Duty, FarmView, ask, is_retriable, order};
use crate::scene::{Happening, Scene};
use muster_model::{
    ClosedSession, Digest, FrameCommand, FrameRange, FrameTaskId, FrameTaskRecord, Name, QuarantineRecord,
    RetryRequest, SessionRecord, SessionSubmission, Steering,
};

impl Director {
    /// Does one thing, drawn by chance.
    pub(super) fn operate(&mut self, scene: &mut Scene, view: &FarmView<'_>) {
        let worker = scene.dice.pick(&view.renderers).map(|(name, _)| (*name).clone());
        let command = match (scene.dice.below(26), worker) {
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
            (23..26, _) => retry_some(scene, view),
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

    /// Has the failed frames of one session rendered again, once per session.
    pub(super) fn retry_failed(&mut self, scene: &mut Scene, view: &FarmView<'_>) {
        let mut failed = view.sessions.iter().filter(|session| is_retriable(session));
        if let Some(session) = failed.find(|session| !self.retried.contains(&session.id)) {
            self.retried.insert(session.id.clone());
            let ticket = ask(retry(session, None, view), scene);
            self.retrying.insert(ticket.exchange);
            scene.within(20_000, 20_000, Happening::Director(Duty::GiveUp(ticket.exchange)));
        }
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

/// Failed frames are to be rendered again: all of a session's, or some that may not have failed.
fn retry_some(scene: &mut Scene, view: &FarmView<'_>) -> Option<FrameCommand> {
    let failed: Vec<&SessionRecord> =
        view.sessions.iter().copied().filter(|session| session.failed_frames > 0).collect();
    let from = if failed.is_empty() || scene.dice.chance(100) { &view.sessions } else { &failed };
    let session = *scene.dice.pick(from)?;
    let half = FrameRange { start: 0, end: session.total_frames.div_ceil(2) };
    let frames = scene.dice.chance(300).then(|| vec![half]);
    scene.count("retry of failed frames asked");
    Some(retry(session, frames, view))
}

/// As a route asks: with what the store knows of a session that has ended.
fn retry(session: &SessionRecord, frames: Option<Vec<FrameRange>>, view: &FarmView<'_>) -> FrameCommand {
    let of_session = view.failed.iter().filter(|range| range.id.session == session.id);
    let ranges: Vec<FrameTaskRecord> = of_session.map(|range| (*range).clone()).collect();
    let closed =
        (!session.open).then(|| ClosedSession { record: session.clone(), ranges, uncut: Vec::new() });
    FrameCommand::Retry(Box::new(RetryRequest { session: session.id.clone(), frames, closed }))
}

fn confirm(scene: &mut Scene, view: &FarmView<'_>) -> Option<FrameCommand> {
    let (_, record) = scene.dice.pick(&view.entries)?;
    let record: QuarantineRecord = (*record).clone();
    Some(FrameCommand::Confirm { record: Box::new(record), note: "looked at".into() })
}

/// Sessions that one world may have.
const ORDERS_MAX: usize = 12;
