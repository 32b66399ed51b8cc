//! Contract P as bytes. Each request is written by its sender and parsed by the server's own parser; each reply is phrased
//! with the server's own types and read by its receiver.
//!
//! A message must survive that: a server or a worker that reads something else than was said fails the world (`misread`).

use super::rig::key_of_text;
use crate::{checker::Broken, network::Ticket, scene::Scene};
use http::Response;
use muster_contract_pool::{
    Assignment, AssignmentListWriter, HeartbeatRequest, KeyRequest, Moment, ParsedSubmission, PollAnswer,
    PollRequest, Refusal, RegisterRequest, Registered, Seen, SubmitRequest, Submitted, SubmittedItem,
    UnverifiedResult, UnverifiedResults, WorkAnswer, WorkRequest, Worker, WorkerList, WorkerSummary,
    refusal::{NO_ASSIGNMENT, is_identical, problem_of},
    to_bytes,
};
use muster_model::{
    AssignmentId, Command, Fence, Millis, PoolCommand, PoolHandout, PoolRejection, PoolReply, PoolResult,
    PoolWork, PoolWorkReply, PoolWorkerId, PoolWorkerRecord, Rejection, Reply,
};
use muster_problem::Problem;
use muster_worker_kit::call::{Trouble, understand_whole};
use serde::Serialize;
use std::sync::Arc;

/// A command as the server parsed it, and how long it may wait.
pub(super) struct Parsed {
    pub(super) command: PoolCommand,
    pub(super) wait: Option<Millis>,
}

/// Writes the body of a worker's request.
pub(super) fn write(said: &PoolCommand, wait: Option<Millis>) -> Vec<u8> {
    let wait_ms = wait.map_or(0, |wait| wait.0.unsigned_abs());
    match said {
        PoolCommand::Register(who) => to_bytes(&RegisterRequest {
            name: who.name.clone(),
            region: who.region.clone(),
            specs_json: who.specs_json.as_deref().map(Into::into),
            public_key: who.public_key.clone(),
        }),
        PoolCommand::SetKey { public_key, .. } => to_bytes(&KeyRequest { public_key: public_key.clone() }),
        PoolCommand::Beat { worker, .. } => to_bytes(&HeartbeatRequest { worker_id: worker.0 }),
        PoolCommand::Poll { worker, start, .. } => {
            to_bytes(&PollRequest { worker_id: worker.0, wait_ms, start: *start, resume: false })
        }
        PoolCommand::Resume { worker, .. } => {
            to_bytes(&PollRequest { worker_id: worker.0, wait_ms, start: false, resume: true })
        }
        PoolCommand::HandIn { worker, result, .. } => to_bytes(&submission(*worker, result)),
        PoolCommand::Work(work) => {
            let submit = work.results.iter().map(|result| submission(work.worker, result)).collect();
            let (worker_id, start, batch_signature) = (work.worker.0, work.start, None);
            to_bytes(&WorkRequest { worker_id, submit, batch_signature, max: work.max, wait_ms, start })
        }
        // `patron::wire` writes the requests of people.
        PoolCommand::Submit(_)
        | PoolCommand::Cancel { .. }
        | PoolCommand::Drain { .. }
        | PoolCommand::Ban { .. }
        | PoolCommand::Unban { .. } => Vec::new(),
    }
}

/// Writes the body of a request that submits results under one signature, with the key that they name (P20).
pub(super) fn write_batch(work: &PoolWork) -> Vec<u8> {
    let request = WorkRequest {
        worker_id: work.worker.0,
        submit: work.results.iter().map(|result| unsigned(work.worker, result)).collect(),
        batch_signature: None,
        max: work.max,
        wait_ms: 0,
        start: work.start,
    };
    let key = work.results.first().and_then(|result| key_of_text(&result.public_key));
    to_bytes(&match key {
        Some(key) => request.signed(&key.pair),
        None => request,
    })
}

