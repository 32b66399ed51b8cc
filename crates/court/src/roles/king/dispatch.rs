//! Makes an event a task (C13).

use super::{King, close};
use crate::{
    Document, Fault, Folder, Id, Kind, Place, Series,
    document::document,
    emit::say,
    file::{MessageKind, NewMessage, NewTask, Priority, Urgency, created_at, stamp},
    roles::Step,
    roles::chamberlain::Colour,
};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The decision about an event.
enum Route {
    /// A general does it, as a task of this type.
    Task { general: String, kind: String },
    /// No general does it, for this reason.
    Nobody(String),
}

impl King {
    /// Deals with events in their order; says whether there are more than one step should take.
    pub(super) fn deal_with_events(
        &mut self,
        folder: &Folder,
        colour: Colour,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        self.queue.look(folder)?;
        let events = self.queue.admitted(colour);
        let dealt = events.iter().take(AT_ONCE).map(|id| self.deal_with(folder, id, now));
        dealt.fold(Ok(()), Result::and)?;
        Ok(events.len() > AT_ONCE)
    }

    /// Finishes what an earlier king had decided, before anything new is decided.
    pub(super) fn take_up_plans(&mut self, folder: &Folder, now: Timestamp) -> Result<(), Fault> {
        self.queue.look(folder)?;
        self.queue.planned().iter().map(|id| self.deal_with(folder, id, now)).fold(Ok(()), Result::and)
    }

    /// Completes events whose task is over, or that nobody wanted.
    pub(super) fn finish_dispatched(&self, folder: &Folder, now: Timestamp) -> Result<(), Fault> {
        let finish = |id: &Id| match folder.read_or_reject(Place::EventsDispatched, id)? {
            Some(event) => settle(Step { folder, now }, id, event),
            None => Ok(()),
        };
        folder.ids(Place::EventsDispatched)?.iter().map(finish).fold(Ok(()), Result::and)
    }

    fn deal_with(&mut self, folder: &Folder, id: &Id, now: Timestamp) -> Result<(), Fault> {
        let dealt = self.dispatch(Step { folder, now }, id);
        self.queue.remove(id);
        match dealt {
            // An event that cannot become a valid file stops here, and nothing else does (C12).
            Err(Fault::Invalid(reason)) => folder.reject_file(Place::EventsPending, id, &reason),
            Err(Fault::Gone(_)) => Ok(()),
            other => other,
        }
    }

    fn dispatch(&self, step: Step<'_>, id: &Id) -> Result<(), Fault> {
        let folder = step.folder;
        if folder.has(Place::EventsDispatched, id) || folder.has(Place::EventsCompleted, id) {
            tracing::info!(%id, "a repeated event is dropped");
            return folder.remove(Place::EventsPending, id);
        }
        let Some(mut event) = folder.read_or_reject(Place::EventsPending, id)? else { return Ok(()) };
        if !is_planned(&event) {
            self.plan(step, id, &mut event)?;
        }
        if let Some(plan) = event.object("dispatch") {
            self.carry_out(step, &event, &plan)?;
        }
        folder.advance(id, Place::EventsPending, Place::EventsDispatched)?;
        settle(step, id, event)
    }

    /// Writes down what will be made of an event, before any of it is made.
    fn plan(&self, step: Step<'_>, id: &Id, event: &mut Document) -> Result<(), Fault> {
        let Step { folder, now } = step;
        match self.route(folder, event) {
            Route::Nobody(reason) => {
                event.remove("dispatch");
                event.set("outcome", "discarded").set("reason", &reason);
            }
            Route::Task { general, kind } => {
                let plan = document! {
                    "task_id": folder.next_id(Series::Task, now)?,
                    "thread_start": folder.next_id(Series::Message, now)?,
                    "target_general": general, "type": kind, "at": stamp(now),
                };
                event.remove("outcome");
                event.set("dispatch", &plan);
            }
        }
        event.set("status", "dispatched");
        folder.write(Place::EventsPending, id, event)
    }

    fn route(&self, folder: &Folder, event: &Document) -> Route {
        let kind = event.text("type").unwrap_or_default();
        if is_reply(event) {
            return match general_of(folder, event).filter(|name| self.court.generals.contains_key(name)) {
                _ if is_answered(folder, event) => {
                    Route::Nobody("the question was answered before".to_owned())
                }
                Some(general) => Route::Task { general, kind: "resume".to_owned() },
                None => Route::Nobody("the reply names no general of this court".to_owned()),
            };
        }
        match self.court.owner_of(&kind) {
            Some(general) => Route::Task { general: general.name.clone(), kind },
            None => Route::Nobody("no general subscribes to its type".to_owned()),
        }
    }

