//! The wire between the workers of sessions and the server: real request bodies go through the real parsers, and replies
//! are phrased and read as they are outside of this world. What arrives must be what was meant.

use crate::{
    checker::{Broken, Verdict, ensure},
    network::Ticket,
    scene::Scene,
};
use muster_contract_simulation::{
    Acknowledgement, CompleteRequest, CompleteResponse, FailRequest, HeartbeatRequest, HeartbeatResponse,
    IdChunk, IdRangeRequest, JsonText, Manifest, Order, ProgressRequest, PullReply, RegisterRequest,
    RegisterResponse, Task, TaskPlace, TaskResponse, phrase, phrase_pull, read_completion, read_fail,
    read_heartbeat, read_id_request, read_progress, read_rebind, read_registration, to_bytes,
};
use muster_model::{
    Beat, Command, Completion, FrameCommand, FrameHandout, FrameRange, FrameRejection, FrameReply,
    FrameTaskId, Held, IdRange, Millis, Name, Rejection, Reply,
};
use muster_problem::{Problem, read_json};
use serde_json::json;

/// An address of contract S that takes a body.
#[derive(Clone, Debug)]
pub(super) enum Endpoint {
    Register,
    Heartbeat,
    Rebind,
    Progress,
    Complete(FrameTaskId),
    Fail(FrameTaskId),
    Ids,
}

/// A request with a body.
pub(super) struct Request {
    pub(super) endpoint: Endpoint,
    pub(super) body: Vec<u8>,
}

/// A response: the body of a success, or a problem.
pub(super) type Response = Result<Vec<u8>, Problem>;

/// The content of a response as a simple worker reads it.
pub(super) enum Content {
    Registered {
        epoch: u64,
    },
    Beat(HeartbeatResponse),
    Task(Option<FrameHandout>),
    Ids,
    /// Something was accepted; the body does not matter.
    Done,
}

/// Reads a request as the server does; it must understand what was meant.
pub(super) fn understand(meant: &FrameCommand, request: &Request, worker: &Name) -> Result<Command, Broken> {
    let read = receive(request, worker)?;
    check_understood(meant, &read)?;
    Ok(read)
}

/// Reads a request as the server does. Every request of this world is well formed; one that is refused by its form shows a
/// fault of the parser.
pub(super) fn receive(request: &Request, worker: &Name) -> Result<Command, Broken> {
    parse(request, worker)
        .map_err(|problem| Broken::new("request_refused_by_its_form", problem.detail().to_owned()))
}

fn parse(request: &Request, worker: &Name) -> Result<Command, Problem> {
    let body = read_json(&request.body, request.body.len())?;
    let text = String::from_utf8_lossy(&request.body);
    let worker = worker.clone();
    Ok(match &request.endpoint {
        Endpoint::Register => {
            // In this world an endpoint is the number of a worker.
            read_registration(&body, &text, |endpoint| Ok(endpoint.into()))?.into()
        }
        Endpoint::Heartbeat => read_heartbeat(&body, worker)?.into(),
        Endpoint::Rebind => {
            let held = read_rebind(&body)?.held;
            Command::Frames(FrameCommand::Rebind { worker, held })
        }
        Endpoint::Progress => read_progress(&body, worker)?.into(),
        Endpoint::Fail(task) => read_fail(&body, task.clone(), worker)?.into(),
        Endpoint::Ids => read_id_request(&body, worker)?.into(),
        Endpoint::Complete(task) => {
            let received = read_completion(&body, &text)?;
            let fragment = match &received.manifest {
                Manifest::Inline(fragment) => fragment.clone(),
                Manifest::Path(_) => return Err(Problem::not_found("this world has no files")),
            };
            let completion = received.with_fragment(fragment.as_bytes(), task.clone(), &worker)?;
            Completion { dry: false, ..completion }.into()
        }
    })
}

/// The request that a simple worker sends for a command; none if it has no body.
pub(super) fn request_of(command: &FrameCommand) -> Option<Request> {
    let text = |name: &Name| name.as_str().into();
    let task_text = |task: &Option<FrameTaskId>| task.as_ref().map(|task| task.to_string().into());
    let (endpoint, body) = match command {
        FrameCommand::Heartbeat(beat) => {
            let request = HeartbeatRequest {
                queue_ratio: beat.queue_ratio,
                gpu_usage: beat.gpu_usage,
                last_frame: beat.last_frame,
                status: if beat.error { "error" } else { "fine" }.into(),
                rtt: beat.rtt,
            };
            (Endpoint::Heartbeat, request.to_bytes())
        }
        FrameCommand::Progress(progress) => {
            let request = ProgressRequest {
                session: progress.session.as_str().into(),
                task: task_text(&progress.task),
                processed: progress.processed,
                max_queue_ratio: progress.max_queue_ratio,
                dropped: progress.dropped,
                diagnostics: progress.diagnostics.iter().map(|line| (**line).into()).collect(),
            };
            (Endpoint::Progress, request.to_bytes())
        }
        FrameCommand::Fail { task, worker: Some(worker), attempt, error } => {
            let request = FailRequest { worker: text(worker), attempt: *attempt, error: (**error).into() };
            (Endpoint::Fail(task.clone()), request.to_bytes())
        }
        FrameCommand::MoreIds { worker, task, count } => {
            let request = IdRangeRequest { worker: text(worker), task: task_text(task), count: *count };
            (Endpoint::Ids, request.to_bytes())
        }
        FrameCommand::Rebind { worker, held } => (Endpoint::Rebind, rebind_body(worker, held.as_ref())),
        FrameCommand::Complete(completion) => {
            (Endpoint::Complete(completion.task.clone()), completion_body(completion))
        }
        _ => return None,
    };
    Some(Request { endpoint, body })
}