/// A result, signed with the key that it names.
fn submission(worker: PoolWorkerId, result: &PoolResult) -> SubmitRequest {
    let request = unsigned(worker, result);
    match key_of_text(&result.public_key) {
        Some(key) => request.signed(&key.pair),
        None => request,
    }
}

/// A result without a signature.
pub(super) fn unsigned(worker: PoolWorkerId, result: &PoolResult) -> SubmitRequest {
    let nonce = result.nonce.map_or_else(|| "no nonce of the server's".to_owned(), |nonce| nonce.to_string());
    SubmitRequest {
        worker_id: Some(worker.0),
        assignment_id: result.assignment.0,
        nonce: nonce.into(),
        signature: None,
        output: result.output.as_deref().map(Into::into),
        error_message: result.error.clone(),
        artifact_uri: result.artifact_uri.clone(),
        output_hash: result.output_hash.clone(),
        metrics_json: result.metrics.as_deref().map(Into::into),
    }
}

/// Parses the body of a worker's request as the server does, and compares it with what was said.
pub(super) fn parse(said: &PoolCommand, body: &[u8], scene: &mut Scene) -> Option<Parsed> {
    scene.understood(match parse_body(said, body) {
        Ok(parsed) if agrees(said, &parsed.command) => Ok(parsed),
        Ok(Parsed { command, .. }) => misread(format!("{said:?} was parsed as {command:?}")),
        Err(problem) => misread(format!("{said:?} was refused: {problem}")),
    })
}

fn parse_body(said: &PoolCommand, body: &[u8]) -> Result<Parsed, Problem> {
    let at_once = |command| Parsed { command, wait: None };
    let wait_of = |millis: u64| (millis > 0).then(|| Millis(millis.cast_signed()));
    Ok(match said {
        PoolCommand::Register(who) => {
            at_once(PoolCommand::Register(Box::new(RegisterRequest::parse(body, who.owner)?)))
        }
        PoolCommand::SetKey { worker, owner, .. } => {
            let KeyRequest { public_key } = KeyRequest::parse(body)?;
            at_once(PoolCommand::SetKey { worker: *worker, owner: *owner, public_key })
        }
        PoolCommand::Beat { owner, .. } => {
            at_once(PoolCommand::Beat { worker: HeartbeatRequest::parse(body)?, owner: *owner })
        }
        PoolCommand::Poll { owner, .. } | PoolCommand::Resume { owner, .. } => {
            let poll = PollRequest::parse(body)?;
            let (worker, owner, start) = (poll.worker(), *owner, poll.start);
            if poll.resume {
                at_once(PoolCommand::Resume { worker, owner })
            } else {
                let command = PoolCommand::Poll { worker, owner, start, supply: true };
                Parsed { command, wait: wait_of(poll.wait_ms) }
            }
        }
        PoolCommand::HandIn { owner, result, .. } => {
            let ParsedSubmission { worker, result: parsed } = SubmitRequest::parse(body)?;
            let result = verify(parsed, &result.public_key)?;
            at_once(PoolCommand::HandIn { worker, owner: *owner, result })
        }
        PoolCommand::Work(work) => {
            let parsed = WorkRequest::parse(body)?;
            let results = verify_all(parsed.results, work)?;
            let wait = wait_of(u64::try_from(parsed.wait.as_millis()).unwrap_or(u64::MAX));
            let command = PoolCommand::Work(Box::new(PoolWork {
                worker: parsed.worker,
                owner: work.owner,
                results,
                max: parsed.max,
                start: parsed.start,
                supply: parsed.max > 0,
            }));
            Parsed { command, wait }
        }
        other => at_once(other.clone()),
    })
}

