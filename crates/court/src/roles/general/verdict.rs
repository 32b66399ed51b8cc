//! The verdict on an attempt (C11, C16).

use super::attempts::Attempts;
use crate::{
    Document, FILE_BYTES_MAX, Fault, Folder, Id, Kind,
    file::{Outcome, OutcomeStatus},
    folder::validated,
};
use std::path::Path;

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
    let error: String = error.chars().take(ERROR_CHARS_MAX).collect();
    let mut document = Document::new();
    document
        .set_text("task_id", task.as_str())
        .set_text("status", status.word())
        .set_text("summary", &format!("{task} was not done"))
        .set_text("error", &error);
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

/// Name of the result file in the attempt's directory.
pub(super) const RESULT_FILE: &str = "result.json";
const ERROR_CHARS_MAX: usize = 2000;
const WORDS_CHARS_MAX: usize = 300;
