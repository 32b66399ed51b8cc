//! N1, N19, N20: what leaves for the coordinator, and what comes back.

use super::{Agent, Chore};
use crate::{
    checker::{Broken, Verdict},
    machine::patience,
    node::{PATIENCE_MS, wire},
    planted::Planted,
    scene::Scene,
};
use muster_agent::core::{
    Answer, Attempt, BatchResponse, EventKind, Heartbeat, NoAnswer, Outcome as AgentOutcome, PullRequest,
    PulledWork, Refusal,
};
use muster_contract_nodes::{read_event, write_callbacks, write_heartbeat};
use muster_model::{
    Ask, Command, DeviceReport, Millis, Name, NameError, Outcome, Pull, Rejection, Reply, Report,
    ReportBatch, ReportId, ReportKind, Step, TaskReport, TaskReportKind, Timestamp, WorkerMessage,
};
use std::{iter, rc::Rc, str::FromStr};

/// A request under way.
pub(super) struct Request {
    at: Timestamp,
    about: About,
    command: Rc<Command>,
}

/// A request that is about to leave.
struct Outgoing {
    command: Command,
    wait: Option<Millis>,
    about: About,
}

enum About {
    /// The pull with this number.
    Work(u64),
    /// The events with these numbers.
    Events(Vec<u64>),
}

impl Agent {
    pub(super) fn beat(&self, beat: &Heartbeat, scene: &mut Scene) -> Verdict {
        let body = write_heartbeat(self.site.name.as_str(), beat);
        self.site.ask(scene, wire::read_heartbeat(&body)?, None);
        Ok(())
    }

    pub(super) fn pull(&mut self, request: PullRequest, scene: &mut Scene) -> Verdict {
        scene.checker.agent(&self.site).pulls(request.max_jobs)?;
        let meant = meant_pull(&self.site.name, &request)?;
        let body = request.write(self.site.name.as_str());
        let command = wire::read_pull_request(&body, &meant, request.wait)?;
        let about = About::Work(request.number);
        self.ask(Outgoing { command, wait: request.wait, about }, scene);
        Ok(())
    }

    pub(super) fn send(&mut self, numbers: &[u64], scene: &mut Scene) -> Verdict {
        self.send_readable(numbers, scene)?;
        let next = numbers.last().map_or(0, |last| last + 1);
        match self.planted {
            Some(Planted::AckedBeforeTaken) if self.life.is_some() => {
                numbers.iter().try_for_each(|number| self.let_go(*number, scene))
            }
            Some(Planted::Overtaking) if scene.checker.agent(&self.site).is_durable(next) => {
                self.send_readable(&[next], scene)
            }
            _ => Ok(()),
        }
    }

    /// No answer came in time.
    pub(super) fn give_up(&mut self, exchange: u64, scene: &mut Scene) -> Verdict {
        let Some(request) = self.life().calls.give_up(exchange, scene) else {
            return Ok(());
        };
        match request.about {
            About::Work(number) => self.pulled(number, Err(NoAnswer), scene),
            About::Events(numbers) if self.planted == Some(Planted::SilenceSetAside) => {
                let refusal = Refusal { status: 0, detail: "no answer".into() };
                self.sent_alike(&numbers, &Answer::Refused(refusal), scene)?;
            }
            About::Events(numbers) => {
                scene.count("report sent again");
                self.sent_alike(&numbers, &Answer::None, scene)?;
            }
        }
        Ok(())
    }

    /// Something before the coordinator says that there is nobody.
    pub(super) fn nobody_there(&mut self, request: Request, scene: &mut Scene) -> Verdict {
        match request.about {
            About::Work(number) => self.pulled(number, Err(NoAnswer), scene),
            About::Events(numbers) => {
                let patience = scene.dice.chance(300).then(|| Millis(scene.dice.between(1, 90_000)));
                self.sent_alike(&numbers, &Answer::Later(patience), scene)?;
            }
        }
        Ok(())
    }

    pub(super) fn answered(
        &mut self,
        request: Request,
        result: Result<Reply, Rejection>,
        scene: &mut Scene,
    ) -> Verdict {
        match request.about {
            About::Work(number) => {
                let work = match result {
                    Ok(reply) => {
                        let timeout = scene.plan.settings.attempt_timeout;
                        let mut work = wire::pulled(&Pull::reply(reply), timeout, scene.now)?;
                        if !scene.plan.batches {
                            // As a backend of an older version answers.
                            work.features.clear();
                        }
                        scene.checker.agent(&self.site).handed(&work, request.at, scene.now);
                        Ok(work)
                    }
                    Err(_) => Err(NoAnswer),
                };
                self.pulled(number, work, scene);
                Ok(())
            }
            About::Events(numbers) => {
                let answers = match &*request.command {
                    Command::ReportBatch(batch) => answers_to_batch(batch, result)?,
                    _ => vec![answer_to_one(result)?],
                };
                if answers.contains(&Answer::Separately) {
                    scene.count("batch of reports refused as a whole");
                }
                self.sent(numbers.into_iter().zip(answers).collect(), scene)
            }
        }
    }

