//! S8, S9, S11, invariant 11: where workers stand, and what follows from it.

use super::{FrameBook, SLACK, Said, Verdict, chunk::FAILED, ensure, rows::Before};
use muster_model::{FrameTaskId, Millis, Name, RendererRecord, RendererState, Timestamp, TransitionRecord};

impl FrameBook {
    pub(super) fn write_transition(&mut self, moved: &TransitionRecord, before: &mut Before) -> Verdict {
        let from = self.state(&moved.worker);
        ensure(from == moved.from && is_way(moved.from, moved.to), "worker_moves_strangely", || {
            format!("{moved:?} from {from:?}")
        })?;
        self.seen.count(match moved.to {
            RendererState::Registered => "worker registered anew",
            RendererState::Healthy => "worker healthy",
            RendererState::Degraded => "worker degraded",
            RendererState::Lost => "worker lost",
            RendererState::Quarantined => "worker in quarantine",
            RendererState::Removed => "worker removed",
        });
        let is_out = (moved.from, moved.to) == (RendererState::Quarantined, RendererState::Registered);
        let is_approved = self.approved.contains(&(moved.worker.clone(), moved.at));
        ensure(!is_out || is_approved, "quarantine_left_unasked", || format!("{moved:?}"))?;
        self.check_health(moved)?;
        if moved.to == RendererState::Lost {
            self.check_silence(&moved.worker, moved.at)?;
        }
        if moved.to == RendererState::Quarantined {
            before.quarantined.insert(moved.worker.clone());
        }
        before.moved.insert(moved.worker.clone());
        self.states.insert(moved.worker.clone(), (moved.to, moved.at));
        Ok(())
    }

    pub(super) fn check_workers(&mut self, before: &Before) -> Verdict {
        for (name, old) in &before.renderers {
            let Some(row) = self.rows.renderers.get(name) else { continue };
            let state = self.state(name);
            ensure(row.state == state, "row_unlike_its_transitions", || {
                format!("{row:?} though it is {state:?}")
            })?;
            let is_quarantined = |state| state == RendererState::Quarantined;
            let stayed = !before.moved.contains(name) && is_quarantined(row.state);
            let same = old.as_ref().is_none_or(|old| old.token_hash == row.token_hash);
            ensure(!stayed || same, "quarantined_registers", || format!("{old:?} became {row:?}"))?;
            self.check_diagnosis(row, old.as_ref(), before)?;
            // A worker that registers anew gets no order to stop earlier tasks, because it has none.
            let registered_at = row.registered_at;
            self.stops.retain(|(worker, _), at| worker != name || *at > registered_at);
        }
        let unfit = self.rows.live_chunks().find(|chunk| !self.state(&chunk.record.worker).may_work());
        ensure(unfit.is_none(), "unfit_holds_frames", || {
            let record = unfit.map(|chunk| &chunk.record);
            format!("{record:?} of one that is {:?}", record.map(|record| self.state(&record.worker)))
        })
    }

    /// S8: three fine heartbeats make healthy, a bad one degraded, and only a while of fine ones healthy again.
    fn check_health(&self, moved: &TransitionRecord) -> Verdict {
        let said = self.said.get(&moved.worker).map_or(&[][..], Vec::as_slice);
        let until: Vec<&Said> = said.iter().filter(|said| said.at <= moved.at).collect();
        // Two of the same moment may have come in either order.
        let counted = until.iter().rev().filter(|said| said.is_fine || said.at < moved.at);
        let fine = counted.take_while(|said| said.is_fine);
        let right = match (moved.from, moved.to) {
            (RendererState::Registered, RendererState::Healthy) => fine.count() >= 3,
            (RendererState::Degraded, RendererState::Healthy) => {
                fine.last().is_some_and(|first| first.at + self.settings.degraded_recovery <= moved.at)
            }
            (_, RendererState::Degraded) => until.iter().any(|said| said.at == moved.at && !said.is_fine),
            _ => true,
        };
        ensure(right, "health_misjudged", || format!("{moved:?} after {until:?}"))
    }

    /// S8: so many losses and failures within so long put a worker into quarantine.
    fn check_diagnosis(
        &self,
        row: &RendererRecord,
        old: Option<&RendererRecord>,
        before: &Before,
    ) -> Verdict {
        let counted = |row: &RendererRecord| row.failures.iter().chain(&row.losses).max().copied();
        let Some(last) = counted(row) else {
            return Ok(());
        };
        // A completion clears failures, so the latest entry may also be an old one.
        let is_new = old.is_none_or(|old| counted(old) < Some(last));
        let window = last - self.settings.quarantine_window;
        let counted = row.failures.iter().chain(&row.losses).filter(|at| **at > window).count();
        let is_much = counted >= self.settings.quarantine_after as usize;
        let judged = before.quarantined.contains(&row.id);
        ensure(!is_new || !is_much || judged, "quarantine_forgotten", || format!("{row:?}"))?;
        old.map_or(Ok(()), |old| self.check_blame(row, old, before))
    }

