//! Contract S as bytes, between clients or operators and the server: sessions, workers, ids and the quarantine.

use crate::{
    checker::{Broken, Verdict, ensure},
    farm::wire::status,
    message::{Answer, Request, Response, ServerView, respond as respond_json, stored},
    network::{Sender, Ticket},
    scene::Scene,
};
use http::StatusCode;
use muster_contract_simulation::{
    AssignResponse, BroadcastResponse, Chunk, QuarantineEntry, Session, WorkerDetail, WorkerState,
    for_operator, phrase, read_assignment, read_broadcast, read_note, read_reason, read_retry, read_session,
};
use muster_model::{
    Command, FrameCommand, FrameQuery, FrameRejection, FrameReply, FrameView, Name, Rejection, RendererState,
    Reply, RetryRequest, SessionId, SessionReply, SessionSubmission, Steering, ask::frames::Assign,
};
use muster_problem::Problem;
use serde_json::{Value, json};

/// Sends a request of a client or operator; `None` if it must be refused by its form, and is.
pub(super) fn send(meant: &FrameCommand, scene: &mut Scene) -> Option<Ticket> {
    let read = parse(meant, &write(meant));
    let meant = match &read {
        Ok(read) => settle(meant, read),
        Err(_) => meant.clone(),
    };
    let command = scene.read_request(&meant, read, mistake(&meant))?;
    Some(scene.ask(Sender::Client, Command::Frames(command), None))
}

fn write(meant: &FrameCommand) -> Request {
    match meant {
        FrameCommand::Submit(session) => Request::json(&write_session(session)),
        FrameCommand::Broadcast { pause } => {
            Request::json(&json!({"command": if *pause { "PauseAll" } else { "ResumeAll" }}))
        }
        FrameCommand::Assign { task, worker } => {
            Request::json(&json!({"taskId": task.to_string(), "workerId": worker.as_str()}))
        }
        FrameCommand::Quarantine { reason, .. }
        | FrameCommand::Approve { reason, .. }
        | FrameCommand::RetireChunk { reason, .. } => Request::json(&json!({"reason": reason})),
        FrameCommand::Confirm { note, .. } => Request::json(&json!({"note": note})),
        FrameCommand::Retry(request) => match &request.frames {
            Some(ranges) => {
                let ranges: Vec<[u64; 2]> = ranges.iter().map(|range| [range.start, range.end]).collect();
                Request::json(&json!({"frames": ranges}))
            }
            None => Request::default(),
        },
        _ => Request::default(),
    }
}

/// A session; some clients say what goes without saying. Whatever makes it another body without another meaning is its digest.
fn write_session(session: &SessionSubmission) -> Value {
    let mut body = json!({
        "sessionId": session.session.as_str(),
        "totalFrames": session.total_frames,
        "framesPerTask": session.frames_per_task,
        "scenario": {"take": session.digest.0.to_string()},
    });
    let is_wordy = session.total_frames.is_multiple_of(2);
    match session.strict {
        false => body["qualityMode"] = "relaxed".into(),
        true if is_wordy => body["qualityMode"] = "strict".into(),
        true => {}
    }
    if is_wordy {
        body["outputDirectory"] = json!(session.output);
    }
    body
}

fn parse(meant: &FrameCommand, request: &Request) -> Result<FrameCommand, Problem> {
    Ok(match meant {
        FrameCommand::Submit(_) => {
            let session = read_session(&request.value()?, &String::from_utf8_lossy(&request.body))?;
            FrameCommand::Submit(Box::new(session))
        }
        FrameCommand::Broadcast { .. } => {
            FrameCommand::Broadcast { pause: read_broadcast(&request.value()?)?.paused }
        }
        FrameCommand::Assign { .. } => {
            let Assign { task, worker } = read_assignment(&request.value()?)?;
            FrameCommand::Assign { task, worker }
        }
        FrameCommand::Quarantine { worker, .. } => {
            FrameCommand::Quarantine { worker: worker.clone(), reason: read_reason(&request.value()?)? }
        }
        FrameCommand::Approve { worker, .. } => {
            FrameCommand::Approve { worker: worker.clone(), reason: read_reason(&request.value()?)? }
        }
        FrameCommand::RetireChunk { chunk, task, .. } => {
            let reason = read_reason(&request.value()?)?;
            FrameCommand::RetireChunk { chunk: *chunk, task: task.clone(), reason }
        }
        FrameCommand::Confirm { record, .. } => {
            FrameCommand::Confirm { record: record.clone(), note: read_note(&request.value()?)? }
        }
        FrameCommand::Retry(meant) => {
            let frames = read_retry(request.opt_value()?.as_ref())?;
            FrameCommand::Retry(Box::new(RetryRequest { frames, ..(**meant).clone() }))
        }
        // The rest is in the path.
        other => other.clone(),
    })
}

