//! S2, S3, S5, invariants 5 and 9: what leaves the coordinator is durable, and stays so.

use super::{Accepted, FrameBook, Verdict, ensure, rows::is_held};
use crate::network::Ticket;
use muster_model::{
    Beat, ChunkState, Completion, CompletionReply, EntryId, FrameCommand, FrameHandout, FrameRejection,
    FrameReply, FrameTaskRecord, IdRange, Name, Order, Progress, RendererState, SessionId, SessionReply,
    SessionStatus, SessionSubmission, Timestamp,
};

type Answered<'a> = Result<&'a FrameReply, &'a FrameRejection>;

impl FrameBook {
    /// Checks that the promise of a response is durable, and stays so (S3, S5, S12, S26).
    pub(in crate::checker) fn promised(&mut self, command: &FrameCommand, reply: &FrameReply) -> Verdict {
        match (command, reply) {
            (FrameCommand::Ask { worker, .. }, FrameReply::Task(Some(handout))) => {
                self.check_handout(worker, handout)
            }
            (FrameCommand::MoreIds { worker, .. }, FrameReply::Ids(ids)) => self.check_granted(*ids, worker),
            (FrameCommand::Complete(completion), FrameReply::Accepted(reply)) if !completion.dry => {
                self.check_taken(completion, reply)
            }
            (FrameCommand::Submit(submission), reply) => self.check_submission(submission, Ok(reply)),
            (FrameCommand::Steer { session, .. }, FrameReply::Session(SessionReply { status, .. })) => {
                let durable = self.rows.sessions.get(session).map(|row| row.status);
                let is_over = *status == SessionStatus::Cancelled;
                ensure(!is_over || durable == Some(*status), "cancel_not_durable", || {
                    format!("{session} is {durable:?}")
                })
            }
            _ => Ok(()),
        }
    }

    /// An answer leaves.
    pub(in crate::checker) fn answered(
        &mut self,
        command: &FrameCommand,
        ticket: &Ticket,
        result: Answered<'_>,
    ) -> Verdict {
        let exchange = ticket.exchange;
        match (command, result) {
            (FrameCommand::Ask { worker, .. }, Ok(FrameReply::Task(Some(handout)))) => {
                self.check_incarnation(worker, handout, ticket)
            }
            (FrameCommand::Ask { worker, .. }, Ok(FrameReply::Task(None))) => {
                self.check_nothing(worker, exchange)
            }
            (FrameCommand::Complete(completion), Err(rejection)) if !completion.dry => {
                self.check_late(completion, exchange, rejection)?;
                self.check_refused(completion, rejection)
            }
            (FrameCommand::Progress(progress), Ok(_)) => {
                self.note_dropped(progress, exchange);
                Ok(())
            }
            (FrameCommand::Heartbeat(heartbeat), Ok(FrameReply::Beat(beat))) => {
                self.check_beat(&heartbeat.worker, exchange, beat)
            }
            (FrameCommand::Register(registration), Ok(_)) => {
                let known = self.rows.renderers.contains_key(&registration.worker);
                ensure(known, "registration_not_durable", || format!("{registration:?}"))
            }
            (FrameCommand::Submit(submission), result @ Err(_)) => self.check_submission(submission, result),
            _ => Ok(()),
        }
    }

    /// A pushed task arrives; it left when it was durable.
    pub(crate) fn pushed(&self, worker: &Name, handout: &FrameHandout) -> Verdict {
        self.check_handout(worker, handout)
    }

    /// A task that leaves is durable with all that it says, and is for nobody else.
    fn check_handout(&self, worker: &Name, handout: &FrameHandout) -> Verdict {
        self.check_granted(handout.ids, worker)?;
        let record = &self.rows.chunks[&handout.ids.chunk].record;
        let row = self.rows.tasks.get(&handout.task);
        let same = record.task == handout.task
            && record.attempt == handout.attempt
            && handout.replay == (handout.attempt > 1)
            && row.is_some_and(|row| row.end <= handout.range.end && handout.range.start == row.id.start);
        ensure(same, "lease_not_durable", || format!("{handout:?} told, {record:?} and {row:?} durable"))
    }

