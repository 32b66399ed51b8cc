//! S3, S6: a worker asks for a task, or is given one by hand.

use super::{Answer, Draft};
use crate::{
    Mutant,
    frames::{
        rule::{cut, health, split},
        state::{Farm, FrameTask, Renderer, Session},
    },
};
use alloc::boxed::Box;
use muster_model::{
    FrameEvent, FrameHandout, FrameRange, FrameRejection, FrameReply, FrameTaskId, FrameTaskStatus, IdRange,
    Name, Pressure, RangeGrant, RendererState, Timestamp,
};

/// A range that could be given out.
pub(crate) struct Work {
    pub(crate) task: FrameTaskId,
    pub(crate) range: FrameRange,
}

/// Way in which a lease reaches its worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// With the reply to the request that it waits for.
    Reply,
    /// With the reply to its next request.
    NextReply,
    Push,
}

/// The worker that gets a lease.
pub(crate) struct Recipient<'a> {
    pub(crate) worker: &'a Name,
    pub(crate) delivery: Delivery,
}

/// A range as it is assigned.
struct Assigned {
    range: FrameRange,
    ids: IdRange,
    attempt: u16,
}

/// Gives a worker a task: one it was never told of, one more where a slot is free, else the oldest it has not
/// confirmed (its answer may have been lost).
pub(super) fn ask(draft: &mut Draft<'_>, worker: &Name, supply: bool) -> Answer {
    let renderer = draft.renderer(worker)?;
    match renderer.state {
        RendererState::Quarantined => return Err(FrameRejection::Quarantined),
        RendererState::Lost if !draft.farm.has_bug(Mutant::LostGivenWork) => {
            return Err(FrameRejection::Lost);
        }
        _ => {}
    }
    if !supply {
        return Ok(FrameReply::Task(None));
    }
    if let Some(task) = owed(draft.farm, renderer) {
        draft.add(FrameEvent::RangeShown { task: task.clone() });
        return Ok(FrameReply::Task(handout_of(draft.farm, &task)));
    }
    let Some(work) = find_work(draft.farm, worker, draft.now) else {
        return Ok(FrameReply::Task(None));
    };
    let grant = grant(draft.farm, &work, &Recipient { worker, delivery: Delivery::Reply }, draft.now)?;
    let handout = handout(
        draft.farm,
        &grant.task,
        Assigned { range: grant.range, ids: grant.ids, attempt: grant.attempt },
    );
    draft.add(FrameEvent::RangeGranted(Box::new(grant)));
    Ok(FrameReply::Task(handout))
}

/// Places a waiting task at a worker, before the order of the queue (S6).
pub(super) fn assign(draft: &mut Draft<'_>, task: &FrameTaskId, worker: &Name) -> Answer {
    let renderer = draft.renderer(worker)?;
    let session = draft.session(&task.session)?;
    let range = waiting_range(draft, session, task)?;
    if draft.farm.paused || !session.is_serving() {
        return Err(FrameRejection::Paused);
    }
    if !renderer.state.may_work() || !renderer.is_heard() || !renderer.has_free_slot() {
        let live = u32::try_from(renderer.live.len()).unwrap_or(u32::MAX);
        return Err(FrameRejection::Unfit { state: renderer.state, live, slots: renderer.slots });
    }
    let delivery = if renderer.endpoint.is_some() { Delivery::Push } else { Delivery::NextReply };
    let grant =
        grant(draft.farm, &Work { task: task.clone(), range }, &Recipient { worker, delivery }, draft.now)?;
    draft.add(FrameEvent::RangeGranted(Box::new(grant)));
    Ok(FrameReply::Done)
}

/// The work that a worker could be given now, from the oldest session that has some. Ranges that came back go first; one
/// that this worker keeps failing comes last, and for a while it is kept for other workers (S26b).
pub(crate) fn find_work(farm: &Farm, worker: &Name, now: Timestamp) -> Option<Work> {
    let renderer = farm.renderers.get(worker).filter(|renderer| may_be_given(farm, renderer, now))?;
    let offering = farm.offering.iter().filter_map(|seq| farm.by_age.get(seq));
    offering.filter_map(|id| Some((id, farm.sessions.get(id)?))).find_map(|(id, session)| {
        let waiting = || {
            let ready = session.ready.iter().filter_map(|(_, start)| session.tasks.get(start));
            ready.filter(|task| !split::is_kept_from(farm, task, worker, now))
        };
        let first = waiting().find(|task| !split::is_set_back(farm, task, worker)).map(|task| task.range);
        let range = first
            .or_else(|| cut::next(farm, session, renderer))
            .or_else(|| waiting().next().map(|task| task.range))?;
        Some(Work { task: FrameTaskId { session: id.clone(), start: range.start }, range })
    })
}

