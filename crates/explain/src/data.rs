//! The objects and figures that a cause refers to. Keys that end in `_id` name an object by what it is.

use muster_model::{Cause, FrameCause, MemberCause, PoolCause};
use serde_json::{Value, json};

pub(crate) fn data(cause: &Cause) -> Value {
    match cause {
        Cause::Running { leases } => json!({"running": leases}),
        Cause::JobEnded { status, outcome } => {
            let outcome = outcome.map(|outcome| outcome.as_str());
            without_null(json!({"status": status.as_str(), "outcome": outcome}))
        }
        Cause::TaskEnded { status } => json!({"status": status.as_str()}),
        Cause::QueuedBehind { active, ahead } => json!({"run_id": active.to_string(), "ahead": ahead}),
        Cause::WorkQueuedBehind { job, active, ahead } => {
            json!({"run_id": job.to_string(), "active_run_id": active.to_string(), "ahead": ahead})
        }
        Cause::NoSlot { worker, running, cap } => {
            json!({"node_id": worker.as_str(), "running": running, "max_devices": cap})
        }
        Cause::LaneBusy { lane, task } => {
            json!({"device_id": lane.as_str(), "task_device_id": task.to_string()})
        }
        Cause::DeviceError { lane } | Cause::OutOfScope { lane } => json!({"device_id": lane.as_str()}),
        Cause::DeviceOffline { lane, since } => json!({"device_id": lane.as_str(), "since": since.0}),
        Cause::NodeOffline { worker, since } => json!({"node_id": worker.as_str(), "since": since.0}),
        Cause::NodeDraining { worker } | Cause::AwaitingPull { worker } => {
            json!({"node_id": worker.as_str()})
        }
        Cause::SupplyPaused { worker, until } => json!({"node_id": worker.as_str(), "until": until.0}),
        Cause::AwaitingRedelivery { task, at } => json!({"task_device_id": task.to_string(), "at": at.0}),
        Cause::WaitingForDevices { until } => json!({"until": until.0}),
        Cause::AwaitingRetry { task, attempt } => {
            json!({"task_device_id": task.to_string(), "attempt": attempt})
        }
        Cause::Stopping { task } => json!({"task_device_id": task.to_string()}),
        Cause::AlreadyServed { lane, job } => json!({"device_id": lane.as_str(), "run_id": job.to_string()}),
        Cause::DeviceContested { lane, worker, other } => {
            json!({"device_id": lane.as_str(), "node_id": worker.as_str(), "other_node_id": other.as_str()})
        }
        Cause::NoWork => json!({}),
        Cause::Frames(cause) => of_frames(cause),
        Cause::Pool(cause) => of_job(cause),
        Cause::Member(cause) => of_member(cause),
        Cause::ScheduleWaiting { next_at, missed, last_job } => {
            let run = last_job.map(|job| job.to_string());
            without_null(json!({"next_at": next_at.0, "missed": missed.as_str(), "run_id": run}))
        }
        Cause::ScheduleDue { slot, missed } => json!({"slot": slot.0, "missed": missed.as_str()}),
        Cause::ScheduleOver { last_job } => {
            without_null(json!({"run_id": last_job.map(|job| job.to_string())}))
        }
    }
}

fn of_frames(cause: &FrameCause) -> Value {
    match cause {
        FrameCause::SessionRunning { ranges } | FrameCause::RendererRunning { ranges } => {
            json!({"running": ranges})
        }
        FrameCause::SessionEnded { status } => json!({"status": status.as_str()}),
        FrameCause::RangeEnded { status } => json!({"status": status.as_str()}),
        FrameCause::SessionPaused { session } | FrameCause::RendererIdle { session } => {
            json!({"session_id": session.as_str()})
        }
        FrameCause::SessionQueuedBehind { session, ahead } => {
            json!({"session_id": session.as_str(), "ahead": ahead})
        }
        FrameCause::NoneCapable { lost, quarantined } => json!({"lost": lost, "quarantined": quarantined}),
        FrameCause::RenderersLost { workers }
        | FrameCause::RenderersQuarantined { workers }
        | FrameCause::RenderersBusy { workers }
        | FrameCause::RenderersPressed { workers }
        | FrameCause::RenderersResting { workers }
        | FrameCause::RenderersUnheard { workers }
        | FrameCause::AwaitingRenderer { workers } => json!({"workers": workers}),
        FrameCause::RangeUnconfirmed { worker, attempt, since } => {
            json!({"worker_id": worker.as_str(), "attempt": attempt, "since": since.0})
        }
        FrameCause::RangeRunning { worker, attempt, processed, frames } => {
            json!({"worker_id": worker.as_str(), "attempt": attempt, "processed": processed, "frames": frames})
        }
        FrameCause::RangeReplay { worker, attempt, is_loss } => {
            json!({"worker_id": worker.as_str(), "attempt": attempt, "lost": is_loss})
        }
        FrameCause::RendererLost { since, reason }
        | FrameCause::RendererQuarantined { since, reason }
        | FrameCause::RendererRemoved { since, reason }
        | FrameCause::RendererDegraded { since, reason } => {
            without_null(json!({"since": since.0, "reason": reason}))
        }
        FrameCause::RangeAvoided { worker, attempt, until } => {
            json!({"worker_id": worker.as_str(), "attempt": attempt, "until": until.0})
        }
        FrameCause::RendererUnheard { since } => json!({"since": since.0}),
        FrameCause::RendererResting { until } => json!({"until": until.0}),
        FrameCause::NoFrames { sessions } => json!({"sessions": sessions}),
        FrameCause::SessionMerging
        | FrameCause::FarmPaused
        | FrameCause::NoRenderers
        | FrameCause::RendererPressed => json!({}),
    }
}

fn of_job(cause: &PoolCause) -> Value {
    match cause {
        PoolCause::Ended { status } => json!({"status": status.as_str()}),
        PoolCause::Running { assignments } => json!({"running": assignments}),
        PoolCause::LeaseOut { worker, until } => json!({"worker_id": worker.to_string(), "until": until.0}),
        PoolCause::NoWorkerInRegion { region } => json!({"region": region}),
        PoolCause::WorkersAway { offline, draining, banned } => {
            json!({"offline": offline, "draining": draining, "banned": banned})
        }
        PoolCause::WorkersBusy { workers } | PoolCause::WaitingForPoll { workers } => {
            json!({"workers": workers})
        }
        PoolCause::TooFewOwners { owners, needed } => json!({"owners": owners, "needed": needed}),
        PoolCause::HigherPriorityFirst { job, priority } => {
            json!({"job_id": job.to_string(), "priority": priority})
        }
        PoolCause::ClientsTurn { job } | PoolCause::OlderJobFirst { job } => {
            json!({"job_id": job.to_string()})
        }
        PoolCause::NoWorkers | PoolCause::RequirementsUnmet => json!({}),
    }
}

fn of_member(cause: &MemberCause) -> Value {
    match cause {
        MemberCause::Banned { reason } => json!({"reason": reason}),
        MemberCause::Offline { since } => json!({"since": since.0}),
        MemberCause::Draining { running } => json!({"running": running}),
        MemberCause::Full { running, slots } | MemberCause::Running { running, slots } => {
            json!({"running": running, "slots": slots})
        }
        MemberCause::NoJobs => json!({}),
        MemberCause::NoMatchingJob { waiting } => json!({"waiting": waiting}),
        MemberCause::Idle { job } => json!({"job_id": job.to_string()}),
    }
}

fn without_null(mut data: Value) -> Value {
    if let Value::Object(data) = &mut data {
        data.retain(|_, value| !value.is_null());
    }
    data
}