    /// S1: whoever waits when its successor enrols is not given what is meant for that one. Who passes the HTTP layer while
    /// the successor's token is on its way to the disk is not known to be an earlier one.
    fn check_incarnation(&self, worker: &Name, handout: &FrameHandout, ticket: &Ticket) -> Verdict {
        let Some(row) = self.rows.renderers.get(worker).filter(|row| Some(row.token_hash) != ticket.token)
        else {
            return Ok(());
        };
        let (_, taken) = self.taken_at(ticket.exchange);
        let granted = self.rows.chunks.get(&handout.ids.chunk).map_or(Timestamp(0), |chunk| chunk.record.at);
        let is_for_next = taken < row.registered_at && row.registered_at < granted;
        let is_live = self.rows.live.get(&handout.task).is_some_and(|live| live.contains(&handout.ids.chunk));
        ensure(!is_live || !is_for_next, "task_for_an_earlier_incarnation", || format!("{handout:?}"))
    }

    fn check_granted(&self, ids: IdRange, worker: &Name) -> Verdict {
        let record = self.rows.chunks.get(&ids.chunk).map(|chunk| &chunk.record);
        let same = record.is_some_and(|record| record.ids == ids && record.worker == *worker);
        ensure(same, "ids_not_durable", || format!("{ids:?} told to {worker}, {record:?} durable"))
    }

    /// S3: whoever has its slots full and asks gets what it has not confirmed.
    fn check_nothing(&self, worker: &Name, exchange: u64) -> Verdict {
        let (taken, _) = self.taken_at(exchange);
        let Some(row) = self.rows.renderers.get(worker).filter(|row| row.registered_at < taken) else {
            return Ok(());
        };
        let live = self.rows.live.keys().filter_map(|id| self.rows.tasks.get(id));
        let held: Vec<&FrameTaskRecord> =
            live.filter(|task| task.worker == *worker && is_held(task.status)).collect();
        let is_full = held.len() >= row.slots as usize && held.iter().all(|task| task.granted_at < taken);
        // An unconfirmed task is not sent while everything, or its session, is paused (S6, S26).
        let forgotten =
            held.iter().find(|task| task.confirmed_at.is_none() && !self.may_pause(&task.id.session));
        ensure(!is_full || forgotten.is_none(), "unconfirmed_forgotten", || {
            format!("{worker} was told nothing though it has {forgotten:?}")
        })
    }

    /// True if everything or a session is paused, or was a moment ago.
    fn may_pause(&self, session: &SessionId) -> bool {
        let status = self.rows.sessions.get(session).map(|row| row.status);
        let (all, this) = (self.steered.all, self.steered.sessions.contains(session));
        all || this || self.rows.farm.paused || status == Some(SessionStatus::Paused)
    }

    /// S2, S8: whoever lives is told what to stop; whoever is lost, to enrol anew.
    fn check_beat(&mut self, worker: &Name, exchange: u64, beat: &Beat) -> Verdict {
        if beat.state == RendererState::Lost {
            return ensure(beat.orders == [Order::Reregister], "reregister_not_told", || format!("{beat:?}"));
        }
        if beat.state == RendererState::Removed {
            // S6: a removed worker stops everything, so nothing is named to it.
            self.stops.retain(|(whose, _), _| whose != worker);
            return Ok(());
        }
        let (taken, _) = self.taken_at(exchange);
        let due = self.stops.iter().filter(|((whose, _), at)| whose == worker && **at < taken);
        let due: Vec<_> = due.map(|(key, _)| key.clone()).collect();
        for key in due {
            self.stops.remove(&key);
            let told = beat.orders.contains(&Order::Stop(key.1.clone()));
            ensure(told, "stop_not_told", || format!("{key:?} with {beat:?}"))?;
        }
        // The response may include stops decided at this very moment; these need not be sent again.
        self.stops
            .retain(|(whose, task), _| whose != worker || !beat.orders.contains(&Order::Stop(task.clone())));
        Ok(())
    }