    /// Makes the task and the message that were planned; what is there already stays.
    fn carry_out(&self, step: Step<'_>, event: &Document, plan: &Document) -> Result<(), Fault> {
        let task = NewTask {
            event_id: event.text("id").unwrap_or_default(),
            general: plan.text("target_general").unwrap_or_default(),
            kind: plan.text("type").unwrap_or_default(),
            payload: event.raw("payload").unwrap_or("{}").to_owned(),
            priority: Priority::of(event),
        };
        make_task(step, plan, &task, |id| {
            let mut message = thread_start(&self.channel, &task, id, close::begun(&task, id, event));
            if let Some(thread) = thread_of(event) {
                message.context.set("reply_to", &thread);
            }
            message
        })?;
        mark_answered(step.folder, event)
    }
}

/// Makes a planned task and the message that opens its thread; what is there already stays. Gives the task's id.
pub(super) fn make_task(
    step: Step<'_>,
    plan: &Document,
    task: &NewTask,
    opening: impl Fn(&Id) -> NewMessage,
) -> Result<Id, Fault> {
    let Step { folder, now } = step;
    let (id, message) = (planned(plan, "task_id")?, planned(plan, "thread_start")?);
    // The thread first: a fast general must not be heard before it is open.
    say(folder, &message, &opening(&id), now)?;
    if folder.find(Kind::Task, &id).is_none() {
        folder.create(Place::TasksPending, &id, &task.document(&id, now))?;
    }
    Ok(id)
}

/// The message that opens a task's thread.
pub(super) fn thread_start(channel: &str, task: &NewTask, id: &Id, content: String) -> NewMessage {
    let (kind, urgency) = (MessageKind::ThreadStart, Urgency::Normal);
    let context = document! {"task_id": id, "event_id": task.event_id};
    NewMessage { kind, channel: channel.to_owned(), urgency, content, context }
}

/// True if a king has decided on an event that is in `pending/`. Producers may use the same words for something else: the
/// status tells.
pub(super) fn is_planned(event: &Document) -> bool {
    let is_decided = event.text("status").as_deref() == Some("dispatched");
    let has_plan = event
        .object("dispatch")
        .is_some_and(|plan| planned(&plan, "task_id").is_ok() && planned(&plan, "thread_start").is_ok());
    is_decided && (has_plan || event.text("outcome").as_deref() == Some("discarded"))
}

/// Completes an event that is dispatched, if what it was made is over.
fn settle(step: Step<'_>, id: &Id, event: Document) -> Result<(), Fault> {
    let folder = step.folder;
    let task_id = event.object("dispatch").and_then(|plan| planned(&plan, "task_id").ok());
    let outcome = match (&task_id, task_id.as_ref().map(|id| folder.find(Kind::Task, id))) {
        (None, _) if event.text("outcome").as_deref() == Some("discarded") => "discarded",
        (Some(task_id), Some(Some(Place::TasksCompleted))) => {
            match folder.read(Place::TasksCompleted, task_id) {
                Ok(task) if task.text("status").as_deref() != Some("failed") => "completed",
                Ok(_) | Err(Fault::Invalid(_)) => "failed",
                Err(other) => return Err(other),
            }
        }
        (Some(_), Some(Some(_))) => return Ok(()),
        // Its task was refused by its general, or somebody took it away: nobody will ever end it.
        (_, _) => {
            tracing::warn!(%id, "an event ends as failed: its task is gone");
            "failed"
        }
    };
    complete(step, id, event, outcome)
}

/// Ends an event: `status` and `outcome` are written, then it moves.
pub(super) fn complete(step: Step<'_>, id: &Id, mut event: Document, outcome: &str) -> Result<(), Fault> {
    let Step { folder, now } = step;
    let status = if matches!(outcome, "failed" | "killed") { "failed" } else { "completed" };
    event.set("status", status).set("outcome", outcome).set("completed_at", &stamp(now));
    folder.write(Place::EventsDispatched, id, &event)?;
    folder.advance(id, Place::EventsDispatched, Place::EventsCompleted)
}

