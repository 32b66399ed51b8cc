//! The batch with the store, and what leaves once that has it.

use super::Life;
use crate::{
    checker::{Broken, SentAnswer, Verdict},
    client,
    coordinator::life::store_broke,
    farm,
    message::{Response, ServerView},
    network::{Sender, Ticket},
    planted::Planted,
    pool, rpc,
    scene::{Happening, Scene},
};
use muster_model::{Change, Command, Rejection, Reply, ScheduleCommand, Timestamp};
use muster_store::{Batch, Failure, StoreError, Writer};
use std::{rc::Rc, sync::Arc};

/// The batch with the store, and what memory held when it was sealed.
pub(super) struct Committing {
    sealed: Sealed,
    /// When the first of it may have been decided, in the world's time.
    opened: Timestamp,
    rows: Option<Vec<Change>>,
    durable: bool,
}

/// A sealed batch of one term.
struct Sealed {
    epoch: u64,
    life: u32,
    batch: Arc<Batch>,
    /// The moment of sealing, by the life's clock.
    at: Timestamp,
}

/// The store's response to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coordinator) enum CommitResult {
    Kept,
    /// It failed; whether it was kept nobody is told.
    Failed,
    /// A newer term has begun.
    Superseded,
}

/// A batch on its way to the store from a life that is over.
pub(in crate::coordinator) struct OrphanedBatch {
    writer: Box<dyn Writer>,
    sealed: Sealed,
}

impl OrphanedBatch {
    /// It arrives: kept if no newer term has begun.
    pub(in crate::coordinator) fn arrives(mut self, scene: &mut Scene) -> Verdict {
        match self.writer.commit(&self.sealed.batch) {
            Ok(()) => {
                scene.count("batch of a life that is over kept");
                self.sealed.keep(scene)
            }
            Err(StoreError::Superseded) => {
                scene.count("stale commit refused");
                Ok(())
            }
            Err(error) => Err(store_broke(error)),
        }
    }

    /// Invariant 10: what an earlier life still tries to write is refused.
    pub(in crate::coordinator) fn comes_too_late(mut self) -> bool {
        self.writer.commit(&self.sealed.batch).is_err()
    }
}

impl Life {
    pub(crate) fn is_committing(&self) -> bool {
        self.committing.as_ref().is_some_and(|committing| !committing.durable)
    }

    /// Hands the next batch to the store, unless that is busy; what needs none leaves at once, if nobody else can lead.
    pub(super) fn hand_over(&mut self, scene: &mut Scene) -> Verdict {
        if self.committing.is_some() {
            return Ok(());
        }
        let now = self.now(scene);
        let Some(batch) = self.write_path.seal(now) else {
            return Ok(());
        };
        let opened = std::mem::replace(&mut self.opened, scene.now);
        let is_fresh = self.is_fresh || self.planted == Some(Planted::AnswersAfterLease);
        if batch.is_empty() && is_fresh {
            scene.checker.terms.answers_alone(self.epoch)?;
            return self.send(opened, scene);
        }
        for entry in &batch.feed {
            scene.note(|| format!("server {}: {} {}", self.server, entry.kind, entry.body));
        }
        if batch.is_empty() {
            scene.count("empty batch sent to the store");
        }
        let sampled = scene.dice.chance(ROWS_PER_MILLE);
        self.handed += 1;
        self.committing = Some(Committing {
            sealed: Sealed { epoch: self.epoch, life: self.number, batch: Arc::clone(&batch), at: now },
            opened,
            rows: sampled.then(|| self.write_path.engine().live_rows()),
            durable: false,
        });
        if self.planted == Some(Planted::FeedBeforeCommit) {
            scene.checker.told(&batch.feed)?;
        }
        if self.planted == Some(Planted::AnswersBeforeCommit) {
            self.release(opened, scene)?;
        }
        let slow = scene.dice.chance(50);
        scene.within(1, if slow { 600 } else { 15 }, Happening::Durable { life: self.number });
        Ok(())
    }

    /// Has the store make the batch durable; a failure was planned for it.
    pub(in crate::coordinator) fn commit(
        &mut self,
        failure: Option<Failure>,
        scene: &mut Scene,
    ) -> Result<CommitResult, Broken> {
        let committing = self.committing.as_mut().expect("a batch is with the store");
        let is_kept = match self.writer.commit(&committing.sealed.batch) {
            Ok(()) => true,
            Err(StoreError::Superseded) => return Ok(CommitResult::Superseded),
            Err(StoreError::Backend(_)) => failure == Some(Failure::After),
            Err(error) => return Err(store_broke(error)),
        };
        committing.durable = is_kept;
        if is_kept {
            committing.sealed.keep(scene)?;
        }
        Ok(if failure.is_some() { CommitResult::Failed } else { CommitResult::Kept })
    }

