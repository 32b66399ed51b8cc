//! N1, N19, N20: what leaves for the coordinator, and what comes back.

use super::{Agent, Chore, meaning};
use crate::{
    checker::{Checker, Verdict},
    network::{Returned, Ticket},
    node::{PATIENCE_MS, wire},
    planted::Planted,
    scene::Scene,
};
use muster_agent::core::{Answer, Heartbeat, NoAnswer, PullRequest, PulledWork, Refusal};
use muster_contract_nodes::write_heartbeat;
use muster_model::{Ask, Command, Millis, Pull, Report, Timestamp};

/// A request under way.
pub(super) struct Request {
    pub(super) ticket: Ticket,
    at: Timestamp,
    about: About,
}

/// A request that is about to leave.
struct Outgoing {
    command: Command,
    wait: Option<Millis>,
    about: About,
}

/// An event that was sent, and what came of it.
pub(super) struct Sent {
    pub(super) number: u64,
    pub(super) answer: Answer,
}

#[derive(Clone, Copy)]
enum About {
    /// The pull with this number.
    Work(u64),
    /// The event with this number.
    Event(u64),
}

impl Agent {
    pub(super) fn beat(&self, beat: &Heartbeat, scene: &mut Scene) -> Verdict {
        let body = write_heartbeat(self.site.name.as_str(), beat);
        self.site.ask(scene, wire::read_heartbeat(&body)?, None);
        Ok(())
    }

    pub(super) fn pull(&mut self, request: PullRequest, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        checker.agent(&self.site).pulls(request.max_jobs)?;
        let meant = meaning::pull(&self.site.name, &request)?;
        let body = request.write(self.site.name.as_str());
        let command = wire::read_pull_request(&body, &meant, request.wait)?;
        let about = About::Work(request.number);
        self.ask(Outgoing { command, wait: request.wait, about }, scene);
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
        let Some(request) = self.life().requests.remove(&exchange) else {
            return Ok(());
        };
        request.ticket.broken.set(scene.dice.chance(700));
        match request.about {
            About::Work(number) => self.pulled(number, Err(NoAnswer), scene),
            About::Event(number) if self.planted == Some(Planted::SilenceSetAside) => {
                let refusal = Refusal { status: 0, detail: "no answer".into() };
                self.sent(Sent { number, answer: Answer::Refused(refusal) }, scene, checker)?;
            }
            About::Event(number) => {
                scene.count("report sent again");
                self.sent(Sent { number, answer: Answer::None }, scene, checker)?;
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
        let Some(request) = self.life().requests.remove(&ticket.exchange) else {
            return Ok(());
        };
        match request.about {
            About::Work(number) => self.pulled(number, Err(NoAnswer), scene),
            About::Event(number) => {
                let patience = scene.dice.chance(300).then(|| Millis(scene.dice.between(1, 90_000)));
                self.sent(Sent { number, answer: Answer::Later(patience) }, scene, checker)?;
            }
        }
        self.follow(scene, checker)
    }

    pub(super) fn answered(
        &mut self,
        answer: Returned<'_>,
        scene: &mut Scene,
        checker: &mut Checker,
    ) -> Verdict {
        let Some(request) = self.life().requests.remove(&answer.ticket.exchange) else {
            return Ok(());
        };
        match request.about {
            About::Work(number) => {
                let work = match answer.result {
                    Ok(reply) => {
                        let timeout = scene.plan.settings.attempt_timeout;
                        let work = wire::pulled(&Pull::reply(reply), timeout, scene.now)?;
                        checker.agent(&self.site).handed(&work, request.at, scene.now);
                        Ok(work)
                    }
                    Err(_) => Err(NoAnswer),
                };
                self.pulled(number, work, scene);
                Ok(())
            }
            About::Event(number) => {
                let response = wire::respond(answer.result.map(Report::reply))?;
                let answer = match Answer::of(response.status, None) {
                    Answer::Refused(refusal) => {
                        Answer::Refused(Refusal { detail: response.body.into(), ..refusal })
                    }
                    other => other,
                };
                self.sent(Sent { number, answer }, scene, checker)
            }
        }
    }

    /// Tells the core what became of an event, and checks the status that it then shows.
    pub(super) fn sent(
        &mut self,
        Sent { number, answer }: Sent,
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
        checker.agent(&self.site).sent(number, is_answered, status.degraded)?;
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
        let meant = meaning::report(&self.site.name, &bytes)?;
        let command = wire::read_callback(&bytes, &meant)?;
        self.ask(Outgoing { command, wait: None, about: About::Event(number) }, scene);
        Ok(())
    }

    fn ask(&mut self, Outgoing { command, wait, about }: Outgoing, scene: &mut Scene) {
        let ticket = self.site.ask(scene, command, wait);
        let waits = wait.map_or(0, |wait| wait.0);
        let patience = waits + PATIENCE_MS.start()..=waits + PATIENCE_MS.end();
        self.site.plan(scene, patience, Chore::GiveUp(ticket.exchange));
        self.life().requests.insert(ticket.exchange, Request { ticket, at: scene.now, about });
    }
}
