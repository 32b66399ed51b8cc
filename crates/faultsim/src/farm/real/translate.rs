//! Between the core's words and the coordinator's, without the JSON in between.

use super::exchange::Answer;
use muster_agent::Text;
use muster_model::{
    Ask, Completion, Digest, FrameCommand, FrameHandout, FrameRange, FrameRejection, FrameTaskId, Heartbeat,
    Held, Millis, Name, Order as Told, Ratio, Rejection, RendererState, Reply, ask::frames,
};
use muster_workers::simulation::{
    Task,
    core::{Beat, Heard, Order, Progress, Pulled, Rebind, Refusal, Registration, Report, Trouble},
};

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
pub(super) fn heard(reply: Reply) -> Heard {
    let beat = Heartbeat::reply(reply);
    let order = |order| match order {
        Told::Rebind => Order::Rebind,
        Told::Reregister => Order::Reregister,
        Told::Pause => Order::Pause,
        Told::Resume => Order::Resume,
        Told::Stop(task) => Order::Stop(task.to_string().into()),
    };
    let state = match beat.state {
        RendererState::Removed => "zombie",
        state => state.as_str(),
    };
    Heard {
        state: Some(state.into()),
        epoch: Some(beat.epoch),
        pace: Some(Ratio(beat.pressure.percent() * 10_000)),
        orders: beat.orders.into_iter().map(order).collect(),
    }
}

pub(super) fn pulled(reply: Reply) -> Pulled {
    match frames::Ask::reply(reply) {
        Some(handout) => Pulled::Task(Box::new(task(&handout))),
        None => Pulled::Nothing,
    }
}

pub(super) fn task(handout: &FrameHandout) -> Task {
    Task {
        id: handout.task.to_string().into(),
        session: handout.task.session.as_str().into(),
        scenario: "{}".into(),
        cameras: None,
        frames: handout.range,
        ids: handout.ids,
        attempt: handout.attempt.into(),
        epoch: handout.epoch,
        directory: format!("/out/{}/chunks/{}", handout.output, handout.ids.chunk).into(),
        replay: handout.replay,
    }
}

pub(super) fn beat(worker: Name, beat: &Beat) -> FrameCommand {
    FrameCommand::Heartbeat(Heartbeat {
        worker,
        queue_ratio: beat.queue,
        gpu_usage: Some(beat.gpu),
        last_frame: beat.last_frame,
        error: beat.status == "error",
        rtt: beat.rtt,
    })
}

/// The contract has room for one task only: the oldest.
pub(super) fn rebind(worker: Name, rebind: &Rebind) -> FrameCommand {
    let held = rebind.tasks.first().map(|task| Held {
        task: task_id(&task.id),
        attempt: attempt(task.attempt),
        chunk: task.ids.chunk,
    });
    FrameCommand::Rebind { worker, held }
}

pub(super) fn progress(worker: Name, progress: Progress) -> FrameCommand {
    let task = task_id(&progress.task.id);
    FrameCommand::Progress(Box::new(muster_model::Progress {
        worker,
        session: task.session.clone(),
        task: Some(task),
        processed: progress.seen.processed,
        max_queue_ratio: progress.queue_max,
        dropped: progress.seen.dropped,
        diagnostics: progress.diagnostics.iter().map(|line| Box::from(&**line)).collect(),
    }))
}

pub(super) fn report(worker: Name, report: &Report) -> FrameCommand {
    match report {
        Report::Complete { task, body } => completion(worker, task_id(task), body),
        Report::Fail { task, attempt: number, error } => FrameCommand::Fail {
            task: task_id(task),
            worker: Some(worker),
            attempt: Some(attempt(*number)),
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

fn attempt(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
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
