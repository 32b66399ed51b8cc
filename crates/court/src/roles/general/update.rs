//! What people read when a task begins, and when it is tried again (C16b).

use super::attempts::Attempts;
use crate::{
    Document, Id,
    config::General,
    file::{MessageKind, NewMessage, Urgency},
};

/// Why an attempt is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It is the first.
    Start,
    /// It is another one, of this number.
    Retry(u64),
}

/// The updates whose numbers a task has recorded, with those numbers.
pub(super) fn recorded(task: &Document) -> Vec<(Cause, Id)> {
    let messages = task.object(KEY).unwrap_or_default();
    let entry = |key: &str| Some((Cause::of(key)?, Id::parse(&messages.text(key)?).ok()?));
    messages.keys().filter_map(entry).collect()
}

/// Records the number of an update before it is written.
pub(super) fn record(task: &mut Document, cause: Cause, message: &Id) {
    let mut messages = task.object(KEY).unwrap_or_default();
    messages.set_text(&cause.key(), message.as_str());
    task.set_object(KEY, &messages);
}

/// The message: it follows from the task alone, so that a next life can write the same.
pub(super) fn message(task: &Document, cause: Cause, (general, channel): (&General, &str)) -> NewMessage {
    let id = task.text("id").unwrap_or_default();
    let mut context = Document::new();
    context.set_text("task_id", &id).set_text("general", &general.name);
    let content = match cause {
        Cause::Start => {
            let kind = task.text("type").unwrap_or_default();
            format!("▶️ {id} has begun: {kind} ({})", general.name)
        }
        Cause::Retry(number) => {
            context.set_number("attempt", number);
            let attempts = Attempts::of(task);
            let count = attempts.counted(Some(number));
            let error = attempts.error_of(number - 1).unwrap_or_default();
            let error: String = error.chars().take(ERROR_CHARS_MAX).collect();
            format!("🔁 {id} is tried again ({count} of {}) after: {error}", general.retries)
        }
    };
    let (kind, urgency) = (MessageKind::ThreadUpdate, Urgency::Normal);
    NewMessage { kind, channel: channel.to_owned(), urgency, content, context }
}

impl Cause {
    fn key(self) -> String {
        match self {
            Self::Start => "start".to_owned(),
            Self::Retry(number) => format!("retry-{number}"),
        }
    }

    fn of(key: &str) -> Option<Self> {
        match key {
            "start" => Some(Self::Start),
            _ => key.strip_prefix("retry-")?.parse().ok().filter(|number| *number > 1).map(Self::Retry),
        }
    }
}

const KEY: &str = "messages";
const ERROR_CHARS_MAX: usize = 300;