/// True if a worker gets anything at all as it stands.
pub(crate) fn may_be_given(farm: &Farm, renderer: &Renderer, now: Timestamp) -> bool {
    let broadcast = farm.paused && !farm.has_bug(Mutant::PauseIgnored);
    let fit = renderer.state.may_work()
        || (renderer.state == RendererState::Lost && farm.has_bug(Mutant::LostGivenWork));
    let rests = renderer.rests_until.is_some_and(|until| until > now);
    let full = health::pressure(renderer) == Pressure::Pause && !farm.has_bug(Mutant::PressureIgnored);
    let heard = renderer.is_heard() || farm.has_bug(Mutant::UnheardGivenWork);
    fit && heard && renderer.has_free_slot() && !broadcast && !rests && !full
}

/// The lease on a range, with ids of its own (S13, S16).
pub(crate) fn grant(
    farm: &Farm,
    work: &Work,
    recipient: &Recipient<'_>,
    at: Timestamp,
) -> Result<RangeGrant, FrameRejection> {
    let before = farm.task(&work.task);
    let fresh = farm.ids.next(farm.settings.chunk_size, 1).ok_or(FrameRejection::IdsExhausted)?;
    let reused = before.filter(|_| farm.has_bug(Mutant::ChunkReused)).map(|task| task.ids);
    Ok(RangeGrant {
        task: work.task.clone(),
        range: work.range,
        worker: recipient.worker.clone(),
        attempt: before.map_or(0, |task| task.attempt).saturating_add(1),
        ids: reused.unwrap_or(fresh),
        replaces: before.map(|task| task.ids.chunk),
        push: recipient.delivery == Delivery::Push,
        shown: recipient.delivery == Delivery::Reply,
        at,
    })
}

/// Handout of a live task.
pub(crate) fn handout_of(farm: &Farm, id: &FrameTaskId) -> Option<Box<FrameHandout>> {
    let task = farm.task(id)?;
    handout(farm, id, Assigned { range: task.range, ids: task.ids, attempt: task.attempt })
}

/// Handout of an assignment, also of one that is not applied yet.
fn handout(farm: &Farm, id: &FrameTaskId, assigned: Assigned) -> Option<Box<FrameHandout>> {
    let Assigned { range, ids, attempt } = assigned;
    let output = farm.sessions.get(&id.session)?.output.clone();
    let (task, epoch, replay) = (id.clone(), farm.epoch, attempt > 1);
    Some(Box::new(FrameHandout { task, range, ids, attempt, epoch, replay, output }))
}

/// The assignment that a worker must be told of: one it was never told of, or, its slots full, the oldest unconfirmed.
fn owed(farm: &Farm, renderer: &Renderer) -> Option<FrameTaskId> {
    let unconfirmed = |id: &&FrameTaskId| farm.task(id).is_some_and(|task| task.confirmed_at.is_none());
    let shown = |task: &FrameTask| task.lease.as_ref().is_some_and(|lease| lease.shown);
    let by_age = |id: &&FrameTaskId| farm.task(id).map(|task| (shown(task), task.granted_at));
    // Between PauseAll and ResumeAll nothing is given out that was not before; what was may be told again.
    let may_be_told = |id: &&FrameTaskId| farm.task(id).is_some_and(shown) || farm.gives_out(&id.session);
    let oldest = renderer.live.iter().filter(unconfirmed).filter(may_be_told).min_by_key(by_age)?;
    let new = farm.task(oldest).is_some_and(|task| !shown(task));
    let again = !renderer.has_free_slot() && !farm.has_bug(Mutant::UnconfirmedForgotten);
    (new || again).then(|| oldest.clone())
}

/// The frames of a task that waits: one that came back, or the nth full range of an uncut stretch.
fn waiting_range(
    draft: &Draft<'_>,
    session: &Session,
    id: &FrameTaskId,
) -> Result<FrameRange, FrameRejection> {
    if let Some(task) = session.tasks.get(&id.start) {
        return match task.status() {
            FrameTaskStatus::Pending | FrameTaskStatus::Lost => Ok(task.range),
            status => Err(FrameRejection::TaskNotWaiting { status }),
        };
    }
    if let Some(stretch) = session.stretch_of(id.start) {
        let on_edge = (id.start - stretch.start).is_multiple_of(session.per_task);
        let end = stretch.end.min(id.start + session.per_task);
        return on_edge.then_some(FrameRange { start: id.start, end }).ok_or(FrameRejection::TaskUnknown);
    }
    Err(match draft.ended_task(id) {
        Some(task) => FrameRejection::TaskNotWaiting { status: task.status },
        None => FrameRejection::TaskUnknown,
    })
}
