//! Answers of people, and the tasks that go on with them (C14).

use crate::{Document, Fault, Folder, Id, Kind, Place};

/// Whether an event answers a question.
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

/// Whether another answer came first.
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

/// Where the answer was given: `{channel, thread_ts}`.
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
