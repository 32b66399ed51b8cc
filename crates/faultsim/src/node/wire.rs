//! Contract N between simulated nodes and the coordinator, in bytes.
//!
//! A node's request becomes a command through the server's own parser, and a reply becomes a response through the server's
//! own phrasing. After each message both sides must mean the same; a difference is a bug in parsing or phrasing.

use crate::checker::{Broken, Verdict, ensure};
use muster_agent::core::Answer;
use muster_contract_nodes::{
    BatchedEvent, CallbackAnswer, CallbackResult, Job, Message, NodeMessage, PulledWork, RunPayload,
    answer_callbacks, answer_pull, answer_report, phrase, read_callbacks, read_callbacks_answer, read_pull,
    read_pull_answer, read_report,
};
use muster_model::{
    Command, Handout, JobId, JobPayload, Millis, Pull, PullReply, Recorded, Rejection, Report, ReportBatch,
    ReportId, ReportKind, TaskReportKind, Timestamp, WorkerMessage,
};
use muster_problem::{Problem, read_json, read_tree};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
};

/// The workflow of every run in these worlds.
pub(super) const WORKFLOW: &str = "w";

/// The response to a request of a node.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Reads a heartbeat as the server does.
pub(super) fn read_heartbeat(body: &[u8]) -> Result<Command, Broken> {
    match read_message(body)? {
        NodeMessage::Heartbeat { worker, .. } => Ok(Command::Heartbeat { worker }),
        NodeMessage::Report(report) => Err(misread("a heartbeat", &report)),
    }
}

/// Reads a callback as the server does; `meant` is the report that the node wanted to make.
pub(super) fn read_callback(body: &[u8], meant: &Report) -> Result<Command, Broken> {
    Ok(Command::Report(check_report(read_message(body)?, meant)?))
}

/// Reads several callbacks as the server does; `meant` are the messages that the node wanted to send.
pub(super) fn read_batch(body: &[u8], meant: &[WorkerMessage]) -> Result<Command, Broken> {
    let events = read_callbacks(body, BODY_BYTES_MAX).map_err(|problem| refused(&problem))?;
    ensure(events.len() == meant.len(), "message_misread", || {
        format!("{} events of {}", events.len(), meant.len())
    })?;
    let read = |event: BatchedEvent, meant: &WorkerMessage| {
        let message = event.message.map_err(|problem| refused(&problem))?;
        match (message, meant) {
            (message, WorkerMessage::Report(meant)) => {
                check_report(message, meant).map(WorkerMessage::Report)
            }
            (NodeMessage::Heartbeat { worker, .. }, _) => Ok(WorkerMessage::Heartbeat { worker }),
            (NodeMessage::Report(report), _) => Err(misread("a heartbeat", &report)),
        }
    };
    let events = events.into_iter().map(|event| BatchedEvent::read(event, |_| Ok(())));
    let messages = events.zip(meant).map(|(event, meant)| read(event, meant)).collect::<Result<_, _>>()?;
    Ok(Command::ReportBatch(ReportBatch { messages }))
}

/// A report that was read, if it is the one that was meant.
fn check_report(message: NodeMessage, meant: &Report) -> Result<Box<Report>, Broken> {
    let report = match message {
        NodeMessage::Report(report) => report,
        other @ NodeMessage::Heartbeat { .. } => return Err(misread(meant, &other)),
    };
    let mut bare = Report { body: meant.body.clone(), ..(*report).clone() };
    if let ReportKind::Task(task) = &mut bare.kind
        && let TaskReportKind::Finished { result, .. } = &mut task.kind
    {
        *result = None;
    }
    if bare != *meant {
        return Err(misread(meant, &bare));
    }
    Ok(report)
}

/// Reads a pull as the server does; `meant` is the pull that the node wanted to make.
pub(super) fn read_pull_request(body: &[u8], meant: &Pull, wait: Option<Millis>) -> Result<Command, Broken> {
    let order = parse(body).and_then(|body| read_pull(&body)).map_err(|problem| refused(&problem))?;
    let waits = i64::try_from(order.wait.as_millis()).map_or(Millis(i64::MAX), Millis);
    if order.pull != *meant || waits != wait.unwrap_or_default() {
        return Err(misread(&(meant, wait), &order));
    }
    Ok(Command::Pull(order.pull))
}

/// Phrases a reply to a pull as the server does, and reads it as a node does.
pub(super) fn pulled(reply: &PullReply, timeout: Millis, now: Timestamp) -> Result<PulledWork, Broken> {
    let runs = runs_of(reply, timeout)?;
    let body = serde_json::to_vec(&answer_pull(reply, &runs, now)).map_err(|error| misread(reply, &error))?;
    let (work, left_out) = read_pull_answer(&body).map_err(|error| misread(reply, &error))?;
    ensure(left_out == 0, "job_left_out", || format!("{left_out} of {reply:?}"))?;
    check_pulled(&work, reply)?;
    Ok(work)
}

