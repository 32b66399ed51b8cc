//! Contract Q as bytes, between clients or operators and the server: runs, schedules, devices and PCs.

use crate::{
    checker::{Broken, Verdict, ensure},
    message::{Answer, Request, Response, ServerView, respond as respond_json, respond_empty, stored},
    network::{Sender, Ticket},
    rpc,
    scene::Scene,
};
use http::StatusCode;
use muster_contract_operations::{
    LiveFacts, NewSecret, PcCounts, ScheduleState, SubmittedRun, phrase, read_cap, read_key, read_labels,
    read_note, read_schedule, read_submission, show_device, show_pc, show_state, show_warnings,
};
use muster_model::{
    Command, JobReply, Labels, Millis, Name, Rejection, Reply, ScheduleCommand, ScheduleDraft,
    ScheduleRejection, Scope, Submission, Timestamp,
};
use muster_problem::Problem;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Sends a request of a client or operator; `None` if it must be refused by its form, and is.
pub(crate) fn send(meant: &Command, scene: &mut Scene) -> Option<Ticket> {
    let command = if rpc::is_call(meant) { rpc::carry(meant, scene) } else { carry(meant, scene) };
    command.map(|command| scene.ask(Sender::Client, command, None))
}

/// Writes a request as a client does, and reads it as the server does.
fn carry(meant: &Command, scene: &mut Scene) -> Option<Command> {
    let attempt_timeout = scene.plan.settings.attempt_timeout;
    let read = parse(meant, &write(meant), attempt_timeout, scene.now);
    let meant = match &read {
        Ok(read) => settle(meant, read),
        Err(_) => meant.clone(),
    };
    let mistake = mistake(&meant, attempt_timeout);
    scene.read_request(&meant, read, mistake)
}

fn write(meant: &Command) -> Request {
    match meant {
        Command::Submit(run) => Request::json(&write_run(run)).with_key(run.key.as_ref()),
        Command::Schedules(ScheduleCommand::Create(draft)) => {
            let ScheduleDraft { cron, timezone, missed, run, .. } = &**draft;
            let body =
                json!({"cron": cron, "timezone": timezone, "missed": missed.as_str(), "run": write_run(run)});
            Request::json(&body).with_key(run.key.as_ref())
        }
        Command::Label { labels, .. } => Request::json(&json!({"labels": write_labels(labels)})),
        Command::ReturnToService { note: Some(note), .. } => Request::json(&json!({"note": note})),
        Command::SetCap { cap, .. } => Request::json(&json!({"max_devices": cap})),
        _ => Request::default(),
    }
}

/// A run with what is not the default, and now and then with what is.
fn write_run(run: &Submission) -> Value {
    let mut body = json!({"workflow_id": run.payload.workflow, "max_attempts": run.max_attempts});
    if run.queue.as_str() != "default" {
        body["queue"] = run.queue.as_str().into();
    }
    if let Some(title) = &run.payload.title {
        body["title"] = json!(title);
    }
    if let Some(timeout) = run.payload.timeout {
        body["timeoutMs"] = timeout.0.into();
    }
    let names = |names: &BTreeSet<Name>| names.iter().map(Name::to_string).collect::<Vec<_>>();
    match &run.scope {
        Scope::All => {}
        Scope::Workers(pcs) => body["scope"] = json!({"pcs": names(pcs)}),
        Scope::Devices(devices) => body["scope"] = json!({"devices": names(devices)}),
        Scope::Labels(labels) => body["scope"] = json!({"labels": write_labels(labels)}),
    }
    body
}

fn write_labels(labels: &Labels) -> Value {
    labels.iter().map(|(key, value)| (key.to_string(), Value::from(value.as_str()))).collect()
}

fn parse(
    meant: &Command,
    request: &Request,
    attempt_timeout: Millis,
    now: Timestamp,
) -> Result<Command, Problem> {
    Ok(match meant {
        Command::Submit(_) => {
            let run = read_submission(&request.value()?, attempt_timeout)?;
            Command::Submit(Box::new(Submission { key: read_key(&request.headers)?, ..run }))
        }
        Command::Schedules(ScheduleCommand::Create(_)) => {
            let mut draft = read_schedule(&request.value()?, attempt_timeout, now)?;
            draft.run.key = read_key(&request.headers)?;
            Command::Schedules(ScheduleCommand::Create(Box::new(draft)))
        }
        Command::Label { lane, .. } => {
            Command::Label { lane: lane.clone(), labels: read_labels(&request.value()?)? }
        }
        Command::ReturnToService { lane, .. } => {
            let note = read_note(request.opt_value()?.as_ref())?;
            Command::ReturnToService { lane: lane.clone(), note }
        }
        Command::SetCap { worker, .. } => {
            Command::SetCap { worker: worker.clone(), cap: read_cap(&request.value()?)? }
        }
        // The rest is in the path.
        other => other.clone(),
    })
}

