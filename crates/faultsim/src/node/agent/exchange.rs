//! N1, N19, N20: what leaves for the coordinator, and what comes back.

use super::{Agent, Chore, translate};
use crate::{
    checker::{Checker, Verdict},
    network::Ticket,
    node::PATIENCE_MS,
    planted::Planted,
    scene::Scene,
};
use muster_agent::core::{Answer, NoAnswer, PullRequest, PulledWork, Refusal};
use muster_model::{Ask, Command, Millis, Pull, Rejection, Reply, Timestamp};

/// A request under way.
pub(super) struct Asked {
    pub(super) ticket: Ticket,
    at: Timestamp,
    about: About,
}

#[derive(Clone, Copy)]
enum About {
    /// The pull with this number.
    Work(u64),
    /// The event with this number.
    Event(u64),
}

impl Agent {
    pub(super) fn beat(&self, scene: &mut Scene) {
        self.site.ask(scene, Command::Heartbeat { worker: self.site.name.clone() }, None);
    }

    pub(super) fn pull(&mut self, request: PullRequest, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        checker.agent(&self.site).pulls(request.max_jobs)?;
        let (number, wait) = (request.number, request.wait);
        let command = Command::Pull(translate::pull(&self.site.name, request)?);
        self.ask((command, wait), About::Work(number), scene);
        Ok(())
    }

    pub(super) fn send(&mut self, number: u64, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        self.send_one(number, scene, checker)?;
        match self.planted {
            Some(Planted::AckedBeforeTaken) if self.life.is_some() => self.let_go(number, checker),
            Some(Planted::Overtaking) if checker.agent(&self.site).is_durable(number + 1) => {
                self.send_one(number + 1, scene, checker)
            }
            _ => Ok(()),
        }
    }

    /// No answer came in time.
    pub(super) fn give_up(&mut self, exchange: u64, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        let Some(asked) = self.life().asked.remove(&exchange) else {
            return Ok(());
        };
        asked.ticket.broken.set(scene.dice.chance(700));
        match asked.about {
            About::Work(number) => self.pulled(number, Err(NoAnswer), scene),
            About::Event(number) if self.planted == Some(Planted::SilenceSetAside) => {
                let refusal = Refusal { status: 0, detail: "no answer".into() };
                self.sent((number, Answer::Refused(refusal)), scene, checker)?;
            }
            About::Event(number) => {
                scene.count("report sent again");
                self.sent((number, Answer::None), scene, checker)?;
            }
        }
        Ok(())
    }

    /// Something before the coordinator says that there is nobody.
    pub(in crate::node) fn turned_away(
        &mut self,
        ticket: &Ticket,
        scene: &mut Scene,
        checker: &mut Checker,
    ) -> Verdict {
        let Some(asked) = self.life().asked.remove(&ticket.exchange) else {
            return Ok(());
        };
        match asked.about {
            About::Work(number) => self.pulled(number, Err(NoAnswer), scene),
            About::Event(number) => {
                let patience = scene.dice.chance(300).then(|| Millis(scene.dice.between(1, 90_000)));
                self.sent((number, Answer::Later(patience)), scene, checker)?;
            }
        }
        self.follow(scene, checker)
    }

    pub(super) fn answered(
        &mut self,
        asked: Asked,
        result: Result<Reply, Rejection>,
        (scene, checker): (&mut Scene, &mut Checker),
    ) -> Verdict {
        match (asked.about, result) {
            (About::Work(number), Ok(reply)) => {
                let answer = translate::pulled(&Pull::reply(reply), scene.plan.settings.attempt_timeout);
                checker.agent(&self.site).handed(&answer, (asked.at, scene.now));
                self.pulled(number, Ok(answer), scene);
                Ok(())
            }
            (About::Work(number), Err(_)) => {
                self.pulled(number, Err(NoAnswer), scene);
                Ok(())
            }
            (About::Event(number), Ok(_)) => self.sent((number, Answer::Taken), scene, checker),
            (About::Event(number), Err(rejection)) => {
                let refusal = Refusal { status: 409, detail: format!("{rejection:?}").into() };
                self.sent((number, Answer::Refused(refusal)), scene, checker)
            }
        }
    }

    /// What became of an event is told to the core, and what it then shows is looked at.
    pub(super) fn sent(
        &mut self,
        (number, answer): (u64, Answer),
        scene: &mut Scene,
        checker: &mut Checker,
    ) -> Verdict {
        let now = self.now(scene);
        let is_answered = matches!(answer, Answer::Taken | Answer::Refused(_));
        let core = &mut self.life().core;
        core.sent(number, answer, now);
        let status = core.status();
        if status.degraded {
            scene.count("degraded");
        }
        checker.agent(&self.site).sent((number, is_answered), status.degraded)?;
        if status.recovering && self.planted == Some(Planted::RecoveryForgotten) {
            let max_jobs = self.settings.slots;
            let request = PullRequest { number: u64::MAX, max_jobs, wait: None, devices: None };
            return self.pull(request, scene, checker);
        }
        Ok(())
    }

    fn pulled(&mut self, number: u64, result: Result<PulledWork, NoAnswer>, scene: &mut Scene) {
        let now = self.now(scene);
        self.life().core.pulled(number, result, now);
    }

    fn send_one(&mut self, number: u64, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        let Some(bytes) = self.read(number, scene, checker)? else {
            return Ok(());
        };
        let report = translate::report(&self.site.name, &bytes)?;
        self.ask((Command::Report(Box::new(report)), None), About::Event(number), scene);
        Ok(())
    }

    fn ask(&mut self, (command, wait): (Command, Option<Millis>), about: About, scene: &mut Scene) {
        let ticket = self.site.ask(scene, command, wait);
        let waits = wait.map_or(0, |wait| wait.0);
        let patience = (waits + PATIENCE_MS.0, waits + PATIENCE_MS.1);
        self.site.plan(scene, patience, Chore::GiveUp(ticket.exchange));
        self.life().asked.insert(ticket.exchange, Asked { ticket, at: scene.now, about });
    }
}