    /// The store says that the batch is durable: the feed is told and the answers leave.
    pub(crate) fn heard(&mut self, scene: &mut Scene) -> Verdict {
        let Some(committing) = self.committing.take() else {
            return Ok(());
        };
        let leads = scene.checker.terms.leads(self.epoch);
        if let Some(rows) = committing.rows.filter(|_| leads) {
            let now = self.now(scene);
            scene.checker.rows_are(&rows, &mut self.loader(now))?;
        }
        self.door.follow(&committing.sealed.batch.changes);
        if self.planted != Some(Planted::FeedBeforeCommit) {
            match leads {
                true => scene.checker.told(&committing.sealed.batch.feed)?,
                false => scene.checker.told_late(&committing.sealed.batch.feed)?,
            }
        }
        self.release(committing.opened, scene)
    }

    /// Stops in order: whoever waits is answered, what was decided is made durable.
    pub(crate) fn stop(&mut self, scene: &mut Scene) -> Verdict {
        self.finish_commit(scene)?;
        self.write_path.dismiss_waiting(self.clock.at(scene.now));
        self.hand_over(scene)?;
        self.finish_commit(scene)
    }

    /// Forgets the batch that was with the store.
    pub(in crate::coordinator) fn forget_batch(&mut self) {
        self.committing = None;
    }

    /// Commits by another way than its own.
    pub(in crate::coordinator) fn write_with(
        &mut self,
        writer: Box<dyn Writer>,
        scene: &mut Scene,
    ) -> Verdict {
        self.writer = writer;
        self.commit(None, scene).map(drop)
    }

    /// Remainder of a life whose batch never reached the store.
    pub(in crate::coordinator) fn into_orphan(self) -> Option<OrphanedBatch> {
        let Committing { sealed, .. } = self.committing.filter(|committing| !committing.durable)?;
        Some(OrphanedBatch { writer: self.writer, sealed })
    }

    fn finish_commit(&mut self, scene: &mut Scene) -> Verdict {
        if self.is_committing() && self.commit(None, scene)? == CommitResult::Superseded {
            self.committing = None;
        }
        self.heard(scene)
    }

    /// Releases the responses that were decided in the last batch.
    fn release(&mut self, opened: Timestamp, scene: &mut Scene) -> Verdict {
        scene.checker.terms.answers(self.epoch, self.handed)?;
        self.send(opened, scene)
    }

    fn send(&mut self, opened: Timestamp, scene: &mut Scene) -> Verdict {
        let released = self.write_path.committed();
        self.send_out(released.effects, scene);
        let now = self.now(scene);
        let (leads, is_timely) = (scene.checker.terms.leads(self.epoch), opened >= self.well_since);
        for answer in released.answers {
            match leads {
                true => {
                    let (ticket, result) = (&answer.handle, &answer.result);
                    scene.checker.answered(SentAnswer { ticket, result, now, is_timely })?;
                }
                false => scene.checker.promised(&answer.handle, &answer.result)?,
            }
            if answer.handle.sender != Sender::Errand {
                let response = self.respond(&answer.handle, &answer.result, scene)?;
                let ticket = Ticket { response: response.map(Rc::new), ..answer.handle };
                scene.answer(ticket, answer.result);
            }
        }
        Ok(())
    }
}

impl Life {
    /// Phrases the reply to a client, an operator or an RPC as the server's routes do.
    fn respond(
        &self,
        ticket: &Ticket,
        result: &Result<Reply, Rejection>,
        scene: &Scene,
    ) -> Result<Option<Response>, Broken> {
        let server = ServerView {
            reader: &*self.reader,
            engine: self.write_path.engine(),
            checker: &scene.checker,
            leads: scene.checker.terms.leads(self.epoch),
            now: self.now(scene),
        };
        match &*ticket.command {
            call if rpc::is_call(call) => rpc::respond(call, result, &server).map(Some),
            _ if ticket.sender != Sender::Client => Ok(None),
            Command::Frames(command) => farm::respond(command, result, &server).map(Some),
            Command::Pool(command) => pool::respond(command, result, &server).map(Some),
            // Slots are fired by the coordinator itself; nobody else can.
            Command::Schedules(ScheduleCommand::Fire { .. } | ScheduleCommand::Skip { .. }) => Ok(None),
            command => client::respond(command, result, &server).map(Some),
        }
    }
}

impl Sealed {
    /// Checks a batch that has become durable.
    fn keep(&self, scene: &mut Scene) -> Verdict {
        scene.checker.terms.writes(self.epoch, self.life, self.batch.moment())?;
        if self.batch.is_empty() { Ok(()) } else { scene.checker.durable(&self.batch, self.at) }
    }
}

/// In a thousand: commits after which everything live is compared with the store.
const ROWS_PER_MILLE: u32 = 120;
