//! People who want sessions, and those who look after the workers.

mod wire;

use crate::{
    checker::{FrameBook, Verdict},
    client::Duty,
    message::Answer,
    scene::{Happening, Scene},
};
use muster_model::{
    ClosedSession, Digest, FrameCommand, FrameRange, FrameTaskId, FrameTaskRecord, Name, QuarantineRecord,
    RendererState, RetryRequest, SessionId, SessionRecord, SessionStatus, SessionSubmission, Steering,
};
use std::collections::{BTreeMap, BTreeSet};
pub(crate) use wire::respond;
use wire::send;

/// All of these people.
#[derive(Default)]
pub(crate) struct Director {
    orders: Vec<SessionSubmission>,
    /// Those of them that were not taken yet.
    wanted: BTreeSet<usize>,
    submitting: BTreeMap<u64, usize>,
    cancelling: BTreeMap<u64, SessionId>,
    /// Sessions whose failed frames were tried again once all was calm, and the requests for it that are under way.
    retried: BTreeSet<SessionId>,
    retrying: BTreeSet<u64>,
}

/// Sessions and their workers as people see them.
#[derive(Default)]
pub(crate) struct FarmView {
    pub(crate) renderers: Vec<(Name, RendererState)>,
    pub(crate) sessions: Vec<SessionRecord>,
    /// Ranges that failed.
    pub(crate) failed: Vec<FrameTaskRecord>,
    /// Ids that are live or used, and what for.
    pub(crate) chunks: Vec<(u64, FrameTaskId)>,
    pub(crate) entries: Vec<QuarantineRecord>,
    pub(crate) paused: bool,
}

impl Director {
    pub(crate) fn begin(&mut self, scene: &mut Scene) {
        let Some(sessions) = scene.plan.frames.as_ref().map(|plan| plan.sessions) else {
            return;
        };
        for n in 0..sessions {
            self.orders.push(order(n, scene));
            self.wanted.insert(n);
            scene.within(0, 30_000, Happening::Director(Duty::Submit(n)));
        }
        scene.within(1_000, 8_000, Happening::Director(Duty::Operate));
    }

    pub(crate) fn act(&mut self, duty: Duty, scene: &mut Scene) {
        match duty {
            Duty::Submit(n) => self.submit(n, scene),
            Duty::Operate if scene.calm => {}
            Duty::Operate => {
                self.operate(scene);
                scene.within(500, 8_000, Happening::Director(Duty::Operate));
            }
            Duty::PutInOrder => {
                let view = &scene.checker.frames.view();
                put_in_order(scene, view);
                self.retry_failed(scene, view);
                let is_open = view.sessions.iter().any(|session| session.open);
                if is_open || self.wants_retry(&scene.checker.frames) || !self.is_quiet() {
                    scene.within(10_000, 20_000, Happening::Director(Duty::PutInOrder));
                }
            }
            Duty::GiveUp(exchange) => self.give_up(exchange, scene),
        }
    }

    /// Reads the response to a request. One that is not final is as good as none: the request is sent again.
    pub(crate) fn hear(&mut self, exchange: u64, answer: &Answer) -> Verdict {
        if !answer.is_final() {
            return Ok(());
        }
        self.cancelling.remove(&exchange);
        self.retrying.remove(&exchange);
        let Some(n) = self.submitting.remove(&exchange) else { return Ok(()) };
        self.wanted.remove(&n);
        // A refused session was submitted by another client, with another body.
        if answer.is_done() {
            answer.expect(answer.status, &[("sessionId", self.orders[n].session.as_str().into())])?;
        }
        Ok(())
    }

    /// Number of sessions that were ever requested.
    pub(crate) fn orders(&self) -> usize {
        self.orders.len()
    }

    /// True if everything that will be submitted has been.
    pub(crate) fn is_quiet(&self) -> bool {
        self.wanted.is_empty() && self.cancelling.is_empty() && self.retrying.is_empty()
    }

    /// True if the failed frames of some session are still to be tried again.
    pub(crate) fn wants_retry(&self, book: &FrameBook) -> bool {
        let mut failed = book.sessions().filter(|session| is_retriable(session));
        failed.any(|session| !self.retried.contains(&session.id))
    }

    pub(crate) fn unrest(&self) -> String {
        format!("wanted sessions {:?}, cancelling {:?}", self.wanted, self.cancelling)
    }

    fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        if let Some(n) = self.submitting.remove(&exchange) {
            self.submit(n, scene);
        } else if let Some(session) = self.cancelling.remove(&exchange) {
            self.cancel(session, scene);
        }
        self.retrying.remove(&exchange);
    }

    fn submit(&mut self, n: usize, scene: &mut Scene) {
        let order = FrameCommand::Submit(Box::new(self.orders[n].clone()));
        let Some(ticket) = send(&order, scene) else { return };
        self.submitting.insert(ticket.exchange, n);
        scene.within(2_000, 6_000, Happening::Director(Duty::GiveUp(ticket.exchange)));
    }

    fn cancel(&mut self, session: SessionId, scene: &mut Scene) {
        scene.count("cancel of a session asked");
        let cancel = FrameCommand::Steer { session: session.clone(), to: Steering::Cancel };
        let Some(ticket) = send(&cancel, scene) else { return };
        self.cancelling.insert(ticket.exchange, session);
        scene.within(2_000, 6_000, Happening::Director(Duty::GiveUp(ticket.exchange)));
    }
}

/// True if a range fails wherever it is tried: it holds the frame that its session's name tells (S26b).
pub(super) fn is_poison(session: &str, frames: FrameRange) -> bool {
    let bad = session.strip_prefix(POISON).and_then(|rest| rest.split_once('_')?.1.parse::<u64>().ok());
    bad.is_some_and(|bad| (frames.start..frames.end).contains(&bad))
}

/// Lifts whatever would keep sessions from ending once the faults have stopped.
fn put_in_order(scene: &mut Scene, view: &FarmView) {
    if view.paused {
        send(&FrameCommand::Broadcast { pause: false }, scene);
    }
    for session in view.sessions.iter().filter(|session| session.open) {
        send(&FrameCommand::Steer { session: session.id.clone(), to: Steering::Resume }, scene);
    }
    for (worker, _) in view.renderers.iter().filter(|(_, state)| *state == RendererState::Quarantined) {
        send(&FrameCommand::Approve { worker: worker.clone(), reason: "well again".into() }, scene);
    }
}

/// True if a session has failed frames, and was not cancelled.
fn is_retriable(session: &SessionRecord) -> bool {
    session.failed_frames > 0 && session.status != SessionStatus::Cancelled
}

/// A session that somebody wants, however often it must be asked for.
fn order(n: usize, scene: &mut Scene) -> SessionSubmission {
    let poisoned = scene.plan.frames.as_ref().map_or(0, |plan| plan.poisoned);
    let total_frames = scene.dice.between(1, 60).unsigned_abs();
    let bad = scene.dice.below(usize::try_from(total_frames).unwrap_or(1));
    let name = if scene.dice.chance(poisoned) { format!("{POISON}{n}_{bad}") } else { format!("s{n}") };
    SessionSubmission {
        session: SessionId::new(&name).expect("a plain id"),
        digest: Digest(n as u128),
        total_frames,
        frames_per_task: scene.dice.between(3, 30).unsigned_abs(),
        strict: scene.dice.chance(400),
        output: format!("session_{name}").into(),
        body: "{}".into(),
    }
}

const POISON: &str = "poison";