/// Checks the signatures of a call: one for each result, or one for all (P20).
fn verify_all(results: UnverifiedResults, said: &PoolWork) -> Result<Vec<Arc<PoolResult>>, Refusal> {
    let mut keys = said.results.iter().map(|result| &*result.public_key);
    match results {
        UnverifiedResults::Single(results) => {
            results.into_iter().zip(keys).map(|(result, key)| verify(result, key)).collect()
        }
        UnverifiedResults::Batch(batch) => {
            let key = keys.next().and_then(key_of_text).ok_or(Refusal::bad("a key that nobody made"))?;
            batch.verify(&key.public, &key.text).into_iter().map(|verdict| verdict.map(Arc::new)).collect()
        }
    }
}

/// Checks a signature with the key that the server looked up: the sender's. Whether it is still the worker's is the
/// engine's to say.
fn verify(result: UnverifiedResult, public_key: &str) -> Result<Arc<PoolResult>, Refusal> {
    let key = key_of_text(public_key).ok_or(Refusal::bad("a key that nobody made"))?;
    result.verify(&key.public, key.text.clone()).map(Arc::new)
}

/// True if a command means what was said; signature, place in a batch and digest exist on the wire only.
fn agrees(said: &PoolCommand, parsed: &PoolCommand) -> bool {
    let same = |said: &PoolResult, parsed: &PoolResult| {
        let signature = said.signature.clone();
        PoolResult { signature, digest: said.digest, batch: None, ..parsed.clone() } == *said
    };
    match (said, parsed) {
        (
            PoolCommand::HandIn { worker, result, .. },
            PoolCommand::HandIn { worker: other, result: parsed, .. },
        ) => worker == other && same(result, parsed),
        (PoolCommand::Work(said), PoolCommand::Work(parsed)) => {
            let results = said.results.iter().zip(&parsed.results);
            (said.worker, said.max, said.start, said.results.len())
                == (parsed.worker, parsed.max, parsed.start, parsed.results.len())
                && results.into_iter().all(|(said, parsed)| same(said, parsed))
        }
        (said, parsed) => format!("{said:?}") == format!("{parsed:?}"),
    }
}

/// Response as a worker reads it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Worker(PoolWorkerId),
    Assignments(Vec<PoolHandout>),
    Submitted(AssignmentId),
    Worked { results: Vec<Result<(), Refused>>, assignments: Vec<PoolHandout> },
    Seen,
    Refused(Refused),
}

/// A refusal as a worker reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: u16,
    pub(super) detail: String,
    pub(super) identical: bool,
}

/// Phrases the reply to a request as the server does; `None` where the server says nothing of the pool.
pub(super) fn respond(command: &Command, result: &Result<Reply, Rejection>) -> Option<Response<Vec<u8>>> {
    let Command::Pool(command) = command else { return None };
    match result {
        Ok(Reply::Pool(reply)) => Some(phrase(command, reply.clone())),
        Err(rejection @ Rejection::Pool(_)) => Some(problem_of(rejection).to_http()),
        _ => None,
    }
}

fn phrase(command: &PoolCommand, reply: PoolReply) -> Response<Vec<u8>> {
    match (command, reply) {
        (PoolCommand::Register(_), PoolReply::Worker(row)) => json(&Registered::of(*row)),
        (_, PoolReply::Worker(row)) => json(&Worker::of(*row, None)),
        (PoolCommand::Beat { worker, .. }, PoolReply::Seen { at }) => {
            json(&Seen { worker_id: worker.0, last_seen_at: Moment(at) })
        }
        (_, PoolReply::Assignment(Some(handout))) => json(&assignment(&handout)),
        (_, PoolReply::Assignment(None)) => Problem::from(NO_ASSIGNMENT).to_http(),
        (_, PoolReply::Assignments(handouts)) => list(None, &handouts),
        (_, PoolReply::Taken(taken)) => json(&Submitted::of(&taken)),
        (PoolCommand::Work(work), PoolReply::Worked(PoolWorkReply { results, assignments })) => {
            let submitted = work.results.iter().zip(&results);
            let submitted: Vec<SubmittedItem> =
                submitted.map(|(result, decided)| SubmittedItem::of(result.assignment.0, decided)).collect();
            list(Some(&submitted), &assignments)
        }
        (command, reply) => Problem::internal(&format_args!("{reply:?} to {command:?}")).to_http(),
    }
}