    /// 9: one body per attempt, and what says "taken" is durable.
    fn check_taken(&mut self, completion: &Completion, reply: &CompletionReply) -> Verdict {
        let CompletionReply { repeated, worker, attempt } = reply;
        let key = (completion.task.clone(), *attempt);
        let record = self.rows.chunks.get(&completion.chunk).map(|chunk| &chunk.record);
        let known = record.is_some_and(|record| {
            record.task == completion.task
                && record.attempt == *attempt
                && record.worker == *worker
                && record.state != ChunkState::Live
        });
        let by_holder = completion.worker.as_ref().is_none_or(|said| said == worker);
        ensure(known && by_holder, "completion_not_durable", || format!("{completion:?} with {record:?}"))?;
        let first = self.accepted.entry(key).or_insert_with(|| Accepted {
            worker: worker.clone(),
            digest: completion.digest,
            chunk: completion.chunk,
        });
        ensure(first.digest == completion.digest && first.worker == *worker, "second_body_taken", || {
            format!("{completion:?}, repeated: {repeated}")
        })
    }

    /// 9: what was accepted once is accepted for ever, unless an operator had it done anew (S17).
    fn check_refused(&self, completion: &Completion, rejection: &FrameRejection) -> Verdict {
        let Some(attempt) = completion.attempt else {
            return Ok(());
        };
        let before = self.accepted.get(&(completion.task.clone(), attempt));
        let same = before.filter(|before| {
            before.digest == completion.digest
                && before.chunk == completion.chunk
                && completion.worker.as_ref() == Some(&before.worker)
        });
        let retired = same.and_then(|same| self.rows.chunks.get(&same.chunk));
        let retired = retired.is_some_and(|chunk| chunk.record.state == ChunkState::Retired);
        ensure(same.is_none() || retired, "accepted_then_refused", || {
            format!("{completion:?}: {rejection:?}")
        })
    }

    /// S5: what comes too late is set apart, once more.
    fn check_late(&self, completion: &Completion, exchange: u64, rejection: &FrameRejection) -> Verdict {
        let record = self.rows.chunks.get(&completion.chunk).map(|chunk| &chunk.record);
        let retired = record.filter(|record| record.state == ChunkState::Retired);
        let (taken, _) = self.taken_at(exchange);
        let is_late = matches!(rejection, FrameRejection::NotHolder { .. })
            && retired.is_some_and(|record| record.task == completion.task && record.at < taken);
        let entry = self.rows.quarantine.get(&EntryId::Chunk(completion.chunk));
        let is_apart = entry.is_some_and(|entry| entry.at >= taken);
        ensure(!is_late || is_apart, "late_files_left", || format!("{completion:?} with {entry:?}"))
    }

    fn check_submission(&self, submission: &SessionSubmission, result: Answered<'_>) -> Verdict {
        let row = self.rows.sessions.get(&submission.session);
        let same = row.is_some_and(|row| row.digest == submission.digest);
        let right = match result {
            Ok(_) => same,
            Err(FrameRejection::SessionConflict) => row.is_some() && !same,
            Err(_) => false,
        };
        ensure(right, "submission_not_durable", || format!("{submission:?} answered {result:?}, {row:?}"))
    }

    fn note_dropped(&mut self, progress: &Progress, exchange: u64) {
        let (taken, _) = self.taken_at(exchange);
        let held: Vec<_> = match &progress.task {
            Some(task) => vec![task.clone()],
            None => {
                let held = self.rows.held_by(&progress.worker);
                held.filter(|task| task.session == progress.session).collect()
            }
        };
        let [task] = &held[..] else { return };
        let Some(row) = self.rows.tasks.get(task).filter(|row| row.worker == progress.worker) else {
            return;
        };
        if is_held(row.status) && row.granted_at < taken {
            let told = self.dropped.entry((task.clone(), row.attempt)).or_default();
            *told = (*told).max(progress.dropped);
        }
    }
}
