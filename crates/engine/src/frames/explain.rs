//! Q16: what holds a session, a range or a worker back.

use super::{
    rule::{health, split},
    state::{Farm, FrameTask, Renderer, Session},
};
use muster_model::{
    FrameCause, FrameTaskId, FrameTaskStatus, Name, Pressure, RendererState, SessionId, SessionStatus,
    Timestamp,
};

impl Farm {
    /// Explains what a session waits for; `None` when memory does not know it.
    pub(crate) fn explain_session(&self, id: &SessionId, now: Timestamp) -> Option<FrameCause> {
        let Some(session) = self.sessions.get(id) else {
            let closed = self.recent.sessions.get(id)?;
            return Some(FrameCause::SessionEnded { status: closed.status });
        };
        if let Some(cause) = self.stopped(id, session) {
            return Some(cause);
        }
        let held = session.tasks.values().filter(|task| task.lease.is_some()).count();
        if held > 0 {
            return Some(FrameCause::SessionRunning { ranges: count(held) });
        }
        Some(self.unsupplied(session, now))
    }

    /// Explains what a range waits for, also one that is not cut yet; `None` when memory does not know it.
    pub(crate) fn explain_range(&self, id: &FrameTaskId, now: Timestamp) -> Option<FrameCause> {
        let session = self.sessions.get(&id.session);
        match session.and_then(|session| session.tasks.get(&id.start)) {
            Some(task) => Some(self.cut_range(id, task, now)),
            None => {
                let ended = self.recent.tasks.get(id).filter(|task| task.status.is_ended());
                let ended = ended.map(|task| FrameCause::RangeEnded { status: task.status });
                ended.or_else(|| {
                    let session = session.filter(|session| session.stretch_of(id.start).is_some())?;
                    Some(self.stopped(&id.session, session).unwrap_or_else(|| self.unsupplied(session, now)))
                })
            }
        }
    }

    /// Explains what a worker does or waits for; `None` when there is no such worker.
    pub(crate) fn explain_renderer(&self, name: &Name, now: Timestamp) -> Option<FrameCause> {
        let renderer = self.renderers.get(name)?;
        let (since, reason) = (renderer.state_since, None);
        match renderer.state {
            RendererState::Lost => return Some(FrameCause::RendererLost { since, reason }),
            RendererState::Quarantined => return Some(FrameCause::RendererQuarantined { since, reason }),
            RendererState::Removed => return Some(FrameCause::RendererRemoved { since, reason }),
            RendererState::Registered | RendererState::Healthy | RendererState::Degraded => {}
        }
        if !renderer.live.is_empty() {
            return Some(FrameCause::RendererRunning { ranges: count(renderer.live.len()) });
        }
        if self.paused {
            return Some(FrameCause::FarmPaused);
        }
        Some(match Hold::of(renderer, now) {
            Hold::Resting(until) => FrameCause::RendererResting { until },
            Hold::Unheard => FrameCause::RendererUnheard { since },
            Hold::Pressed => FrameCause::RendererPressed,
            Hold::Full | Hold::Free if renderer.state == RendererState::Degraded => {
                FrameCause::RendererDegraded { since, reason }
            }
            Hold::Full | Hold::Free => self.for_anybody(),
        })
    }

    /// Explains what a healthy worker could get.
    fn for_anybody(&self) -> FrameCause {
        let first = self.offering.first().and_then(|seq| self.by_age.get(seq));
        match first {
            Some(session) => FrameCause::RendererIdle { session: session.clone() },
            None => FrameCause::NoFrames { sessions: count(self.sessions.len()) },
        }
    }

    fn cut_range(&self, id: &FrameTaskId, task: &FrameTask, now: Timestamp) -> FrameCause {
        let (worker, attempt) = (task.worker.clone(), task.attempt);
        match task.status() {
            FrameTaskStatus::Assigned => {
                FrameCause::RangeUnconfirmed { worker, attempt, since: task.granted_at }
            }
            FrameTaskStatus::Running => {
                let processed = task.lease.as_ref().map_or(0, |lease| lease.processed);
                FrameCause::RangeRunning { worker, attempt, processed, frames: task.range.len() }
            }
            status => {
                let session = &self.sessions[&id.session];
                let held = self.stopped(&id.session, session);
                match held.unwrap_or_else(|| self.unsupplied(session, now)) {
                    FrameCause::AwaitingRenderer { .. } if self.is_avoided(task, now) => {
                        FrameCause::RangeAvoided { worker, attempt, until: task.avoids_until.unwrap_or(now) }
                    }
                    FrameCause::AwaitingRenderer { .. } => {
                        FrameCause::RangeReplay { worker, attempt, is_loss: status == FrameTaskStatus::Lost }
                    }
                    cause => cause,
                }
            }
        }
    }