fn list(submitted: Option<&[SubmittedItem]>, handouts: &[PoolHandout]) -> Response<Vec<u8>> {
    let mut text = Vec::new();
    let mut writer = AssignmentListWriter::begin(submitted, &mut text).expect("an answer is JSON");
    for handout in handouts {
        writer.push(&assignment(handout), &mut text).expect("a payload is JSON");
    }
    AssignmentListWriter::end(&mut text);
    Response::new(text)
}

/// An owner's workers, phrased as the server does and read as a worker does (P4).
pub(super) fn list_workers<'a>(rows: impl Iterator<Item = &'a PoolWorkerRecord>) -> Vec<WorkerSummary> {
    let workers = rows.map(|row| Worker::of(row.clone(), None)).collect();
    let list = to_bytes(&WorkerList { workers, next: None });
    WorkerSummary::read_list(&list, false).expect("a worker reads what a server writes")
}

/// Reads a response as a worker does, and compares it with the reply it was made from.
pub(super) fn hear(ticket: &Ticket, result: &Result<Reply, Rejection>, scene: &mut Scene) -> Option<Answer> {
    let Command::Pool(command) = &*ticket.command else { return None };
    let response = respond(&ticket.command, result)?;
    scene.understood(match read(command, &response) {
        Ok(answer) if answer_agrees(command, &answer, result) => Ok(answer),
        other => {
            let body = String::from_utf8_lossy(response.body());
            misread(format!("{result:?} was read as {other:?} in {body}"))
        }
    })
}

fn read(command: &PoolCommand, response: &Response<Vec<u8>>) -> Result<Answer, String> {
    let identical = is_identical(response.status(), response.headers());
    let body = match understand_whole(response.status(), response.headers(), response.body().clone()) {
        Ok(body) => body,
        Err(Trouble::Refused(refusal)) => {
            let (status, detail) = (refusal.status, String::from(&*refusal.detail));
            return Ok(Answer::Refused(Refused { status, detail, identical }));
        }
        Err(trouble) => return Err(format!("{trouble:?}")),
    };
    let text = |error: muster_contract_pool::ReadError| error.to_string();
    match command {
        PoolCommand::Register(_) | PoolCommand::SetKey { .. } => {
            let worker = WorkerSummary::read(&body, false).map_err(text)?;
            Ok(Answer::Worker(PoolWorkerId(worker.id)))
        }
        PoolCommand::Beat { .. } => {
            let seen = Seen::read(&body, false).map_err(text)?;
            seen.map(|_| Answer::Seen).ok_or_else(|| "a heartbeat without its time".to_owned())
        }
        PoolCommand::Poll { .. } | PoolCommand::Resume { .. } => {
            let assignments = match PollAnswer::read(&body).map_err(text)? {
                PollAnswer::One(one) => vec![one],
                PollAnswer::Started(list) => list.assignments,
            };
            Ok(Answer::Assignments(handouts(&assignments)?))
        }
        PoolCommand::HandIn { .. } => {
            Submitted::read_assignment(&body).map(|id| Answer::Submitted(AssignmentId(id))).map_err(text)
        }
        PoolCommand::Work(_) => {
            let WorkAnswer { submitted, assignments } = WorkAnswer::read(&body).map_err(text)?;
            let results = submitted.into_iter().map(|item| match item {
                SubmittedItem::Taken(_) => Ok(()),
                SubmittedItem::Refused { error, code, identical, .. } => {
                    Err(Refused { status: code, detail: error.into_owned(), identical })
                }
            });
            Ok(Answer::Worked { results: results.collect(), assignments: handouts(&assignments)? })
        }
        other => Err(format!("no worker asks {other:?}")),
    }
}