/// A request as the server must understand it. The digest follows from the body, which is kept.
fn settle(meant: &FrameCommand, read: &FrameCommand) -> FrameCommand {
    match (meant, read) {
        (FrameCommand::Submit(meant), FrameCommand::Submit(read)) => {
            let (digest, body) = (read.digest, read.body.clone());
            FrameCommand::Submit(Box::new(SessionSubmission { digest, body, ..(**meant).clone() }))
        }
        (meant, _) => meant.clone(),
    }
}

/// The field that cannot be taken, by the contract's limits.
fn mistake(meant: &FrameCommand) -> Option<&'static str> {
    match meant {
        FrameCommand::Submit(session) if session.total_frames > FRAMES_MAX => Some("totalFrames"),
        FrameCommand::Quarantine { reason, .. } if reason.trim().is_empty() => Some("reason"),
        _ => None,
    }
}

/// Phrases the reply to a client or operator as the server does, and checks that it says what was decided.
pub(crate) fn respond(
    command: &FrameCommand,
    result: &Result<Reply, Rejection>,
    server: &ServerView<'_>,
) -> Result<Response, Broken> {
    let response = match result {
        Ok(reply) => phrase_reply(command, reply, server),
        Err(rejection) if is_about_worker(command) => Err(for_operator(phrase(rejection))),
        Err(rejection) => Err(phrase(rejection)),
    };
    let response = response.unwrap_or_else(|problem| problem.to_http());
    let answer = Answer::read(&response)?;
    match result {
        Ok(reply) => check(command, reply, &answer, server)?,
        // A worker that was removed is gone for itself; for an operator that does not fit the state of things.
        Err(Rejection::Frames(FrameRejection::Removed)) => answer.expect(409, &[])?,
        Err(Rejection::Frames(rejection)) => answer.expect(status(rejection), &[])?,
        Err(other) => return Err(Broken::new("answer_of_another_contract", format!("{other:?}"))),
    }
    Ok(response)
}

fn is_about_worker(command: &FrameCommand) -> bool {
    use FrameCommand::{Approve, Assign, Quarantine, Remove};
    matches!(command, Approve { .. } | Assign { .. } | Quarantine { .. } | Remove { .. })
}

fn phrase_reply(command: &FrameCommand, reply: &Reply, server: &ServerView<'_>) -> Result<Response, Problem> {
    let ok = StatusCode::OK;
    match (command, reply) {
        (
            FrameCommand::Submit(session),
            Reply::Frames(FrameReply::Session(SessionReply { repeated, .. })),
        ) => {
            let status = if *repeated { ok } else { StatusCode::CREATED };
            respond_json(status, &show(&session.session, server)?)
        }
        (FrameCommand::Steer { session, .. }, _) => respond_json(ok, &show(session, server)?),
        (FrameCommand::Retry(request), _) => respond_json(ok, &show(&request.session, server)?),
        (FrameCommand::Broadcast { pause }, _) => {
            let command = if *pause { "PauseAll" } else { "ResumeAll" };
            respond_json(ok, &BroadcastResponse { command, paused: *pause })
        }
        (FrameCommand::Approve { worker, .. } | FrameCommand::Quarantine { worker, .. }, _) => {
            respond_json(ok, &detail(worker, server)?)
        }
        (FrameCommand::Remove { worker, .. }, _) => {
            let state = RendererState::Removed.as_str();
            respond_json(ok, &WorkerState { worker_id: worker.to_string(), state })
        }
        (FrameCommand::Assign { task, worker }, _) => {
            respond_json(ok, &AssignResponse { task_id: task.to_string(), worker_id: worker.to_string() })
        }
        (FrameCommand::RetireChunk { chunk, .. }, _) => {
            respond_json(ok, &Chunk::from(stored(server.reader.chunk(*chunk))?))
        }
        (FrameCommand::Confirm { record, note }, _) => {
            respond_json(ok, &QuarantineEntry::confirmed((**record).clone(), note.clone()))
        }
        (command, reply) => Err(Problem::internal(&format_args!("{reply:?} to {command:?}"))),
    }
}

