//! Renders events and replies in the words of scripts.

use super::parse;
use crate::{
    Waiter,
    kernel::script::{Stage, name},
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use muster_model::{
    Beat, CompletionReply, Effect, Event, FrameEvent, FrameHandout, FrameQuery, FrameReply, FrameView,
    LiveTask, Order, RegistrationReply, Rejection, Reply, SessionReply,
};

pub(super) fn events(events: &[Event]) -> String {
    events.iter().filter_map(event).collect::<Vec<_>>().join("; ")
}

pub(super) fn effects(effects: &[Effect]) -> String {
    let told = effects.iter().map(|effect| match effect {
        Effect::Push { worker, handout, .. } => format!("push {} {worker}", parse::text_of(&handout.task)),
        Effect::Dismiss { worker, .. } => format!("dismiss {worker}"),
        Effect::Quarantine(record) => format!("move {}", record.id),
        Effect::WriteSession { session } => format!("write {session}"),
        Effect::Merge { session, .. } => format!("merge {session}"),
    });
    told.collect::<Vec<_>>().join("; ")
}

pub(super) fn reply(result: &Result<Reply, Rejection>) -> String {
    match result {
        Err(Rejection::Frames(rejection)) => format!("! {rejection:?}"),
        Ok(Reply::Frames(reply)) => frame_reply(reply),
        other => format!("{other:?}"),
    }
}

fn frame_reply(reply: &FrameReply) -> String {
    match reply {
        FrameReply::Registered(RegistrationReply { epoch }) => format!("epoch {epoch}"),
        FrameReply::Beat(beat) => render_beat(beat),
        FrameReply::Task(None) => "nothing".into(),
        FrameReply::Task(Some(handout)) => render_handout(handout),
        FrameReply::Accepted(CompletionReply { repeated, .. }) => {
            if *repeated { "again" } else { "accepted" }.into()
        }
        FrameReply::Ids(ids) => format!("chunk={} [{}, {})", ids.chunk, ids.start, ids.end),
        FrameReply::Session(SessionReply { status, repeated }) => {
            format!("{}{}", status.as_str(), if *repeated { " again" } else { "" })
        }
        FrameReply::Done => "done".into(),
    }
}

fn render_beat(Beat { state, pressure, orders, .. }: &Beat) -> String {
    let orders = orders.iter().map(|order| match order {
        Order::Rebind => " rebind".to_string(),
        Order::Reregister => " reregister".into(),
        Order::Pause => " pause".into(),
        Order::Resume => " resume".into(),
        Order::Stop(task) => format!(" stop {}", parse::text_of(task)),
    });
    format!("{} {}{}", state.as_str(), pressure.as_str(), orders.collect::<String>())
}

fn render_handout(handout: &FrameHandout) -> String {
    let FrameHandout { task, range, ids, attempt, replay, .. } = handout;
    let replay = if *replay { " replay" } else { "" };
    format!("{} {range} #{attempt} chunk={}{replay}", parse::text_of(task), ids.chunk)
}

fn event(event: &Event) -> Option<String> {
    let event = match event {
        Event::AlertRaised(alert) => return Some(format!("alert {}", alert.kind.as_str())),
        Event::Frames(event) => event,
        _ => return None,
    };
    about_renderers(event).or_else(|| about_ranges(event))
}

fn about_renderers(event: &FrameEvent) -> Option<String> {
    Some(match event {
        FrameEvent::RendererRegistered { registration, .. } => format!("registered {}", registration.worker),
        FrameEvent::RendererMoved { worker, from, to, .. } => {
            format!("{worker} {}>{}", from.as_str(), to.as_str())
        }
        FrameEvent::FailureCounted { worker, .. } => format!("blamed {worker}"),
        FrameEvent::FailuresCleared { worker } => format!("cleared {worker}"),
        FrameEvent::RemovalChanged { worker, to, .. } => format!("removal {worker} {}", to.as_str()),
        FrameEvent::RendererForgotten { worker } => format!("forgotten {worker}"),
        FrameEvent::SessionSubmitted { submission, .. } => format!("taken {}", submission.session),
        FrameEvent::SessionSteered { session, status, .. } => format!("{session} {}", status.as_str()),
        FrameEvent::SessionEnded { session, status, error, .. } => {
            let error = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
            format!("{session} {}{error}", status.as_str())
        }
        FrameEvent::SessionReopened { closed, .. } => format!("{} reopened", closed.record.id),
        FrameEvent::QuarantineWanted { entry, .. } => format!("apart {entry}"),
        FrameEvent::QuarantineMoved { entry, .. } => format!("moved {entry}"),
        FrameEvent::QuarantineConfirmed { record, .. } => format!("confirmed {}", record.id),
        FrameEvent::Broadcast { paused, .. } => if *paused { "paused" } else { "resumed" }.into(),
        _ => return None,
    })
}

fn about_ranges(event: &FrameEvent) -> Option<String> {
    Some(match event {
        FrameEvent::RangeGranted(grant) => {
            let (task, range, attempt) = (parse::text_of(&grant.task), grant.range, grant.attempt);
            format!("granted {task} {range} {} #{attempt} chunk={}", grant.worker, grant.ids.chunk)
        }
        FrameEvent::RangeConfirmed { task, .. } => format!("confirmed {}", parse::text_of(task)),
        FrameEvent::RangeEnded { task, end, .. } => {
            format!("ended {} {}", parse::text_of(task), end.as_str())
        }
        FrameEvent::RangeCompleted { completion, .. } => {
            format!("completed {}", parse::text_of(&completion.task))
        }
        FrameEvent::RangeReopened { record, .. } => format!("reopened {}", parse::text_of(&record.id)),
        FrameEvent::RangeSplit { task, middle, .. } => format!("split {} {middle}", parse::text_of(task)),
        FrameEvent::RangeGivenUp { task, .. } => format!("given up {}", parse::text_of(task)),
        FrameEvent::RangeSkipped { record, .. } => format!("skipped {}", parse::text_of(&record.id)),
        FrameEvent::RangeRetried { task, .. } => format!("retried {}", parse::text_of(task)),
        FrameEvent::IdsGranted { ids, .. } => format!("ids [{}, {})", ids.start, ids.end),
        FrameEvent::ChunkRetired { ids, .. } => format!("retired {}", ids.chunk),
        _ => return None,
    })
}

/// `view status`, `view worker W1`, `view session s`, `view woken`.
pub(super) fn view(stage: &mut Stage, words: &[&str]) -> String {
    let query = match words[1] {
        "woken" => {
            let woken = stage.engine.take_woken().workers.into_iter();
            let woken = woken.filter_map(|waiter| match waiter {
                Waiter::Renderer(worker) => Some(worker.to_string()),
                Waiter::Node(_) | Waiter::Member(_) => None,
            });
            return woken.collect::<Vec<_>>().join(" ");
        }
        "status" => FrameQuery::Status,
        "worker" => FrameQuery::Renderers([name(words[2])].into()),
        _ => FrameQuery::Session(parse::session(words[2])),
    };
    match stage.engine.frame_view(&query, stage.now) {
        FrameView::Status(status) => {
            let counts = status.renderers.iter().map(|(state, count)| format!("{}={count}", state.as_str()));
            let depth = status.queue_depth.value();
            format!("{} zombies={} depth={depth}", counts.collect::<Vec<_>>().join(" "), status.zombies)
        }
        FrameView::Renderers(found) => found
            .iter()
            .map(|worker| {
                let zombie = if worker.zombie { " zombie" } else { "" };
                let tasks = worker.tasks.iter().map(live).collect::<String>();
                format!("{}{zombie} failures={}{tasks}", worker.state.as_str(), worker.failures)
            })
            .collect(),
        FrameView::Session(None) => "closed".into(),
        FrameView::Session(Some(view)) => {
            let uncut = view.uncut.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            let tasks = view.tasks.iter().map(live).collect::<String>();
            let failed = view.failed.iter().map(|range| format!(" failed={range}")).collect::<String>();
            format!("done={} uncut={uncut}{tasks}{failed}", view.completed_frames)
        }
    }
}

fn live(task: &LiveTask) -> String {
    format!(" {}:{}", parse::text_of(&task.id), task.status.as_str())
}