/// An id that was written down earlier.
pub(super) fn planned(plan: &Document, key: &str) -> Result<Id, Fault> {
    let text = plan.text(key).ok_or_else(|| Fault::Invalid(format!("its plan lacks {key}")))?;
    Id::parse(&text).map_err(|error| Fault::Invalid(format!("its plan has a wrong {key}: {error}")))
}

/// The events in `pending/`, each read once.
#[derive(Default)]
pub(super) struct EventQueue {
    heads: BTreeMap<Id, QueuedEvent>,
}

/// The sort key of a waiting event; the order of the members matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedEvent {
    /// Events that are already planned come first.
    is_unplanned: bool,
    priority: Priority,
    created_at: Timestamp,
    id: Id,
    /// True for an answer to a question: the work it belongs to was accepted long ago (C14).
    is_reply: bool,
}

impl EventQueue {
    /// Learns of what came, forgets what is gone.
    fn look(&mut self, folder: &Folder) -> Result<(), Fault> {
        let ids: BTreeSet<Id> = folder.ids(Place::EventsPending)?.into_iter().collect();
        self.heads.retain(|id, _| ids.contains(id));
        for id in ids {
            if !self.heads.contains_key(&id)
                && let Some(event) = folder.read_or_wait(Place::EventsPending, &id)
            {
                self.heads.insert(id.clone(), QueuedEvent::of(id, &event));
            }
        }
        Ok(())
    }

    /// The events whose turn it is, in order.
    fn admitted(&self, colour: Colour) -> Vec<Id> {
        let mut heads: Vec<&QueuedEvent> =
            self.heads.values().filter(|head| head.is_admitted(colour)).collect();
        heads.sort_unstable();
        heads.into_iter().map(|head| head.id.clone()).collect()
    }

    /// The events that an earlier king had decided on.
    fn planned(&self) -> Vec<Id> {
        self.heads.values().filter(|head| !head.is_unplanned).map(|head| head.id.clone()).collect()
    }

    /// Lets go of an event that was dealt with.
    fn remove(&mut self, id: &Id) {
        self.heads.remove(id);
    }
}

impl QueuedEvent {
    fn of(id: Id, event: &Document) -> Self {
        let is_reply = is_reply(event);
        let is_unplanned = !is_planned(event);
        Self { is_unplanned, priority: Priority::of(event), created_at: created_at(event), id, is_reply }
    }

    /// Planned events and replies always proceed; the rest as the colour allows (C19).
    fn is_admitted(&self, colour: Colour) -> bool {
        !self.is_unplanned || self.is_reply || colour.accepts(self.priority)
    }
}

/// True if an event answers a question.
fn is_reply(event: &Document) -> bool {
    event.text("type").as_deref() == Some("slack.thread.reply") && context(event).is_some()
}

/// The general whose task asked.
fn general_of(folder: &Folder, event: &Document) -> Option<String> {
    let context = context(event)?;
    context.text("target_general").or_else(|| {
        let id = asking_task(&context)?;
        let task = folder.read(folder.find(Kind::Task, &id)?, &id).ok()?;
        task.text("target_general")
    })
}

/// True if another answer came first.
fn is_answered(folder: &Folder, event: &Document) -> bool {
    let id = context(event).and_then(|context| asking_task(&context));
    id.is_some_and(|id| folder.has(Place::QuestionsAnswered, &id))
}

/// Takes the question off the list, now that the answer has become a task.
fn mark_answered(folder: &Folder, event: &Document) -> Result<(), Fault> {
    let id = is_reply(event).then(|| context(event).and_then(|context| asking_task(&context))).flatten();
    let Some(id) = id.filter(|id| folder.has(Place::QuestionsOpen, id)) else { return Ok(()) };
    if folder.has(Place::QuestionsAnswered, &id) {
        // The envoy wrote down where it was asked in the moment in which it was answered.
        return folder.remove(Place::QuestionsOpen, &id);
    }
    folder.advance(&id, Place::QuestionsOpen, Place::QuestionsAnswered)
}

/// The thread of an answer: `{channel, thread_ts}`.
fn thread_of(event: &Document) -> Option<Document> {
    let payload = event.object("payload").filter(|_| is_reply(event))?;
    Some(document! {"channel": payload.text("channel")?, "thread_ts": payload.text("thread_ts")?})
}

fn context(event: &Document) -> Option<Document> {
    event.object("payload")?.object("reply_context")
}

fn asking_task(context: &Document) -> Option<Id> {
    Id::parse(&context.text("task_id")?).ok()
}

/// So many events are dealt with before anything else is looked at again.
const AT_ONCE: usize = 32;
