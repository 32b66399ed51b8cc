//! Contract P as bytes, between clients, owners or admins and the server: jobs, and what people do to workers.

use crate::{
    checker::{Broken, Verdict, ensure},
    message::{Answer, Request, Response, ServerView, respond as respond_json, stored},
    network::{Sender, Ticket},
    pool::wire::status_of,
    scene::Scene,
};
use http::StatusCode;
use muster_contract_pool::{
    BatchAnswer, BatchRequest, Job, JobRequest, ReasonRequest, Worker, read_idempotency_key, read_job_id,
    read_worker_id, refusal::problem_of, to_bytes,
};
use muster_model::{
    Command, Millis, PoolCommand, PoolJobDraft, PoolRejection, PoolReply, PoolSubmission,
    PoolSubmissionReply, PoolWorkerId, Rejection, Reply,
};
use muster_problem::Problem;
use serde_json::{Value, json};
use std::sync::Arc;

/// Sends a request of a client, an owner or an admin; `None` if it must be refused by its form, and is.
pub(super) fn send(meant: &PoolCommand, scene: &mut Scene) -> Option<Ticket> {
    let read = parse(meant, &write(meant));
    let meant = match &read {
        Ok(read) => settle(meant, read),
        Err(_) => meant.clone(),
    };
    let command = scene.read_request(&meant, read, mistake(&meant))?;
    Some(scene.ask(Sender::Client, Command::Pool(command), None))
}

fn write(meant: &PoolCommand) -> Request {
    let bytes = |body| Request { body, ..Request::default() };
    match meant {
        PoolCommand::Submit(submission) => {
            let body = match &*submission.jobs {
                [job] => to_bytes(&job_request(job)),
                jobs => to_bytes(&BatchRequest { jobs: jobs.iter().map(job_request).collect() }),
            };
            bytes(body).with_key(submission.key.as_ref())
        }
        PoolCommand::Ban { reason, .. } | PoolCommand::Unban { reason, .. } => {
            bytes(to_bytes(&ReasonRequest { reason: reason.clone() }))
        }
        _ => Request::default(),
    }
}

fn job_request(job: &PoolJobDraft) -> JobRequest {
    #[allow(clippy::cast_precision_loss, reason = "whole seconds, at most an hour")]
    let seconds = |limit: Millis| limit.0 as f64 / 1000.0;
    JobRequest {
        payload: Arc::clone(&job.payload).into(),
        priority: job.priority,
        region: job.demand.region.clone(),
        requires: job.requires_json.as_deref().map(Into::into),
        max_attempts: job.max_attempts,
        timeout_s: job.timeout.map(seconds),
        verify_output_hash: job.verify_output_hash,
        redundancy: (job.redundancy > 1).then_some(job.redundancy),
    }
}

fn parse(meant: &PoolCommand, request: &Request) -> Result<PoolCommand, Problem> {
    let worker_in_path = |worker: &PoolWorkerId| read_worker_id(&worker.to_string());
    Ok(match meant {
        PoolCommand::Submit(meant) => {
            let parsed = match &*meant.jobs {
                [_] => JobRequest::parse(&request.body, meant.client)?,
                _ => BatchRequest::parse(&request.body, meant.client, usize::MAX)?,
            };
            let key = read_idempotency_key(&request.headers)?;
            PoolCommand::Submit(Box::new(PoolSubmission { key, ..parsed }))
        }
        PoolCommand::Cancel { job, client } => {
            PoolCommand::Cancel { job: read_job_id(&job.to_string())?, client: *client }
        }
        PoolCommand::Drain { worker, owner, draining } => {
            PoolCommand::Drain { worker: worker_in_path(worker)?, owner: *owner, draining: *draining }
        }
        PoolCommand::Ban { worker, .. } => {
            let ReasonRequest { reason } = ReasonRequest::parse(&request.body)?;
            PoolCommand::Ban { worker: worker_in_path(worker)?, reason }
        }
        PoolCommand::Unban { worker, .. } => {
            let ReasonRequest { reason } = ReasonRequest::parse(&request.body)?;
            PoolCommand::Unban { worker: worker_in_path(worker)?, reason }
        }
        other => other.clone(),
    })
}

/// A request as the server must understand it. The digest follows from the body.
fn settle(meant: &PoolCommand, read: &PoolCommand) -> PoolCommand {
    match (meant, read) {
        (PoolCommand::Submit(meant), PoolCommand::Submit(read)) => {
            PoolCommand::Submit(Box::new(PoolSubmission { digest: read.digest, ..(**meant).clone() }))
        }
        (meant, _) => meant.clone(),
    }
}

/// The field that cannot be taken, by the contract's limits.
fn mistake(meant: &PoolCommand) -> Option<&'static str> {
    match meant {
        PoolCommand::Submit(submission) => {
            submission.jobs.iter().any(|job| job.priority > PRIORITY_MAX).then_some("priority")
        }
        PoolCommand::Ban { reason, .. } => reason.is_empty().then_some("reason"),
        _ => None,
    }
}

