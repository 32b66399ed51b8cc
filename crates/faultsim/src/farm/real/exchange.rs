//! What leaves for the coordinator, and what comes back.

use super::{Chore, Real};
use crate::{
    checker::{Verdict, broken},
    farm::{
        PATIENCE_MS,
        wire::{Endpoint, Request},
    },
    network::Ticket,
    scene::Scene,
};
use muster_contract_simulation::{HeartbeatResponse, PullReply, RegisterResponse, ResponseError};
use muster_model::{FrameCommand, FrameTaskId, Millis};
use muster_workers::simulation::core::{Action, Registration, Report, Trouble};

/// A request under way.
pub(super) struct Asked {
    pub(super) ticket: Ticket,
    about: About,
}

/// What it is about, by the core's numbers.
#[derive(Clone, Copy)]
enum About {
    Register(u64),
    Beat(u64),
    Rebind(u64),
    Pull(u64),
    Progress(u64),
    Result(u64),
    Leave(u64),
}

/// The body of a successful response.
pub(super) type Answer = Result<Vec<u8>, Trouble>;

impl Real {
    /// Sends what the core wants sent.
    pub(super) fn send(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        let worker = self.rig.name.clone();
        let (about, endpoint, body) = match action {
            Action::Register(number) => {
                let ticket = self.rig.register(scene);
                self.await_answer(ticket, (About::Register(number), None), scene);
                return Ok(());
            }
            Action::Pull { number, wait } => {
                let command = FrameCommand::Ask { worker, supply: true };
                let ticket = self.rig.ask(scene, command, Some(wait));
                self.await_answer(ticket, (About::Pull(number), Some(wait)), scene);
                return Ok(());
            }
            Action::Unregister(number) => {
                let ticket = self.rig.ask(scene, FrameCommand::Remove { worker, itself: true }, None);
                self.await_answer(ticket, (About::Leave(number), None), scene);
                return Ok(());
            }
            Action::Beat(beat) => (About::Beat(beat.number), Endpoint::Heartbeat, beat.request.to_bytes()),
            Action::Rebind(rebind) => {
                // The contract has room for one task only: the oldest.
                let request = rebind.request(worker.as_str().into(), rebind.tasks.first().cloned());
                (About::Rebind(rebind.number), Endpoint::Rebind, request.to_bytes())
            }
            Action::Progress(progress) => {
                (About::Progress(progress.number), Endpoint::Progress, progress.request.to_bytes())
            }
            Action::Send { work, report } => {
                let endpoint = match &report {
                    Report::Complete { task, .. } => Endpoint::Complete(task_id(task)),
                    Report::Fail { task, .. } => Endpoint::Fail(task_id(task)),
                };
                (About::Result(work), endpoint, report.body(&worker.as_str().into()))
            }
            Action::Begin(_) | Action::Kill(_) | Action::Pace(_) | Action::Note(_) => {
                return broken("worker_speaks_strangely", || "that is no call".into());
            }
        };
        let ticket = self.rig.post(scene, &Request { endpoint, body });
        self.await_answer(ticket, (about, None), scene);
        Ok(())
    }

    pub(super) fn answered(&mut self, ticket: &Ticket, answer: Answer, scene: &mut Scene) -> Verdict {
        let Some(asked) = self.life().asked.remove(&ticket.exchange) else {
            return Ok(());
        };
        if let (About::Register(_), Ok(_)) = (asked.about, &answer) {
            self.rig.enrolled(ticket);
        }
        self.note_epoch(ticket.way.epoch, scene);
        match self.tell(asked.about, answer, scene) {
            Ok(()) => Ok(()),
            Err(error) => broken("response_not_understood", || error.to_string()),
        }
    }

    /// No answer came in time.
    pub(super) fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        let Some(asked) = self.life().asked.remove(&exchange) else {
            return;
        };
        asked.ticket.broken.set(scene.dice.chance(700));
        // There is nothing to read, and so nothing that cannot be understood.
        _ = self.tell(asked.about, Err(Trouble::NoAnswer(None)), scene);
    }

    /// Reads a response as the worker does, and tells the core. Planted, the core does not hear whose term it is.
    fn tell(&mut self, about: About, answer: Answer, scene: &Scene) -> Result<(), ResponseError> {
        let (now, is_blind) = (scene.now, self.is_blind);
        let core = &mut self.life().core;
        match about {
            About::Register(number) => {
                let answer = read(answer, RegisterResponse::read)?.map(|response| Registration {
                    interval: Millis(response.heartbeat_interval_ms),
                    epoch: if is_blind { 0 } else { response.epoch },
                });
                core.registered(number, answer, now);
            }
            About::Beat(number) => core.beaten(number, read_beat(answer, is_blind)?, now),
            About::Rebind(number) => core.rebound(number, read_beat(answer, is_blind)?, now),
            About::Pull(number) => core.pulled(number, read(answer, PullReply::read)?, now),
            About::Progress(number) => core.told(number, answer.map(drop), now),
            About::Result(work) => core.sent(work, answer.map(drop), now),
            About::Leave(number) => core.unregistered(number, answer.map(drop), now),
        }
        Ok(())
    }

    /// Every response tells of which term it is; planted, that does not reach the core.
    fn note_epoch(&mut self, epoch: u64, scene: &Scene) {
        self.rig.epoch = self.rig.epoch.max(epoch);
        if !self.is_blind {
            self.life().core.heard_of(epoch, scene.now);
        }
    }

    fn await_answer(&mut self, ticket: Ticket, (about, wait): (About, Option<Millis>), scene: &mut Scene) {
        let waits = wait.map_or(0, |wait| wait.0);
        let patience = (waits + PATIENCE_MS.0, waits + PATIENCE_MS.1);
        self.rig.plan(scene, patience, Chore::GiveUp(ticket.exchange));
        self.life().asked.insert(ticket.exchange, Asked { ticket, about });
    }
}

fn read<T>(
    answer: Answer,
    reader: impl Fn(&[u8]) -> Result<T, ResponseError>,
) -> Result<Result<T, Trouble>, ResponseError> {
    answer.map_or_else(|trouble| Ok(Err(trouble)), |body| reader(&body).map(Ok))
}

fn read_beat(answer: Answer, is_blind: bool) -> Result<Result<HeartbeatResponse, Trouble>, ResponseError> {
    let read = read(answer, HeartbeatResponse::read)?;
    Ok(read.map(|beat| HeartbeatResponse { epoch: if is_blind { Some(0) } else { beat.epoch }, ..beat }))
}

fn task_id(text: &str) -> FrameTaskId {
    text.parse().expect("the core gives back what it was given")
}