    /// True if a range is kept from a worker that failed it, for one that has not (S26b).
    fn is_avoided(&self, task: &FrameTask, now: Timestamp) -> bool {
        task.losers.iter().any(|worker| split::is_kept_from(self, task, worker, now))
    }

    /// Reason why nothing more of a session is given out at all.
    fn stopped(&self, id: &SessionId, session: &Session) -> Option<FrameCause> {
        match session.status {
            _ if session.merging.is_some() => Some(FrameCause::SessionMerging),
            SessionStatus::Paused => Some(FrameCause::SessionPaused { session: id.clone() }),
            SessionStatus::Running if self.paused => Some(FrameCause::FarmPaused),
            SessionStatus::Running => None,
            status => Some(FrameCause::SessionEnded { status }),
        }
    }

    /// Reason why no worker takes anything of a session that gives something out.
    fn unsupplied(&self, session: &Session, now: Timestamp) -> FrameCause {
        let crew = Round::of(self.renderers.values(), now);
        if let Some(cause) = crew.nobody() {
            return cause;
        }
        let mut older = self.offering.range(..session.seq).peekable();
        if let Some(first) = older.peek().and_then(|seq| self.by_age.get(seq)) {
            let (session, ahead) = (first.clone(), count(older.count()));
            return FrameCause::SessionQueuedBehind { session, ahead };
        }
        crew.somebody()
    }
}

/// Obstacle that keeps a worker that may work from getting something.
enum Hold {
    Free,
    Full,
    Pressed,
    Resting(Timestamp),
    Unheard,
}

impl Hold {
    fn of(renderer: &Renderer, now: Timestamp) -> Self {
        match renderer.rests_until.filter(|until| *until > now) {
            _ if !renderer.has_free_slot() => Self::Full,
            Some(until) => Self::Resting(until),
            None if !renderer.is_heard() => Self::Unheard,
            None if health::pressure(renderer) == Pressure::Pause => Self::Pressed,
            None => Self::Free,
        }
    }
}

/// All workers, counted by what keeps them from work.
#[derive(Default)]
struct Round {
    lost: u32,
    quarantined: u32,
    free: u32,
    full: u32,
    pressed: u32,
    resting: u32,
    unheard: u32,
}

impl Round {
    fn of<'r>(renderers: impl Iterator<Item = &'r Renderer>, now: Timestamp) -> Self {
        let mut round = Self::default();
        for renderer in renderers {
            let counter = match (renderer.state, Hold::of(renderer, now)) {
                (RendererState::Removed, _) => continue,
                (RendererState::Lost, _) => &mut round.lost,
                (RendererState::Quarantined, _) => &mut round.quarantined,
                (_, Hold::Free) => &mut round.free,
                (_, Hold::Full) => &mut round.full,
                (_, Hold::Pressed) => &mut round.pressed,
                (_, Hold::Resting(_)) => &mut round.resting,
                (_, Hold::Unheard) => &mut round.unheard,
            };
            *counter += 1;
        }
        round
    }

    /// Reason why nobody may work.
    fn nobody(&self) -> Option<FrameCause> {
        let Self { lost, quarantined, .. } = *self;
        if self.free + self.full + self.pressed + self.resting + self.unheard > 0 {
            return None;
        }
        Some(match (lost, quarantined) {
            (0, 0) => FrameCause::NoRenderers,
            (workers, 0) => FrameCause::RenderersLost { workers },
            (0, workers) => FrameCause::RenderersQuarantined { workers },
            (lost, quarantined) => FrameCause::NoneCapable { lost, quarantined },
        })
    }

    /// Reason why the workers that may work are waited for.
    fn somebody(&self) -> FrameCause {
        match self {
            Self { free: 1.., .. } => FrameCause::AwaitingRenderer { workers: self.free },
            Self { full: 1.., .. } => FrameCause::RenderersBusy { workers: self.full },
            Self { pressed: 1.., .. } => FrameCause::RenderersPressed { workers: self.pressed },
            Self { resting: 1.., .. } => FrameCause::RenderersResting { workers: self.resting },
            _ => FrameCause::RenderersUnheard { workers: self.unheard },
        }
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
