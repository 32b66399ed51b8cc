//! Makes an event a task (C13).

use super::{King, close};
use crate::{
    Document, Fault, Folder, Id, Kind, Place, Series,
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
    /// Nobody wants it.
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
            // What cannot be carried on as a valid file stops here, and nothing else does (C12).
            Err(Fault::Invalid(reason)) => {
                folder.reject(Place::EventsPending, id.file_name().as_ref(), &reason)
            }
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
                event.set_text("outcome", "discarded").set_text("reason", &reason);
            }
            Route::Task { general, kind } => {
                let mut plan = Document::new();
                plan.set_text("task_id", folder.next_id(Series::Task, now)?.as_str())
                    .set_text("thread_start", folder.next_id(Series::Message, now)?.as_str())
                    .set_text("target_general", &general)
                    .set_text("type", &kind)
                    .set_text("at", &stamp(now));
                event.remove("outcome");
                event.set_object("dispatch", &plan);
            }
        }
        event.set_text("status", "dispatched");
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
        let Step { folder, now } = step;
        let (task_id, message_id) = (planned(plan, "task_id")?, planned(plan, "thread_start")?);
        let task = NewTask {
            event_id: event.text("id").unwrap_or_default(),
            general: plan.text("target_general").unwrap_or_default(),
            kind: plan.text("type").unwrap_or_default(),
            payload: event.raw("payload").unwrap_or("{}").to_owned(),
            priority: Priority::of(event),
        };
        // The thread first: a fast general must not be heard before it is open.
        say(folder, &message_id, &self.thread_start(event, &task, &task_id), now)?;
        if folder.find(Kind::Task, &task_id).is_none() {
            folder.create(Place::TasksPending, &task_id, &task.document(&task_id, now))?;
        }
        mark_answered(folder, event)
    }

    /// The message that opens a task's thread, or continues the one with the question.
    fn thread_start(&self, event: &Document, task: &NewTask, task_id: &Id) -> NewMessage {
        let mut context = Document::new();
        context.set_text("task_id", task_id.as_str()).set_text("event_id", &task.event_id);
        if let Some(thread) = thread_of(event) {
            context.set_object("reply_to", &thread);
        }
        NewMessage {
            kind: MessageKind::ThreadStart,
            channel: self.channel.clone(),
            urgency: Urgency::Normal,
            content: close::begun(task, task_id, event),
            context,
        }
    }
}

/// Whether a king has decided on an event that is in `pending/`. Producers may use the same words for something else: the
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
    event.set_text("status", status).set_text("outcome", outcome).set_text("completed_at", &stamp(now));
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
pub(super) struct QueuedEvent {
    /// Events that are already planned come first.
    is_unplanned: bool,
    priority: Priority,
    created_at: Timestamp,
    pub(super) id: Id,
    /// Somebody answered: the work it belongs to was accepted long ago (C14).
    is_reply: bool,
}

impl EventQueue {
    /// Learns of what came, forgets what is gone.
    pub(super) fn look(&mut self, folder: &Folder) -> Result<(), Fault> {
        let ids: BTreeSet<Id> = folder.ids(Place::EventsPending)?.into_iter().collect();
        self.heads.retain(|id, _| ids.contains(id));
        for id in ids {
            if self.heads.contains_key(&id) {
                continue;
            }
            match folder.read_or_reject(Place::EventsPending, &id) {
                Ok(Some(event)) => drop(self.heads.insert(id.clone(), QueuedEvent::of(id, &event))),
                Ok(None) => {}
                // One that cannot be read now must not keep the others waiting.
                Err(error) => tracing::warn!(%id, %error, "an event cannot be read"),
            }
        }
        Ok(())
    }

    /// The events whose turn it is, in order.
    pub(super) fn admitted(&self, colour: Colour) -> Vec<Id> {
        let mut heads: Vec<&QueuedEvent> =
            self.heads.values().filter(|head| head.is_admitted(colour)).collect();
        heads.sort_unstable();
        heads.into_iter().map(|head| head.id.clone()).collect()
    }

    /// The events that an earlier king had decided on.
    pub(super) fn planned(&self) -> Vec<Id> {
        self.heads.values().filter(|head| !head.is_unplanned).map(|head| head.id.clone()).collect()
    }

    /// Lets go of an event that was dealt with.
    pub(super) fn remove(&mut self, id: &Id) {
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
pub(super) fn is_reply(event: &Document) -> bool {
    event.text("type").as_deref() == Some("slack.thread.reply") && context(event).is_some()
}

/// The general whose task asked.
pub(super) fn general_of(folder: &Folder, event: &Document) -> Option<String> {
    let context = context(event)?;
    context.text("target_general").or_else(|| {
        let id = asking_task(&context)?;
        let task = folder.read(folder.find(Kind::Task, &id)?, &id).ok()?;
        task.text("target_general")
    })
}

/// True if another answer came first.
pub(super) fn is_answered(folder: &Folder, event: &Document) -> bool {
    let id = context(event).and_then(|context| asking_task(&context));
    id.is_some_and(|id| folder.has(Place::QuestionsAnswered, &id))
}

/// Takes the question off the list, now that the answer has become a task.
pub(super) fn mark_answered(folder: &Folder, event: &Document) -> Result<(), Fault> {
    let id = is_reply(event).then(|| context(event).and_then(|context| asking_task(&context))).flatten();
    let Some(id) = id.filter(|id| folder.has(Place::QuestionsOpen, id)) else { return Ok(()) };
    if folder.has(Place::QuestionsAnswered, &id) {
        // The envoy wrote down where it was asked in the moment in which it was answered.
        return folder.remove(Place::QuestionsOpen, &id);
    }
    folder.advance(&id, Place::QuestionsOpen, Place::QuestionsAnswered)
}

/// The thread of an answer: `{channel, thread_ts}`.
pub(super) fn thread_of(event: &Document) -> Option<Document> {
    let payload = event.object("payload").filter(|_| is_reply(event))?;
    let (channel, thread) = (payload.text("channel")?, payload.text("thread_ts")?);
    let mut document = Document::new();
    document.set_text("channel", &channel).set_text("thread_ts", &thread);
    Some(document)
}

fn context(event: &Document) -> Option<Document> {
    event.object("payload")?.object("reply_context")
}

fn asking_task(context: &Document) -> Option<Id> {
    Id::parse(&context.text("task_id")?).ok()
}

/// So many events are dealt with before anything else is looked at again.
const AT_ONCE: usize = 32;