/// Phrases the answer to a callback as the server does.
pub(super) fn respond(result: Result<Recorded, Rejection>) -> Result<Response, Broken> {
    let recorded = match result {
        Ok(recorded) => recorded,
        Err(rejection) => {
            let problem = phrase(&rejection);
            let response = Response { status: problem.status().as_u16(), body: problem.body() };
            // A rejection by the engine is final; another status would make the node send the report again (N19).
            let is_final = matches!(Answer::of(response.status, None), Answer::Refused(_));
            ensure(is_final, "refusal_not_final", || format!("{rejection:?} became {}", response.status))?;
            return Ok(response);
        }
    };
    let body = serde_json::to_string(&answer_report(recorded)).map_err(|error| misread(&recorded, &error))?;
    let read: CallbackAnswer = serde_json::from_str(&body).map_err(|error| misread(&recorded, &error))?;
    let is_right = read.ok
        && read.duplicate == (recorded == Recorded::Duplicate)
        && read.stale == (recorded == Recorded::Stale);
    ensure(is_right, "answer_misphrased", || format!("{recorded:?} became {body}"))?;
    Ok(Response { status: 200, body })
}

/// Phrases the answer to several callbacks as the server does, and reads it as a node does.
pub(super) fn respond_to_batch(
    batch: &ReportBatch,
    results: Vec<Result<Recorded, Rejection>>,
) -> Result<String, Broken> {
    let ids = || batch.messages.iter().map(id_of);
    let phrased = results.iter().map(|result| result.clone().map_err(|rejection| phrase(&rejection)));
    let answer = answer_callbacks(ids().map(|id| id.cloned()).zip(phrased));
    let body = serde_json::to_string(&answer).map_err(|error| misread(&results, &error))?;
    let read = read_callbacks_answer(body.as_bytes(), batch.messages.len());
    let read = read.map_err(|error| misread(&results, &error))?;
    let mut each = ids().zip(&results).zip(&read);
    let is_right = each.all(|((id, result), read)| is_same_result(id, result, read));
    ensure(is_right, "answer_misphrased", || format!("{results:?} became {body}"))?;
    Ok(body)
}

fn id_of(message: &WorkerMessage) -> Option<&ReportId> {
    match message {
        WorkerMessage::Report(report) => Some(&report.id),
        WorkerMessage::Heartbeat { .. } => None,
    }
}

fn is_same_result(
    id: Option<&ReportId>,
    result: &Result<Recorded, Rejection>,
    read: &CallbackResult,
) -> bool {
    let is_same = match result {
        Ok(recorded) => {
            read.ok
                && read.duplicate == (*recorded == Recorded::Duplicate)
                && read.stale == (*recorded == Recorded::Stale)
        }
        // A rejection by the engine is final (N19).
        Err(_) => !read.ok && read.status.is_some_and(|status| (400..500).contains(&status)),
    };
    is_same && read.event_id.as_deref() == id.map(ReportId::as_str)
}

fn read_message(body: &[u8]) -> Result<NodeMessage, Broken> {
    let read = read_tree(body, BODY_BYTES_MAX).and_then(|body| read_report(&Message::read(body)?));
    read.map_err(|problem| refused(&problem))
}

fn parse(body: &[u8]) -> Result<serde_json::Value, Problem> {
    read_json(body, BODY_BYTES_MAX)
}

fn runs_of(reply: &PullReply, timeout: Millis) -> Result<BTreeMap<JobId, RunPayload>, Broken> {
    let payload = JobPayload {
        title: None,
        workflow: WORKFLOW.into(),
        params: "{}".into(),
        timeout: None,
        schedule: None,
    };
    let run = RunPayload::new(Arc::new(payload), timeout).map_err(|error| misread(reply, &error))?;
    let announced = reply.announced.iter().map(|announced| announced.job);
    let jobs: BTreeSet<JobId> =
        announced.chain(reply.handouts.iter().map(|handout| handout.task.job)).collect();
    Ok(jobs.into_iter().map(|job| (job, run.clone())).collect())
}

/// The work that a node understands is the work that was handed out.
fn check_pulled(work: &PulledWork, reply: &PullReply) -> Verdict {
    let same_ids = |texts: &[muster_agent::Text], ids: Vec<String>| {
        texts.iter().map(|text| &**text).eq(ids.iter().map(String::as_str))
    };
    let same_jobs = |jobs: &[Job], handouts: &[Handout]| {
        jobs.len() == handouts.len() && jobs.iter().zip(handouts).all(|(job, handout)| is_same(job, handout))
    };
    let same_runs = work.runs.len() == reply.announced.len()
        && work.runs.iter().zip(&reply.announced).all(|(run, announced)| {
            *run.run == *announced.job.to_string()
                && run.targets == u64::from(announced.targets)
                && run.max_concurrency == u64::from(announced.slots)
        });
    let is_right = same_runs
        && same_jobs(&work.jobs, &reply.handouts)
        && same_jobs(&work.stop_jobs, &reply.stopping)
        && same_ids(&work.finished_runs, reply.finished.iter().map(ToString::to_string).collect())
        && same_ids(&work.stop, reply.stop.iter().map(ToString::to_string).collect())
        && work.offers_callbacks();
    ensure(is_right, "answer_misread", || format!("{reply:?} was read as {work:?}"))
}

fn is_same(job: &Job, handout: &Handout) -> bool {
    *job.task == *handout.task.to_string()
        && *job.run == *handout.task.job.to_string()
        && *job.device == *handout.lane.as_str()
        && *job.handle == *handout.handle.as_str()
        && job.attempt == u32::from(handout.attempt)
        && job.token.as_deref() == Some(&*handout.fence.to_string())
}

fn refused(problem: &Problem) -> Broken {
    Broken::new("request_refused", problem.to_string())
}

fn misread(meant: &(impl Debug + ?Sized), read: &impl Debug) -> Broken {
    Broken::new("message_misread", format!("{meant:?} was read as {read:?}"))
}

/// The limit of contract N (N6).
const BODY_BYTES_MAX: usize = 1 << 20;