/// The body of a registration.
pub(super) fn register_body(worker: &Name, slots: u32, endpoint: Option<String>) -> Vec<u8> {
    let request = RegisterRequest {
        worker: worker.as_str().into(),
        role: "simulation".into(),
        cameras: 1,
        gpu: "simulated".into(),
        slots,
        endpoint: endpoint.map(Into::into),
    };
    request.to_bytes()
}

/// The body of a completion. Whatever makes it another body without another meaning is its digest.
pub(super) fn completion_body(completion: &Completion) -> Vec<u8> {
    let FrameRange { start, end } = completion.range;
    let fragment = json!({
        "frameRange": [start, end],
        "globalIdChunkId": completion.chunk,
        "statistics": {"frames": end.saturating_sub(start), "droppedFrames": completion.dropped},
    });
    let request = CompleteRequest {
        worker: completion.worker.as_ref().map_or("", Name::as_str).into(),
        attempt: completion.attempt,
        manifest: Manifest::Inline(fragment.to_string().into()),
        pose_files: Vec::new(),
        metrics_snapshot: json!({"run": format!("{:x}", completion.digest.0)}),
    };
    request.to_text().into_bytes()
}

/// The rest of a task that somebody else's worker remembers is enough (S19).
fn rebind_body(worker: &Name, held: Option<&Held>) -> Vec<u8> {
    let task = held.map(|held| {
        json!({"taskId": held.task.to_string(), "attempt": held.attempt,
            "globalIdChunk": {"chunkId": held.chunk}})
    });
    to_bytes(&json!({"workerId": worker.as_str(), "epoch": 0, "currentTask": task}))
}

/// Checks that the server understood a request as it was meant. Digests and kept texts follow from the body.
fn check_understood(meant: &FrameCommand, understood: &Command) -> Verdict {
    let same = match (meant, understood) {
        (FrameCommand::Complete(meant), Command::Frames(FrameCommand::Complete(read))) => {
            let (digest, result) = (read.digest, read.result.clone());
            Completion { digest, result, dry: read.dry, ..(**meant).clone() } == **read
        }
        (FrameCommand::Heartbeat(meant), Command::Frames(FrameCommand::Heartbeat(read))) => meant == read,
        (FrameCommand::Progress(meant), Command::Frames(FrameCommand::Progress(read))) => meant == read,
        (FrameCommand::Rebind { held, .. }, Command::Frames(FrameCommand::Rebind { held: read, .. })) => {
            held == read
        }
        (FrameCommand::Fail { attempt, .. }, Command::Frames(FrameCommand::Fail { attempt: read, .. })) => {
            attempt == read
        }
        (
            FrameCommand::MoreIds { task, count, .. },
            Command::Frames(FrameCommand::MoreIds { task: read_task, count: read, .. }),
        ) => task == read_task && count == read,
        _ => false,
    };
    ensure(same, "request_misunderstood", || format!("{meant:?} understood as {understood:?}"))
}

/// Phrases a reply as the server does, and checks that the response says what was meant.
pub(super) fn respond(
    ticket: &Ticket,
    result: &Result<Reply, Rejection>,
    scene: &Scene,
) -> Result<Response, Broken> {
    let response = phrased(&ticket.command, result, scene.plan.settings.frames.heartbeat);
    check_told(result, &response)?;
    Ok(response)
}

fn phrased(command: &Command, result: &Result<Reply, Rejection>, heartbeat: Millis) -> Response {
    let reply = match (command, result) {
        (_, Ok(Reply::Frames(reply))) => reply,
        (_, Ok(_)) => return Ok(to_bytes(&Acknowledgement::OK)),
        (Command::Frames(FrameCommand::Ask { .. }), Err(rejection)) => {
            return phrase_pull(rejection).map(|response| to_bytes(&response));
        }
        (_, Err(rejection)) => return Err(phrase(rejection)),
    };
    Ok(match (command, reply) {
        (Command::Frames(FrameCommand::Register(registration)), FrameReply::Registered(reply)) => {
            let worker = registration.worker.to_string();
            to_bytes(&RegisterResponse::new(worker, "token".to_owned(), heartbeat, reply.epoch))
        }
        (_, FrameReply::Beat(beat)) => to_bytes(&HeartbeatResponse::new(beat.clone())),
        (_, FrameReply::Task(handout)) => {
            let task = handout.as_deref().map(task_of);
            to_bytes(&TaskResponse { task, commands: Vec::new() })
        }
        (Command::Frames(FrameCommand::Complete(completion)), FrameReply::Accepted(reply)) => {
            to_bytes(&CompleteResponse::new(&completion.task, reply))
        }
        (_, FrameReply::Ids(ids)) => to_bytes(&IdChunk::from(*ids)),
        _ => to_bytes(&Acknowledgement::OK),
    })
}