fn show(session: &SessionId, server: &ServerView<'_>) -> Result<Session, Problem> {
    stored(server.reader.session(session)).map(Session::from)
}

fn detail(worker: &Name, server: &ServerView<'_>) -> Result<WorkerDetail, Problem> {
    let record = stored(server.reader.renderer(worker))?;
    let transitions = server.reader.transitions(worker, TRANSITIONS_MAX);
    let transitions = transitions.map_err(|error| Problem::internal(&error))?;
    let view = match server.engine.frame_view(&FrameQuery::Renderers(vec![worker.clone()]), server.now) {
        FrameView::Renderers(views) => views.into_iter().next(),
        _ => None,
    };
    Ok(WorkerDetail::new(&record, view.as_ref(), transitions))
}

/// Checks that a response says what was decided, and shows what the ledger holds.
fn check(command: &FrameCommand, reply: &Reply, answer: &Answer, server: &ServerView<'_>) -> Verdict {
    match (command, reply) {
        (
            FrameCommand::Submit(session),
            Reply::Frames(FrameReply::Session(SessionReply { repeated, .. })),
        ) => {
            answer.expect(if *repeated { 200 } else { 201 }, &[])?;
            check_submitted(session, answer)?;
            check_session(&session.session, answer, server)
        }
        (FrameCommand::Steer { session, to }, _) => {
            let is_cancelled = answer.body["status"] == "cancelled";
            ensure(*to != Steering::Cancel || is_cancelled, "response_misphrased", || format!("{answer:?}"))?;
            check_session(session, answer, server)
        }
        (FrameCommand::Retry(request), _) => check_session(&request.session, answer, server),
        (FrameCommand::Broadcast { pause }, _) => answer.expect(200, &[("paused", (*pause).into())]),
        (FrameCommand::Approve { worker, .. } | FrameCommand::Quarantine { worker, .. }, _) => {
            answer.expect(200, &[("workerId", worker.as_str().into())])
        }
        (FrameCommand::Remove { worker, .. }, _) => {
            answer.expect(200, &[("workerId", worker.as_str().into()), ("state", "Removed".into())])
        }
        (FrameCommand::Assign { task, worker }, _) => {
            answer.expect(200, &[("taskId", task.to_string().into()), ("workerId", worker.as_str().into())])
        }
        (FrameCommand::RetireChunk { chunk, .. }, _) => {
            answer.expect(200, &[("chunkId", (*chunk).into()), ("state", "retired".into())])
        }
        (FrameCommand::Confirm { record, note }, _) => {
            let id = record.id.to_string();
            answer.expect(200, &[("id", id.into()), ("confirmed", true.into()), ("note", json!(note))])
        }
        (command, reply) => ensure(false, "response_misphrased", || format!("{reply:?} to {command:?}")),
    }
}

/// A session is shown as it was submitted.
fn check_submitted(session: &SessionSubmission, answer: &Answer) -> Verdict {
    let quality = if session.strict { "strict" } else { "relaxed" };
    let members = [
        ("sessionId", session.session.as_str().into()),
        ("totalFrames", session.total_frames.into()),
        ("framesPerTask", session.frames_per_task.into()),
        ("qualityMode", quality.into()),
        ("outputDirectory", json!(session.output)),
    ];
    answer.expect(answer.status, &members)
}

/// A session is shown as the ledger has it.
fn check_session(session: &SessionId, answer: &Answer, server: &ServerView<'_>) -> Verdict {
    answer.expect(answer.status, &[("sessionId", session.as_str().into())])?;
    match server.checker.frames.session(session).filter(|_| server.leads) {
        Some(record) => {
            let is_whole = record.status.as_str() == "completed" && record.failed_frames == 0;
            let members = [
                ("status", record.status.as_str().into()),
                ("completedFrames", record.completed_frames.into()),
                ("skippedFrames", record.failed_frames.into()),
                ("complete", is_whole.into()),
            ];
            answer.expect(answer.status, &members)
        }
        None => Ok(()),
    }
}

/// Frames that a session may have at most (S26).
pub(super) const FRAMES_MAX: u64 = 10_000_000;
const TRANSITIONS_MAX: u32 = 100;
