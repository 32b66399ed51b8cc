//! The attempts of a task, as they stand in its file.

use crate::{
    Document, Id,
    clock::Pause,
    config::{General, seconds},
    file::{MessageKind, NewMessage, OutcomeStatus, Urgency, instant, stamp},
};
use jiff::{SignedDuration, Timestamp};

/// The attempts, first to last.
#[derive(Clone, Debug)]
pub(super) struct Attempts(Vec<Document>);

/// The step after the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another one, at once.
    Begin,
    /// Another one, so long after the end of the last.
    Retry(SignedDuration),
    /// None: the retries are used up.
    Over,
}

impl Attempts {
    pub(super) fn of(task: &Document) -> Self {
        Self(task.objects(KEY))
    }

    pub(super) fn write_to(&self, task: &mut Document) {
        task.set_objects(KEY, &self.0);
    }

    /// The number of the last attempt; none was 0.
    pub(super) fn last_number(&self) -> u64 {
        self.0.last().and_then(|last| last.number("attempt")).unwrap_or(0)
    }

    pub(super) fn last(&self) -> Option<&Document> {
        self.0.last()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Document> {
        self.0.last_mut()
    }

    pub(super) fn is_running(&self) -> bool {
        self.0.last().is_some_and(|last| has_status(last, RUNNING))
    }

    /// Adds an attempt; gives its number.
    pub(super) fn begin(&mut self, now: Timestamp) -> u64 {
        let number = self.last_number() + 1;
        let mut attempt = Document::new();
        attempt
            .set_number("attempt", number)
            .set_text("status", RUNNING)
            .set_raw("error", "null")
            .set_text("started_at", &stamp(now))
            .set_raw("ended_at", "null");
        self.0.push(attempt);
        number
    }

    /// Says how the last attempt ended.
    pub(super) fn end(&mut self, status: OutcomeStatus, error: Option<&str>, now: Timestamp) {
        let Some(last) = self.0.last_mut() else { return };
        last.set_text("status", status.word()).set_text("ended_at", &stamp(now));
        if let Some(error) = error {
            last.set_text("error", &error.chars().take(ERROR_CHARS_MAX).collect::<String>());
        }
    }

    /// Says that the last attempt was cut short through no fault of its own.
    pub(super) fn interrupt(&mut self, now: Timestamp) {
        self.end(OutcomeStatus::Killed, Some(INTERRUPTED), now);
        if let Some(last) = self.0.last_mut() {
            last.set_raw(INTERRUPTED_KEY, "true");
        }
    }

    /// Number of attempts that count as tries; with `before`, only those with a smaller number.
    ///
    /// Interruptions are free, but not for ever: a task that brings its general down each time must end some day.
    pub(super) fn counted(&self, before: Option<u64>) -> u32 {
        let counts = |attempt: &&Document| {
            before.is_none_or(|before| attempt.number("attempt").is_some_and(|number| number < before))
        };
        let ended = self.0.iter().filter(counts).filter(|attempt| !has_status(attempt, RUNNING));
        let (free, paid): (Vec<_>, Vec<_>) = ended.partition(|attempt| is_interrupted(attempt));
        let count = paid.len() + free.len().saturating_sub(INTERRUPTIONS_MAX);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    pub(super) fn next(&self, general: &General) -> Next {
        let Some(last) = self.0.last() else { return Next::Begin };
        let counted = self.counted(None);
        if counted > general.retries {
            return Next::Over;
        }
        let interruptions = self.0.iter().filter(|attempt| is_interrupted(attempt)).count();
        if counted == 0 || (is_interrupted(last) && interruptions <= INTERRUPTIONS_MAX) {
            return Next::Begin;
        }
        Next::Retry(span(general, counted))
    }

    /// The pause after the last attempt; a clock that was set back does not make it longer than it ever was.
    pub(super) fn pause(&self, span: SignedDuration, now: Timestamp) -> Pause {
        let ended = self.0.last().and_then(|last| instant(&last.text("ended_at")?)).unwrap_or(now);
        Pause::of(span, ended.min(now))
    }

    /// The error of an attempt.
    pub(super) fn error_of(&self, number: u64) -> Option<String> {
        self.0.iter().find(|attempt| attempt.number("attempt") == Some(number))?.text("error")
    }
}

/// True if the attempt was interrupted through no fault of its own.
fn is_interrupted(attempt: &Document) -> bool {
    attempt.raw(INTERRUPTED_KEY) == Some("true")
}

/// Twice as long each time.
fn span(general: &General, counted: u32) -> SignedDuration {
    let factor = 2_f64.powi(i32::try_from(counted.saturating_sub(1)).unwrap_or(i32::MAX));
    let span = seconds((general.retry_after_s * factor).min(PAUSE_S_MAX));
    SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX)
}

fn has_status(attempt: &Document, word: &str) -> bool {
    attempt.text("status").as_deref() == Some(word)
}

/// The reason for an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It is the first.
    Start,
    /// It is another one, of this number.
    Retry(u64),
}

/// The updates whose numbers a task has recorded, with those numbers.
pub(super) fn recorded(task: &Document) -> Vec<(Cause, Id)> {
    let messages = task.object(MESSAGES).unwrap_or_default();
    let entry = |key: &str| Some((Cause::of(key)?, Id::parse(&messages.text(key)?).ok()?));
    messages.keys().filter_map(entry).collect()
}

/// Records the number of an update before it is written.
pub(super) fn record(task: &mut Document, cause: Cause, message: &Id) {
    let mut messages = task.object(MESSAGES).unwrap_or_default();
    messages.set_text(&cause.key(), message.as_str());
    task.set_object(MESSAGES, &messages);
}

/// The message: it follows from the task alone, so that a next life can write the same.
pub(super) fn message(task: &Document, cause: Cause, general: &General, channel: &str) -> NewMessage {
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
            let error: String = error.chars().take(SHOWN_ERROR_CHARS_MAX).collect();
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

const KEY: &str = "attempts";
const RUNNING: &str = "running";
const INTERRUPTED: &str = "the general ended";
const INTERRUPTED_KEY: &str = "interrupted";
const INTERRUPTIONS_MAX: usize = 20;
/// A hundred of them still leave room for the payload.
const ERROR_CHARS_MAX: usize = 500;
/// A year.
const PAUSE_S_MAX: f64 = 31_536_000.0;
const MESSAGES: &str = "messages";
const SHOWN_ERROR_CHARS_MAX: usize = 300;