/// The task of a handout, in a directory of this world.
pub(super) fn task_of(handout: &FrameHandout) -> Task {
    let directory = format!("/out/{}/chunks/{}", handout.output, handout.ids.chunk).into();
    Task::new(handout, TaskPlace { scenario: JsonText::null(), cameras: None, directory })
}

/// The body of a task that is pushed.
pub(crate) fn push_body(handout: &FrameHandout) -> Vec<u8> {
    task_of(handout).to_bytes()
}

/// Checks that a response says what the server meant, as a worker reads it: orders, frames, ids and statuses (S2, S3, S5).
fn check_told(meant: &Result<Reply, Rejection>, response: &Response) -> Verdict {
    let is_told = match (meant, response) {
        (Ok(Reply::Frames(FrameReply::Beat(beat))), Ok(body)) => {
            HeartbeatResponse::read(body).is_ok_and(|read| is_beat(&read, beat))
        }
        (Ok(Reply::Frames(FrameReply::Task(Some(handout)))), Ok(body)) => match PullReply::read(body) {
            Ok(PullReply::Task(task)) => is_handout(&task, handout),
            _ => false,
        },
        (Ok(Reply::Frames(FrameReply::Ids(ids))), Ok(body)) => {
            IdChunk::read(body).is_ok_and(|read: IdRange| read == *ids)
        }
        (Ok(_), Ok(_)) => true,
        (Err(Rejection::Frames(FrameRejection::Lost)), Ok(_)) => true,
        (Err(Rejection::Frames(rejection)), Err(problem)) => problem.status().as_u16() == status(rejection),
        (Err(_), Err(_)) => true,
        _ => false,
    };
    let body = |body: &Vec<u8>| String::from_utf8_lossy(body).into_owned();
    ensure(is_told, "reply_told_otherwise", || format!("{meant:?} told as {:?}", response.as_ref().map(body)))
}

/// Checks that a pushed body is the task that was meant.
pub(super) fn check_pushed(task: &Task, handout: &FrameHandout) -> Verdict {
    ensure(is_handout(task, handout), "reply_told_otherwise", || format!("{handout:?} pushed as {task:?}"))
}

/// A task as a simple worker remembers it.
pub(super) fn handout_of(task: &Task) -> Option<FrameHandout> {
    Some(FrameHandout {
        task: task.id.parse().ok()?,
        range: task.frames,
        ids: task.ids,
        attempt: task.attempt,
        epoch: task.epoch,
        replay: task.replay,
        output: "".into(),
    })
}

fn is_beat(read: &HeartbeatResponse, beat: &Beat) -> bool {
    let orders: Vec<Order> = beat.orders.iter().cloned().map(Order::from).collect();
    let percent = beat.pressure.percent() * 10_000;
    let factor = read.backpressure.as_ref().map(|backpressure| backpressure.factor.0);
    read.epoch == Some(beat.epoch) && read.commands == orders && factor == Some(percent)
}

fn is_handout(task: &Task, handout: &FrameHandout) -> bool {
    let is_assignment = task.frames == handout.range && task.ids == handout.ids;
    let is_attempt = task.attempt == handout.attempt && task.epoch == handout.epoch;
    is_assignment && is_attempt && task.replay == handout.replay && *task.id == *handout.task.to_string()
}

/// The status that contract S gives to a refusal, written down once more to compare with.
pub(super) const fn status(rejection: &FrameRejection) -> u16 {
    match rejection {
        FrameRejection::Quarantined => 403,
        FrameRejection::RendererUnknown
        | FrameRejection::SessionUnknown
        | FrameRejection::TaskUnknown
        | FrameRejection::ChunkUnknown => 404,
        FrameRejection::Removed => 410,
        FrameRejection::RangeForeign { .. } | FrameRejection::ChunkForeign { .. } => 422,
        _ => 409,
    }
}

impl Content {
    /// Reads the response to a command.
    pub(super) fn read(command: &Command, body: &[u8]) -> Option<Self> {
        let Command::Frames(command) = command else { return None };
        Some(match command {
            FrameCommand::Register(_) => Self::Registered { epoch: RegisterResponse::read(body).ok()?.epoch },
            FrameCommand::Heartbeat(_) | FrameCommand::Rebind { .. } => {
                Self::Beat(HeartbeatResponse::read(body).ok()?)
            }
            FrameCommand::Ask { .. } => match PullReply::read(body).ok()? {
                PullReply::Task(task) => Self::Task(handout_of(&task)),
                PullReply::Nothing | PullReply::Wrong { .. } => Self::Task(None),
            },
            FrameCommand::MoreIds { .. } => IdChunk::read(body).ok().map(|_| Self::Ids)?,
            _ => Self::Done,
        })
    }
}
