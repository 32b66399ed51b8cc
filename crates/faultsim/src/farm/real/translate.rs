//! Between the core's words and the coordinator's, without the JSON in between.

use super::exchange::Answer;
use muster_agent::Text;
use muster_contract_simulation::{HeartbeatResponse, JsonText, PullReply, Task, TaskPlace};
use muster_model::{
    Ask, Completion, Digest, FrameCommand, FrameHandout, FrameRange, FrameRejection, FrameTaskId, Heartbeat,
    Held, Millis, Name, Rejection, Reply, ask::frames,
};
use muster_workers::simulation::core::{Beat, Progress, Rebind, Refusal, Registration, Report, Trouble};

/// What came back, as the core hears it; `None`: the token is not known.
pub(super) fn answer(result: Option<Result<Reply, Rejection>>) -> Answer {
    match result {
        Some(Ok(reply)) => Ok(reply),
        Some(Err(Rejection::Frames(rejection))) => {
            let refusal = Refusal { status: status(&rejection), detail: format!("{rejection:?}").into() };
            Err(Trouble::Refused(refusal))
        }
        Some(Err(_)) => Err(nobody(None)),
        None => Err(Trouble::Unauthorized),
    }
}

pub(super) fn nobody(patience: Option<Millis>) -> Trouble {
    Trouble::NoAnswer(patience)
}

pub(super) fn registration(reply: Reply, interval: Millis) -> Registration {
    Registration { interval, epoch: muster_model::Registration::reply(reply).epoch }
}

/// To a heartbeat and to a rebind, which have the same reply.
pub(super) fn heard(reply: Reply) -> HeartbeatResponse {
    HeartbeatResponse::new(Heartbeat::reply(reply))
}

pub(super) fn pulled(reply: Reply) -> PullReply {
    match frames::Ask::reply(reply) {
        Some(handout) => PullReply::Task(Box::new(task(&handout))),
        None => PullReply::Nothing,
    }
}

pub(super) fn task(handout: &FrameHandout) -> Task {
    let directory = format!("/out/{}/chunks/{}", handout.output, handout.ids.chunk).into();
    Task::new(handout, TaskPlace { scenario: JsonText::null(), cameras: None, directory })
}

pub(super) fn beat(worker: Name, beat: &Beat) -> FrameCommand {
    let beat = &beat.request;
    FrameCommand::Heartbeat(Heartbeat {
        worker,
        queue_ratio: beat.queue_ratio,
        gpu_usage: beat.gpu_usage,
        last_frame: beat.last_frame,
        error: &*beat.status == "error",
        rtt: beat.rtt,
    })
}

/// The contract has room for one task only: the oldest.
pub(super) fn rebind(worker: Name, rebind: &Rebind) -> FrameCommand {
    let held = rebind.tasks.first().map(|task| Held {
        task: task_id(&task.id),
        attempt: task.attempt,
        chunk: task.ids.chunk,
    });
    FrameCommand::Rebind { worker, held }
}

pub(super) fn progress(worker: Name, progress: Progress) -> FrameCommand {
    let progress = progress.request;
    let task = task_id(progress.task.as_deref().unwrap_or_default());
    FrameCommand::Progress(Box::new(muster_model::Progress {
        worker,
        session: task.session.clone(),
        task: Some(task),
        processed: progress.processed,
        max_queue_ratio: progress.max_queue_ratio,
        dropped: progress.dropped,
        diagnostics: progress.diagnostics.iter().map(|line| Box::from(&**line)).collect(),
    }))
}

pub(super) fn report(worker: Name, report: &Report) -> FrameCommand {
    match report {
        Report::Complete { task, body } => completion(worker, task_id(task), body),
        Report::Fail { task, attempt: number, error } => FrameCommand::Fail {
            task: task_id(task),
            worker: Some(worker),
            attempt: Some(*number),
            error: Box::from(&**error),
        },
    }
}

/// What a work has made, as text: the core takes it to the coordinator as it is.
pub(super) fn body(task: &Task, dropped: u64, digest: u128) -> Text {
    let FrameRange { start, end } = task.frames;
    format!("{} {} {start} {end} {dropped} {digest}", task.attempt, task.ids.chunk).into()
}

fn completion(worker: Name, task: FrameTaskId, body: &str) -> FrameCommand {
    let number = |place| body.split(' ').nth(place).and_then(|word| word.parse::<u128>().ok()).unwrap_or(0);
    let small = |place| u64::try_from(number(place)).unwrap_or(0);
    FrameCommand::Complete(Box::new(Completion {
        task,
        worker: Some(worker),
        attempt: u16::try_from(number(0)).ok(),
        range: FrameRange { start: small(2), end: small(3) },
        chunk: small(1),
        dropped: small(4),
        digest: Digest(number(5)),
        result: "{}".into(),
        dry: false,
    }))
}

fn task_id(text: &str) -> FrameTaskId {
    text.parse().expect("the core gives back what it was given")
}

/// The status that contract S gives to a refusal.
const fn status(rejection: &FrameRejection) -> u16 {
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