/// A request as the server must understand it. The digest follows from the body.
fn settle(meant: &Command, read: &Command) -> Command {
    match (meant, read) {
        (Command::Submit(meant), Command::Submit(read)) => {
            Command::Submit(Box::new(Submission { digest: read.digest, ..(**meant).clone() }))
        }
        (
            Command::Schedules(ScheduleCommand::Create(meant)),
            Command::Schedules(ScheduleCommand::Create(read)),
        ) => {
            let run = Submission { digest: read.run.digest, ..meant.run.clone() };
            let draft = ScheduleDraft { run, ..(**meant).clone() };
            Command::Schedules(ScheduleCommand::Create(Box::new(draft)))
        }
        (meant, _) => meant.clone(),
    }
}

/// The field that cannot be taken, by the contract's limits.
fn mistake(meant: &Command, attempt_timeout: Millis) -> Option<&'static str> {
    match meant {
        Command::Submit(run) => mistake_of_run(run, attempt_timeout),
        Command::Schedules(ScheduleCommand::Create(draft)) => mistake_of_run(&draft.run, attempt_timeout),
        Command::SetCap { cap: Some(0), .. } => Some("max_devices"),
        _ => None,
    }
}

fn mistake_of_run(run: &Submission, attempt_timeout: Millis) -> Option<&'static str> {
    match &run.scope {
        _ if run.max_attempts.is_some_and(|attempts| attempts > ATTEMPTS_MAX) => Some("max_attempts"),
        Scope::Workers(pcs) if pcs.is_empty() => Some("scope.pcs"),
        _ if run.payload.timeout.is_some_and(|timeout| timeout > attempt_timeout) => Some("timeoutMs"),
        _ => None,
    }
}

/// Phrases the reply to a client or operator as the server does, and checks that it says what was decided.
pub(crate) fn respond(
    command: &Command,
    result: &Result<Reply, Rejection>,
    server: &ServerView<'_>,
) -> Result<Response, Broken> {
    let response = match result {
        Ok(reply) => phrase_reply(command, reply, server),
        Err(rejection) => Err(phrase(rejection)),
    };
    let response = response.unwrap_or_else(|problem| problem.to_http());
    let answer = Answer::read(&response)?;
    match result {
        Ok(reply) => check(command, reply, &answer, server)?,
        Err(rejection) => check_refusal(rejection, &answer)?,
    }
    Ok(response)
}

fn phrase_reply(command: &Command, reply: &Reply, server: &ServerView<'_>) -> Result<Response, Problem> {
    match (command, reply) {
        (Command::Submit(run), Reply::Job(JobReply { job, status })) => {
            let state = show_state(*job, *status);
            let grace = server.engine.settings().offline_grace;
            let warnings = show_warnings(&run.scope, &server.engine.strangers(&run.scope), grace);
            respond_json(StatusCode::CREATED, &SubmittedRun { state, warnings })
        }
        (_, Reply::Job(JobReply { job, status })) => respond_json(StatusCode::OK, &show_state(*job, *status)),
        (_, Reply::Schedule(record)) => respond_json(StatusCode::CREATED, &ScheduleState::from(&**record)),
        (Command::Schedules(_), _) => Ok(respond_empty(StatusCode::NO_CONTENT)),
        (Command::Label { lane, .. } | Command::ReturnToService { lane, .. }, _) => {
            respond_json(StatusCode::OK, &show_device(stored(server.reader.lane(lane))?))
        }
        (Command::RotateSecret { worker, hash }, _) => {
            // The world knows the hash of a secret only; it stands for the secret.
            let secret = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            let old_valid_until = (server.now + server.engine.settings().secret_overlap).0;
            respond_json(StatusCode::OK, &NewSecret { node_id: worker.to_string(), secret, old_valid_until })
        }
        (Command::Drain { worker } | Command::Resume { worker } | Command::SetCap { worker, .. }, _) => {
            respond_pc(worker, server)
        }
        (command, reply) => Err(Problem::internal(&format_args!("{reply:?} to {command:?}"))),
    }
}