    fn sent_alike(&mut self, numbers: &[u64], answer: &Answer, scene: &mut Scene) -> Verdict {
        self.sent(numbers.iter().map(|number| (*number, answer.clone())).collect(), scene)
    }

    /// Tells the core what became of events, and checks the status that it then shows.
    fn sent(&mut self, answers: Vec<(u64, Answer)>, scene: &mut Scene) -> Verdict {
        let now = self.now(scene);
        let core = &mut self.life().core;
        core.sent(answers.clone(), now);
        let status = core.status();
        if status.degraded {
            scene.count("degraded");
        }
        for (number, answer) in answers {
            let is_answered = match answer {
                Answer::Taken | Answer::Refused(_) => true,
                Answer::Later(_) | Answer::None => false,
                Answer::Unsent | Answer::Separately => continue,
            };
            scene.checker.agent(&self.site).sent(number, is_answered, status.degraded)?;
        }
        if status.recovering && self.planted == Some(Planted::RecoveryForgotten) {
            let max_jobs = self.settings.slots;
            let request = PullRequest { number: u64::MAX, max_jobs, wait: None, devices: None };
            return self.pull(request, scene);
        }
        Ok(())
    }

    fn pulled(&mut self, number: u64, result: Result<PulledWork, NoAnswer>, scene: &mut Scene) {
        let now = self.now(scene);
        self.life().core.pulled(number, result, now);
    }

    /// Sends events up to the first that the disk does not give back; none after that one may overtake it.
    fn send_readable(&mut self, numbers: &[u64], scene: &mut Scene) -> Verdict {
        let mut bodies = Vec::new();
        for number in numbers {
            match self.read(*number, scene)? {
                Some(body) => bodies.push(body),
                None => break,
            }
        }
        if self.life.is_none() {
            return Ok(());
        }
        let (readable, left) = numbers.split_at(bodies.len());
        if let Some(command) = self.understand(&bodies, scene)? {
            self.ask(Outgoing { command, wait: None, about: About::Events(readable.to_vec()) }, scene);
        }
        let unsent = [Answer::None].into_iter().chain(iter::repeat(Answer::Unsent));
        if left.is_empty() { Ok(()) } else { self.sent(left.iter().copied().zip(unsent).collect(), scene) }
    }

    /// The command that the server makes of events.
    fn understand(&self, bodies: &[Vec<u8>], scene: &Scene) -> Result<Option<Command>, Broken> {
        let meant = |body: &Vec<u8>| meant_report(&self.site.name, body);
        Ok(match bodies {
            [] => None,
            [body] => Some(wire::read_callback(body, &meant(body)?)?),
            bodies => {
                scene.count("reports sent together by an agent");
                let meant = bodies.iter().map(|body| Ok(WorkerMessage::Report(meant(body)?.into())));
                let meant: Vec<WorkerMessage> = meant.collect::<Result<_, Broken>>()?;
                Some(wire::read_batch(&write_callbacks(bodies), &meant)?)
            }
        })
    }

    fn ask(&mut self, Outgoing { command, wait, about }: Outgoing, scene: &mut Scene) {
        let ticket = self.site.ask(scene, command, wait);
        self.machine.plan(scene, patience(PATIENCE_MS, wait), Chore::GiveUp(ticket.exchange));
        let command = Rc::clone(&ticket.command);
        self.life().calls.insert(ticket, Request { at: scene.now, about, command });
    }
}

/// The answer to one event.
fn answer_to_one(result: Result<Reply, Rejection>) -> Result<Answer, Broken> {
    let response = wire::respond(result.map(Report::reply))?;
    Ok(match Answer::of(response.status, None) {
        Answer::Refused(refusal) => Answer::Refused(Refusal { detail: response.body.into(), ..refusal }),
        other => other,
    })
}

/// The answers to several events; something in front of the server may not know the address.
fn answers_to_batch(batch: &ReportBatch, result: Result<Reply, Rejection>) -> Result<Vec<Answer>, Broken> {
    let (status, body) = match result {
        Ok(reply) => (200, wire::respond_to_batch(batch, ReportBatch::reply(reply))?),
        Err(_) => (404, String::new()),
    };
    let response = BatchResponse { status, retry_after: None, body: body.as_bytes() };
    Ok(response.answers(batch.messages.len()))
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