    /// S26b: a worker that completes other ranges is not blamed twice for the same one.
    fn check_blame(&self, row: &RendererRecord, old: &RendererRecord, before: &Before) -> Verdict {
        let fresh = row.failures.iter().filter(|at| !old.failures.contains(at));
        for at in fresh {
            let does_well =
                old.last_completed.is_some_and(|done| done > *at - self.settings.quarantine_window);
            let ended = before.changed.iter().map(|number| &self.rows.chunks[number]).filter(|chunk| {
                let reason = chunk.record.reason.as_deref().unwrap_or_default();
                let is_its = chunk.record.worker == row.id && chunk.record.at == *at;
                chunk.is_first && is_its && FAILED.contains(&reason)
            });
            let tasks: Vec<_> = ended.map(|chunk| before.tasks.get(&chunk.record.task)).collect();
            let [Some(Some(task))] = &tasks[..] else { continue };
            let is_known = task.losers.contains(&row.id);
            ensure(!(does_well && is_known), "blamed_again", || format!("{row:?} for {task:?}"))?;
        }
        Ok(())
    }

    /// Lost only after a silence.
    fn check_silence(&self, worker: &Name, at: Timestamp) -> Verdict {
        let since = self.states.get(worker).map_or(Timestamp(0), |(_, since)| *since);
        let heard = self.last_heard(worker, at).max(self.up_since).max(since);
        ensure(heard + self.settings.silence_max() <= at, "lost_too_early", || {
            format!("{worker} was heard at {heard:?} and is lost at {at:?}")
        })
    }

    /// Checks that every worker that was silent for too long is lost.
    pub(super) fn check_lost(&self, now: Timestamp) -> Verdict {
        let fit = self.rows.renderers.values().filter(|row| row.state.may_work());
        for row in fit {
            let heard = self.last_heard(&row.id, now).max(self.up_since).max(row.state_since);
            ensure(now <= heard + self.settings.silence_max() + SLACK, "silence_outlasts", || {
                format!("{row:?} was heard at {heard:?}, it is {now:?}")
            })?;
        }
        Ok(())
    }

    fn last_heard(&self, worker: &Name, until: Timestamp) -> Timestamp {
        let heard = self.heard.get(worker).map_or(&[][..], Vec::as_slice);
        let place = heard.partition_point(|at| *at < until);
        place.checked_sub(1).map_or(Timestamp(0), |place| heard[place])
    }
}

/// The ways from state to state (S8).
fn is_way(from: RendererState, to: RendererState) -> bool {
    use RendererState::{Degraded, Healthy, Lost, Quarantined, Registered, Removed};
    let is_seen =
        matches!((from, to), (Registered, Healthy) | (Registered | Healthy, Degraded) | (Degraded, Healthy));
    let is_put_away = match to {
        Lost => from.may_work(),
        Quarantined => from.may_work() || from == Lost,
        Removed => from != Removed,
        _ => false,
    };
    is_seen || is_put_away || (to == Registered && from != Registered)
}

impl FrameBook {
    /// Looks at what must not last, after every step.
    pub(in crate::checker) fn after_step(&self, now: Timestamp) -> Verdict {
        self.check_lost(now)?;
        self.check_stalled(now)
    }

    /// An assignment of which nothing is heard goes to another, unless everything stands still on request, or its worker
    /// says with every heartbeat that it must.
    fn check_stalled(&self, now: Timestamp) -> Verdict {
        if self.rows.farm.paused || self.steered.all {
            return Ok(());
        }
        let limit = Millis(self.settings.stall.0 + LOOK_AGAIN.0 + SLACK.0);
        let is_stalled = |(task, news): &(&FrameTaskId, &Timestamp)| {
            let worker = self.rows.tasks.get(task).map(|row| &row.worker);
            let full_at = worker.and_then(|worker| self.full_at.get(worker)).copied();
            now > (**news).max(self.resumed_at).max(full_at.unwrap_or(Timestamp(0))) + limit
        };
        let stalled = self.news.iter().find(is_stalled);
        ensure(stalled.is_none(), "stall_outlasts", || format!("{stalled:?} at {now:?}"))
    }
}

/// Maximum delay until the end of a pause is noticed.
const LOOK_AGAIN: Millis = Millis(10_000);
