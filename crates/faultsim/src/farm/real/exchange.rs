//! What leaves for the coordinator, and what comes back.

use super::{Chore, Real, translate};
use crate::{
    checker::{Verdict, broken},
    farm::PATIENCE_MS,
    network::Ticket,
    scene::Scene,
};
use muster_model::{Beat, FrameCommand, FrameReply, Millis, RegistrationReply, Reply};
use muster_workers::simulation::core::{Action, Trouble};

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

/// What came back of it.
pub(super) type Answer = Result<Reply, Trouble>;

impl Real {
    /// Sends what the core wants sent.
    pub(super) fn send(&mut self, action: Action, scene: &mut Scene) -> Verdict {
        let worker = self.rig.name.clone();
        let (about, command) = match action {
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
            Action::Beat(beat) => (About::Beat(beat.number), translate::beat(worker, &beat)),
            Action::Rebind(rebind) => (About::Rebind(rebind.number), translate::rebind(worker, &rebind)),
            Action::Progress(progress) => {
                (About::Progress(progress.number), translate::progress(worker, progress))
            }
            Action::Send { work, report } => (About::Result(work), translate::report(worker, &report)),
            Action::Unregister(number) => {
                (About::Leave(number), FrameCommand::Remove { worker, itself: true })
            }
            Action::Begin(_) | Action::Kill(_) | Action::Pace(_) | Action::Note(_) => {
                return broken("worker_speaks_strangely", || "that is no call".into());
            }
        };
        let ticket = self.rig.ask(scene, command, None);
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
        let answer = self.note_epoch(ticket.way.epoch, answer, scene);
        self.tell(asked.about, answer, scene);
        Ok(())
    }

    /// No answer came in time.
    pub(super) fn give_up(&mut self, exchange: u64, scene: &mut Scene) {
        let Some(asked) = self.life().asked.remove(&exchange) else {
            return;
        };
        asked.ticket.broken.set(scene.dice.chance(700));
        self.tell(asked.about, Err(translate::nobody(None)), scene);
    }

    fn tell(&mut self, about: About, answer: Answer, scene: &Scene) {
        let now = scene.now;
        let interval = scene.plan.settings.frames.heartbeat;
        let core = &mut self.life().core;
        match about {
            About::Register(number) => {
                let answer = answer.map(|reply| translate::registration(reply, interval));
                core.registered(number, answer, now);
            }
            About::Beat(number) => core.beaten(number, answer.map(translate::heard), now),
            About::Rebind(number) => core.rebound(number, answer.map(translate::heard), now),
            About::Pull(number) => core.pulled(number, answer.map(translate::pulled), now),
            About::Progress(number) => core.told(number, answer.map(drop), now),
            About::Result(work) => core.sent(work, answer.map(drop), now),
            About::Leave(number) => core.unregistered(number, answer.map(drop), now),
        }
    }

    /// Every answer tells of which term it is; planted, that does not reach the core.
    fn note_epoch(&mut self, epoch: u64, answer: Answer, scene: &Scene) -> Answer {
        self.rig.epoch = self.rig.epoch.max(epoch);
        if !self.is_blind {
            self.life().core.heard_of(epoch, scene.now);
            return answer;
        }
        match answer {
            Ok(Reply::Frames(FrameReply::Registered(_))) => {
                Ok(Reply::Frames(FrameReply::Registered(RegistrationReply { epoch: 0 })))
            }
            Ok(Reply::Frames(FrameReply::Beat(beat))) => {
                Ok(Reply::Frames(FrameReply::Beat(Beat { epoch: 0, ..beat })))
            }
            answer => answer,
        }
    }

    fn await_answer(&mut self, ticket: Ticket, (about, wait): (About, Option<Millis>), scene: &mut Scene) {
        let waits = wait.map_or(0, |wait| wait.0);
        let patience = (waits + PATIENCE_MS.0, waits + PATIENCE_MS.1);
        self.rig.plan(scene, patience, Chore::GiveUp(ticket.exchange));
        self.life().asked.insert(ticket.exchange, Asked { ticket, about });
    }
}