/// Phrases the reply to a client, an owner or an admin as the server does, and checks that it says what was decided.
pub(crate) fn respond(
    command: &PoolCommand,
    result: &Result<Reply, Rejection>,
    server: &ServerView<'_>,
) -> Result<Response, Broken> {
    let response = match result {
        Ok(reply) => phrase_reply(command, reply, server),
        Err(rejection) => Err(problem_of(rejection)),
    };
    let response = response.unwrap_or_else(|problem| problem.to_http());
    let answer = Answer::read(&response)?;
    match result {
        Ok(reply) => check(command, reply, &answer, server)?,
        Err(Rejection::Pool(rejection)) => check_refusal(rejection, &answer)?,
        Err(other) => return Err(Broken::new("answer_of_another_contract", format!("{other:?}"))),
    }
    Ok(response)
}

fn phrase_reply(command: &PoolCommand, reply: &Reply, server: &ServerView<'_>) -> Result<Response, Problem> {
    match (command, reply) {
        (PoolCommand::Submit(submission), Reply::Pool(PoolReply::Submitted(taken))) => {
            match &*submission.jobs {
                [draft] => respond_json(StatusCode::CREATED, &created(draft, taken, server)?),
                _ => respond_json(StatusCode::CREATED, &BatchAnswer::of(taken)),
            }
        }
        (PoolCommand::Cancel { job, .. }, _) => {
            let view = stored(server.reader.pool_job(*job))?;
            let status = view.status();
            let result = view.result.and_then(|assignment| assignment.result);
            respond_json(StatusCode::OK, &Job::of(view.job, status, view.end, result.as_deref()))
        }
        (_, Reply::Pool(PoolReply::Worker(row))) => {
            let row = stored(server.reader.pool_worker(row.id))?;
            respond_json(StatusCode::OK, &Worker::of(row, None))
        }
        (command, reply) => Err(Problem::internal(&format_args!("{reply:?} to {command:?}"))),
    }
}

/// A job as it was taken, now or before.
fn created(
    draft: &PoolJobDraft,
    taken: &PoolSubmissionReply,
    server: &ServerView<'_>,
) -> Result<Job, Problem> {
    if !taken.repeated {
        return Ok(Job::created(taken.first, draft.clone(), taken.at));
    }
    let job = stored(server.reader.pool_job(taken.first))?.job;
    Ok(Job::created(job.id, job.draft, job.created_at))
}

/// Checks that a response says what was decided, and shows what the ledger holds.
fn check(command: &PoolCommand, reply: &Reply, answer: &Answer, server: &ServerView<'_>) -> Verdict {
    match (command, reply) {
        (PoolCommand::Submit(submission), Reply::Pool(PoolReply::Submitted(taken))) => {
            let ids: Vec<u64> = (0..u64::from(taken.count)).map(|n| taken.first.0 + n).collect();
            answer.expect(201, &[])?;
            ensure(ids_of(answer) == ids, "response_misphrased", || format!("{answer:?} to {taken:?}"))?;
            match &*submission.jobs {
                [draft] => check_created(draft, answer),
                _ => Ok(()),
            }
        }
        (PoolCommand::Cancel { job, .. }, _) => {
            answer.expect(200, &[("id", job.0.into()), ("status", "cancelled".into())])
        }
        (_, Reply::Pool(PoolReply::Worker(row))) => {
            answer.expect(200, &[("id", row.id.0.into()), ("owner_user_id", row.owner.0.into())])?;
            let known = server.checker.pool.workers().find(|known| known.id == row.id);
            match known.filter(|_| server.leads) {
                Some(known) => {
                    let (draining, reason) = (known.draining.into(), json!(known.ban_reason));
                    answer.expect(200, &[("draining", draining), ("ban_reason", reason)])
                }
                None => Ok(()),
            }
        }
        (command, reply) => ensure(false, "response_misphrased", || format!("{reply:?} to {command:?}")),
    }
}

/// A job is shown as it was handed in, whatever became of it since (P13).
fn check_created(draft: &PoolJobDraft, answer: &Answer) -> Verdict {
    let payload: Value = draft.payload.parse().expect("a payload is JSON");
    let members = [
        ("status", "queued".into()),
        ("payload", payload),
        ("priority", draft.priority.into()),
        ("region", json!(draft.demand.region)),
        ("finished_at", Value::Null),
    ];
    answer.expect(201, &members)
}

/// Checks the status of a refusal, and its text where the contract has one.
fn check_refusal(rejection: &PoolRejection, answer: &Answer) -> Verdict {
    let says = match rejection {
        PoolRejection::JobUnknown => "Job not found",
        PoolRejection::JobFinished => "Job already finished",
        PoolRejection::WorkerUnknown => "Worker not found",
        PoolRejection::KeyConflict => "Idempotency-Key was used before, for another body",
        _ => "",
    };
    answer.expect(status_of(rejection), &[])?;
    ensure(answer.text("detail").contains(says), "response_misphrased", || {
        format!("{answer:?} does not say {says:?}")
    })
}

/// The ids of jobs that were taken, of one or of several.
pub(super) fn ids_of(answer: &Answer) -> Vec<u64> {
    let one = std::slice::from_ref(&answer.body);
    let jobs = answer.body["jobs"].as_array().map_or(one, Vec::as_slice);
    jobs.iter().filter_map(|job| job["id"].as_u64()).collect()
}

/// The highest priority (P13).
pub(super) const PRIORITY_MAX: u8 = 100;