/// True if an answer means what the engine decided.
fn answer_agrees(command: &PoolCommand, answer: &Answer, result: &Result<Reply, Rejection>) -> bool {
    let rejected = |refused: &Refused, rejection: &PoolRejection| {
        let identical = *rejection == PoolRejection::AlreadySubmitted { identical: true };
        refused.status == status_of(rejection) && refused.identical == identical
    };
    match (answer, result) {
        (Answer::Refused(refused), Err(Rejection::Pool(rejection))) => rejected(refused, rejection),
        (Answer::Refused(refused), Ok(Reply::Pool(PoolReply::Assignment(None)))) => refused.status == 404,
        (answer, Ok(Reply::Pool(reply))) => match (answer, reply) {
            (Answer::Worker(id), PoolReply::Worker(row)) => *id == row.id,
            (Answer::Assignments(read), PoolReply::Assignment(handout)) => *read == handout.as_slice(),
            (Answer::Assignments(read), PoolReply::Assignments(handouts)) => read == handouts,
            (Answer::Submitted(id), PoolReply::Taken(taken)) => {
                *id == taken.assignment && matches!(command, PoolCommand::HandIn { .. })
            }
            (Answer::Worked { results, assignments }, PoolReply::Worked(reply)) => {
                let mut pairs = results.iter().zip(&reply.results);
                assignments == &reply.assignments
                    && results.len() == reply.results.len()
                    && pairs.all(|pair| match pair {
                        (Ok(()), Ok(_)) => true,
                        (Err(refused), Err(rejection)) => rejected(refused, rejection),
                        _ => false,
                    })
            }
            (Answer::Seen, PoolReply::Seen { .. }) => true,
            _ => false,
        },
        _ => false,
    }
}

/// The status that contract P has for a refusal to a worker: the kind of mistake.
pub(super) const fn status_of(rejection: &PoolRejection) -> u16 {
    match rejection {
        PoolRejection::WorkerUnknown | PoolRejection::AssignmentUnknown | PoolRejection::JobUnknown => 404,
        PoolRejection::NonceInvalid
        | PoolRejection::KeyReplaced
        | PoolRejection::OutputRequired
        | PoolRejection::HashMismatch => 400,
        PoolRejection::NameTaken
        | PoolRejection::AlreadySubmitted { .. }
        | PoolRejection::NotSubmittable
        | PoolRejection::JobFinished
        | PoolRejection::KeyConflict
        | PoolRejection::IdsExhausted => 409,
        PoolRejection::TooManyWaiting { .. }
        | PoolRejection::TooManyWorkers { .. }
        | PoolRejection::TooManyDemands { .. } => 429,
    }
}

fn assignment(handout: &PoolHandout) -> Assignment {
    Assignment::of(handout, PAYLOAD.into())
}

fn handouts(assignments: &[Assignment]) -> Result<Vec<PoolHandout>, String> {
    let handout = |read: &Assignment| {
        let fence = fence_of(&read.nonce).ok_or_else(|| format!("the nonce {:?}", read.nonce))?;
        let (assignment, priority) = (AssignmentId(read.assignment_id), read.cost_hint_tokens);
        Ok(PoolHandout { assignment, fence, priority })
    };
    assignments.iter().map(handout).collect()
}

/// The fence of a nonce.
pub(super) fn fence_of(nonce: &str) -> Option<Fence> {
    u128::from_str_radix(nonce, 16).ok().map(Fence)
}

fn misread<T>(detail: String) -> Result<T, Broken> {
    Err(Broken::new("misread", detail))
}

fn json(body: &impl Serialize) -> Response<Vec<u8>> {
    Response::new(to_bytes(body))
}

/// The payload of every job.
pub(super) const PAYLOAD: &str = r#"{"n": 1.50}"#;