fn respond_pc(worker: &Name, server: &ServerView<'_>) -> Result<Response, Problem> {
    let pc = stored(server.reader.worker(worker))?;
    let counts = PcCounts {
        worker: &pc.worker,
        device_count: pc.device_count,
        idle_count: pc.idle_count,
        error_count: pc.error_count,
        disconnected_count: pc.disconnected_count,
    };
    let supply = server.engine.supplies(std::slice::from_ref(worker)).pop();
    let live = LiveFacts { last_seen: None, supply, slots: server.engine.settings().slots };
    respond_json(StatusCode::OK, &show_pc(&counts, &live))
}

/// Checks that a response says what was decided, and shows what the ledger holds.
fn check(command: &Command, reply: &Reply, answer: &Answer, server: &ServerView<'_>) -> Verdict {
    match (command, reply) {
        (_, Reply::Job(JobReply { job, status })) => {
            let is_new = matches!(command, Command::Submit(_));
            let members = [("run_id", job.to_string().into()), ("status", status.as_str().into())];
            answer.expect(if is_new { 201 } else { 200 }, &members)?;
            check_warnings(command, answer)
        }
        (_, Reply::Schedule(record)) => {
            let next_at = json!(record.draft.next_at.map(|at| at.0));
            answer.expect(201, &[("schedule_id", record.id.to_string().into()), ("next_at", next_at)])
        }
        (Command::Schedules(_), _) => answer.expect(204, &[]),
        (Command::Label { lane, .. } | Command::ReturnToService { lane, .. }, _) => {
            check_device(lane, answer, server)
        }
        (Command::RotateSecret { worker, .. }, _) => {
            answer.expect(200, &[("node_id", worker.as_str().into())])
        }
        (Command::Drain { worker } | Command::Resume { worker } | Command::SetCap { worker, .. }, _) => {
            check_pc(worker, answer, server)
        }
        (command, reply) => ensure(false, "response_misphrased", || format!("{reply:?} to {command:?}")),
    }
}

/// A device that nobody has is named, whatever else is.
fn check_warnings(command: &Command, answer: &Answer) -> Verdict {
    let Command::Submit(run) = command else { return Ok(()) };
    let Scope::Devices(devices) = &run.scope else { return Ok(()) };
    let stranger = devices.iter().find(|device| device.as_str() == super::NO_DEVICE);
    let warnings = answer.body["warnings"].as_array();
    let warned =
        |device: &Name| warnings.is_some_and(|all| all.iter().any(|one| one["name"] == device.as_str()));
    ensure(stranger.is_none_or(warned), "response_misphrased", || format!("{answer:?} to {run:?}"))
}

fn check_device(lane: &Name, answer: &Answer, server: &ServerView<'_>) -> Verdict {
    answer.expect(200, &[("device_id", lane.as_str().into())])?;
    match server.checker.lane(lane).filter(|_| server.leads) {
        Some(lane) => answer.expect(
            200,
            &[
                ("pc_id", lane.worker.as_str().into()),
                ("status", lane.status.as_str().into()),
                ("labels", write_labels(&lane.labels)),
                ("note", json!(lane.note)),
            ],
        ),
        None => Ok(()),
    }
}

fn check_pc(worker: &Name, answer: &Answer, server: &ServerView<'_>) -> Verdict {
    answer.expect(200, &[("pc_id", worker.as_str().into())])?;
    let cap = |cap: Option<u32>| cap.unwrap_or(server.engine.settings().slots);
    match server.checker.worker(worker).filter(|_| server.leads) {
        Some(pc) => answer.expect(
            200,
            &[
                ("pc_status", pc.status.as_str().into()),
                ("max_devices", cap(pc.cap).into()),
                ("draining", pc.draining.into()),
            ],
        ),
        None => Ok(()),
    }
}

/// Checks the status of a refusal, written down once more to compare with, and that its text says why.
fn check_refusal(rejection: &Rejection, answer: &Answer) -> Verdict {
    let (status, says) = match rejection {
        Rejection::KeyConflict => (409, "Idempotency-Key"),
        Rejection::JobEnded { status } => (409, status.as_str()),
        Rejection::LaneInService => (409, "in service"),
        Rejection::Schedules(ScheduleRejection::TooMany { .. }) => (409, "delete one"),
        Rejection::Schedules(ScheduleRejection::Unknown) => (404, "schedule"),
        Rejection::JobUnknown => (404, "run"),
        Rejection::LaneUnknown => (404, "device"),
        Rejection::WorkerUnknown => (404, "PC"),
        _ => (409, ""),
    };
    answer.expect(status, &[])?;
    ensure(answer.text("detail").contains(says), "response_misphrased", || {
        format!("{answer:?} does not say {says:?}")
    })
}

/// Attempts that a run may have at most (Q15).
pub(crate) const ATTEMPTS_MAX: u16 = 100;
