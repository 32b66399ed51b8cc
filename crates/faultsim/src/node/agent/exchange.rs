//! N1, N19, N20: what leaves for the coordinator, and what comes back.

use super::{Agent, Chore};
use crate::{
    checker::{Broken, Checker, Verdict},
    network::{Returned, Ticket},
    node::{PATIENCE_MS, wire},
    planted::Planted,
    scene::Scene,
};
use muster_agent::core::{
    Answer, Attempt, EventKind, Heartbeat, NoAnswer, Outcome as AgentOutcome, PullRequest, PulledWork,
    Refusal,
};
use muster_contract_nodes::{read_event, write_heartbeat};
use muster_model::{
    Ask, Command, DeviceReport, Millis, Name, NameError, Outcome, Pull, Report, ReportId, ReportKind, Step,
    TaskReport, TaskReportKind, Timestamp,
};
use std::str::FromStr;

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
        let meant = meant_pull(&self.site.name, &request)?;
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
        let meant = meant_report(&self.site.name, &bytes)?;
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

/// The report that an agent makes with these bytes of its spool.
fn meant_report(worker: &Name, bytes: &[u8]) -> Result<Report, Broken> {
    let event = read_event(bytes).map_err(|error| strange(&error.to_string()))?;
    let id = ReportId::new(&event.id).map_err(|error| strange(&error.to_string()))?;
    let kind = match event.kind {
        EventKind::RunStarted { run, .. } => ReportKind::RunStarted { job: id_of(&run)? },
        EventKind::RunFinished { run, summary } => ReportKind::RunFinished { job: id_of(&run)?, summary },
        EventKind::TaskStarted { attempt, .. } => task_report(&attempt, TaskReportKind::Started)?,
        EventKind::TaskProgress { attempt, step, status } => {
            let step = Step { name: name_of(&step)?, status, at: event.at };
            task_report(&attempt, TaskReportKind::Progress(step))?
        }
        EventKind::TaskFinished { attempt, started_at, outcome } => {
            task_report(&attempt, finished(outcome, started_at))?
        }
    };
    let worker = worker.clone();
    Ok(Report { id, worker, at: event.at, body: "{}".into(), kind })
}

/// A request for work.
fn meant_pull(worker: &Name, request: &PullRequest) -> Result<Pull, Broken> {
    let device = |attached: &muster_agent::Attached| {
        Ok(DeviceReport {
            device: name_of(&attached.device)?,
            handle: name_of(&attached.handle)?,
            attachment: attached.attachment,
        })
    };
    let devices = request.devices.as_ref().map(|devices| devices.iter().map(device).collect());
    Ok(Pull { worker: worker.clone(), max: request.max_jobs, devices: devices.transpose()? })
}

fn task_report(attempt: &Attempt, kind: TaskReportKind) -> Result<ReportKind, Broken> {
    Ok(ReportKind::Task(TaskReport {
        job: id_of(&attempt.run)?,
        task: id_of(&attempt.task)?,
        lane: name_of(&attempt.device)?,
        attempt: u16::try_from(attempt.number).ok(),
        fence: attempt.token.as_ref().map(|token| id_of(token)).transpose()?,
        kind,
    }))
}

fn finished(outcome: AgentOutcome, started_at: Timestamp) -> TaskReportKind {
    let outcome = match outcome {
        AgentOutcome::Succeeded { .. } => Outcome::Succeeded,
        AgentOutcome::Failed { reason, error } => {
            Outcome::Failed { reason: Some(reason), error: Some((&*error).into()) }
        }
    };
    TaskReportKind::Finished { outcome, started_at, result: None }
}

fn id_of<T: FromStr>(text: &str) -> Result<T, Broken> {
    text.parse().map_err(|_| strange(text))
}

fn name_of(text: &str) -> Result<Name, Broken> {
    Name::new(text).map_err(|error: NameError| strange(&format!("{text}: {error}")))
}

fn strange(what: &str) -> Broken {
    Broken::new("agent_speaks_strangely", what.to_owned())
}