impl Director {
    /// Does one thing, drawn by chance.
    fn operate(&mut self, scene: &mut Scene) {
        let view = &scene.checker.frames.view();
        let worker = scene.dice.pick(&view.renderers).map(|(name, _)| name.clone());
        let command = match (scene.dice.below(26), worker) {
            (0..3, _) => steer(scene, view),
            (3, _) => return self.cancel_one(scene, view),
            (4..7, _) => Some(FrameCommand::Broadcast { pause: scene.dice.chance(300) }),
            (7, Some(worker)) => {
                // A request without a reason is refused.
                let reason = if scene.dice.chance(100) { " " } else { "odd" };
                Some(FrameCommand::Quarantine { worker, reason: reason.into() })
            }
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
            send(&command, scene);
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

    /// Submits an existing session again, perhaps with another body, or with more frames than there may be.
    fn order_again(&self, scene: &mut Scene) -> Option<FrameCommand> {
        let order = scene.dice.pick(&self.orders)?.clone();
        let change = u128::from(scene.dice.chance(500)) << 64;
        let digest = Digest(order.digest.0 | change);
        let is_endless = scene.dice.chance(200);
        let total_frames = if is_endless { wire::FRAMES_MAX + 1 } else { order.total_frames };
        Some(FrameCommand::Submit(Box::new(SessionSubmission { digest, total_frames, ..order })))
    }

    /// Has the failed frames of one session rendered again, once per session.
    fn retry_failed(&mut self, scene: &mut Scene, view: &FarmView) {
        let mut failed = view.sessions.iter().filter(|session| is_retriable(session));
        if let Some(session) = failed.find(|session| !self.retried.contains(&session.id)) {
            self.retried.insert(session.id.clone());
            let Some(ticket) = send(&retry(session, None, view), scene) else { return };
            self.retrying.insert(ticket.exchange);
            scene.within(20_000, 20_000, Happening::Director(Duty::GiveUp(ticket.exchange)));
        }
    }

    fn cancel_one(&mut self, scene: &mut Scene, view: &FarmView) {
        if let Some(session) = scene.dice.pick(&view.sessions).map(|session| session.id.clone()) {
            self.cancel(session, scene);
        }
    }
}

fn steer(scene: &mut Scene, view: &FarmView) -> Option<FrameCommand> {
    let session = scene.dice.pick(&view.sessions)?.id.clone();
    let to = if scene.dice.chance(400) { Steering::Pause } else { Steering::Resume };
    Some(FrameCommand::Steer { session, to })
}

/// Places a task by hand; it may not be one, or not wait.
fn assign(scene: &mut Scene, view: &FarmView, worker: Name) -> Option<FrameCommand> {
    let session = scene.dice.pick(&view.sessions)?;
    let per_task = session.frames_per_task.max(1);
    let places = usize::try_from(session.total_frames.div_ceil(per_task)).unwrap_or(1);
    let place = scene.dice.below(places) as u64 * per_task;
    let task = FrameTaskId { session: session.id.clone(), start: place };
    Some(FrameCommand::Assign { task, worker })
}

/// Ids that are live, ids whose range is done, or ids that were never granted.
fn retire(scene: &mut Scene, view: &FarmView) -> Option<FrameCommand> {
    let (chunk, task) = match scene.dice.chance(100) {
        true => (10_000, None),
        false => scene.dice.pick(&view.chunks).map(|(chunk, task)| (*chunk, Some(task.clone())))?,
    };
    scene.count("retiring of ids asked");
    Some(FrameCommand::RetireChunk { chunk, task, reason: "wrong".into() })
}

/// All ids of one range at once.
fn retire_all(scene: &mut Scene, view: &FarmView) {
    let Some(task) = scene.dice.pick(&view.chunks).map(|(_, task)| task) else {
        return;
    };
    for (chunk, task) in view.chunks.iter().filter(|(_, other)| other == task) {
        scene.count("retiring of ids asked");
        let (chunk, task) = (*chunk, Some(task.clone()));
        send(&FrameCommand::RetireChunk { chunk, task, reason: "all wrong".into() }, scene);
    }
}

/// Failed frames are to be rendered again: all of a session's, or some that may not have failed.
fn retry_some(scene: &mut Scene, view: &FarmView) -> Option<FrameCommand> {
    let all: Vec<&SessionRecord> = view.sessions.iter().collect();
    let failed: Vec<_> = all.iter().copied().filter(|session| session.failed_frames > 0).collect();
    let from = if failed.is_empty() || scene.dice.chance(100) { &all } else { &failed };
    let session = *scene.dice.pick(from)?;
    let half = FrameRange { start: 0, end: session.total_frames.div_ceil(2) };
    let frames = scene.dice.chance(300).then(|| vec![half]);
    scene.count("retry of failed frames asked");
    Some(retry(session, frames, view))
}

/// As a route asks: with what the store knows of a session that has ended.
fn retry(session: &SessionRecord, frames: Option<Vec<FrameRange>>, view: &FarmView) -> FrameCommand {
    let of_session = view.failed.iter().filter(|range| range.id.session == session.id);
    let ranges = of_session.cloned().collect();
    let closed =
        (!session.open).then(|| ClosedSession { record: session.clone(), ranges, uncut: Vec::new() });
    FrameCommand::Retry(Box::new(RetryRequest { session: session.id.clone(), frames, closed }))
}

fn confirm(scene: &mut Scene, view: &FarmView) -> Option<FrameCommand> {
    let record = Box::new(scene.dice.pick(&view.entries)?.clone());
    Some(FrameCommand::Confirm { record, note: "looked at".into() })
}

/// Sessions that one world may have.
const ORDERS_MAX: usize = 12;
