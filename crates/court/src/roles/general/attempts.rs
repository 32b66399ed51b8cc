//! The attempts of a task, as they stand in its file, and the verdict on each (C11, C16).

use crate::{
    Document, FILE_BYTES_MAX, Fault, Folder, Id, Kind,
    clock::Pause,
    config::{General, seconds},
    document::document,
    file::{MessageKind, NewMessage, Outcome, OutcomeStatus, Urgency, instant, stamp},
    folder::validated,
};
use jiff::{SignedDuration, Timestamp};
use std::path::Path;

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
        self.0.push(document! {
            "attempt": number, "status": RUNNING, "error": (), "started_at": stamp(now), "ended_at": (),
        });
        number
    }

    /// Says how the last attempt ended.
    pub(super) fn end(&mut self, status: OutcomeStatus, error: Option<&str>, now: Timestamp) {
        let Some(last) = self.0.last_mut() else { return };
        last.set("status", status.as_str()).set("ended_at", &stamp(now));
        if let Some(error) = error {
            last.set("error", &error.chars().take(ERROR_CHARS_MAX).collect::<String>());
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
    messages.set(&cause.key(), message.as_str());
    task.set(MESSAGES, &messages);
}

/// The message: it follows from the task alone, so that a next life can write the same.
pub(super) fn message(task: &Document, cause: Cause, general: &General, channel: &str) -> NewMessage {
    let id = task.text("id").unwrap_or_default();
    let mut context = document! {"task_id": id, "general": general.name};
    let content = match cause {
        Cause::Start => {
            let kind = task.text("type").unwrap_or_default();
            format!("▶️ {id} has begun: {kind} ({})", general.name)
        }
        Cause::Retry(number) => {
            context.set("attempt", &number);
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

/// The end of an attempt, as its runtime saw it.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The soldier was ended by this signal.
    Killed(i32),
    /// The soldier ended by itself.
    Exited {
        /// Its code.
        code: i32,
        /// The last line it complained with.
        last_words: String,
    },
    /// The soldier gave no sign of life for so many seconds and was ended.
    TimedOut(f64),
    /// The soldier could not be started.
    NotStarted(String),
    /// The coordinator brought it to an end.
    Remote(Outcome),
    /// The coordinator will never take it.
    Refused(String),
}

/// The result of an attempt, and whether it may be retried.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) outcome: Outcome,
    pub(super) may_retry: bool,
}

impl Verdict {
    /// Judges an attempt by its ending and by the result in its own directory.
    pub(super) fn of(folder: &Folder, task: &Id, directory: &Path, ending: &Ending) -> Self {
        match ending {
            Ending::Killed(signal) => {
                Self::killed(task, &format!("the soldier was killed by signal {signal}"))
            }
            Ending::Exited { code, last_words } => match left(folder, task, &directory.join(RESULT_FILE)) {
                Ok(outcome) => Self::retried(outcome),
                Err(wrong) => Self::failed(task, &format!("{wrong}{}", trailer(*code, last_words))),
            },
            Ending::TimedOut(limit_s) => {
                Self::killed(task, &format!("no sign of life for {limit_s} s: it was ended"))
            }
            Ending::NotStarted(why) => {
                Self::failed(task, &format!("the soldier could not be started: {why}"))
            }
            Ending::Remote(outcome) => Self::retried(outcome.clone()),
            Ending::Refused(why) => Self { may_retry: false, ..Self::failed(task, why) },
        }
    }

    pub(super) fn failed(task: &Id, error: &str) -> Self {
        Self::retried(failed_outcome(task, OutcomeStatus::Failed, error))
    }

    /// The verdict of the last attempt, once there will be no other.
    pub(super) fn of_last(task: &Id, attempt: Option<&Document>) -> Self {
        let error = attempt.and_then(|attempt| attempt.text("error"));
        let status = attempt.and_then(|attempt| OutcomeStatus::from_word(&attempt.text("status")?));
        let status =
            status.filter(|status| *status == OutcomeStatus::Killed).unwrap_or(OutcomeStatus::Failed);
        let error = error.unwrap_or_else(|| "the last attempt left no error".to_owned());
        Self::retried(failed_outcome(task, status, &error))
    }

    /// The error for the attempt's record.
    pub(super) fn error(&self) -> Option<String> {
        self.outcome.document.text("error")
    }

    /// The result file, with the attempts that led to it.
    pub(super) fn result(&self, attempts: &Attempts) -> Document {
        let mut result = self.outcome.document.clone();
        attempts.write_to(&mut result);
        result
    }

    fn killed(task: &Id, error: &str) -> Self {
        Self::retried(failed_outcome(task, OutcomeStatus::Killed, error))
    }

    /// Only failures are retried; a task that needs a human or has nothing to do is not.
    fn retried(outcome: Outcome) -> Self {
        let may_retry = matches!(outcome.status, OutcomeStatus::Failed | OutcomeStatus::Killed);
        Self { outcome, may_retry }
    }
}

/// A result of our own for an attempt that left none.
pub(crate) fn failed_outcome(task: &Id, status: OutcomeStatus, error: &str) -> Outcome {
    let error: String = error.chars().take(RESULT_ERROR_CHARS_MAX).collect();
    let summary = format!("{task} was not done");
    let document = document! {"task_id": task, "status": status.as_str(), "summary": summary, "error": error};
    Outcome { status, document }
}

/// The result a soldier left; what it says of attempts is not its to say.
fn left(folder: &Folder, task: &Id, path: &Path) -> Result<Outcome, String> {
    let bytes = folder.bytes(path).map_err(|fault| match fault {
        Fault::Gone(_) => "the soldier left no result".to_owned(),
        other => invalid(&other.to_string()),
    })?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(invalid(&format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let mut document = Document::parse(&bytes).map_err(|error| invalid(&error.to_string()))?;
    document.remove("attempts");
    let document = validated(Kind::Result, document.to_file().as_bytes())
        .map_err(|fault| invalid(&fault.to_string()))?;
    if document.text("task_id").as_deref() != Some(task.as_str()) {
        return Err(invalid(&format!("its task_id is not {task}")));
    }
    Outcome::of(document).ok_or_else(|| invalid("its status is none"))
}

fn invalid(reason: &str) -> String {
    format!("the soldier's result is not valid: {reason}")
}

/// The exit code and last words, for the message that there was no result.
fn trailer(code: i32, last_words: &str) -> String {
    let words: String = last_words.chars().filter(|char| !char.is_control()).take(WORDS_CHARS_MAX).collect();
    let words = if words.is_empty() { words } else { format!(": {words}") };
    format!(" (exit code {code}{words})")
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
/// Name of the result file in the attempt's directory.
pub(super) const RESULT_FILE: &str = "result.json";
const RESULT_ERROR_CHARS_MAX: usize = 2000;
const WORDS_CHARS_MAX: usize = 300;
