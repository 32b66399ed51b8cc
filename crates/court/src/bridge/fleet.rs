//! The differences between runs, sessions and jobs: their routes, their words, their ends.

use crate::{
    Document, Id,
    config::Executor,
    file::{Outcome, OutcomeStatus},
    roles::general::{Ending, Start, failed_outcome},
    words::words,
};
use serde_json::Value;

words! {
    /// The fleets of the coordinator.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fleet {
        /// Devices, by a run.
        Run = "run",
        /// Simulation workers, by a session.
        Session = "session",
        /// The pool, by a job.
        Job = "job",
    }
}

impl Fleet {
    /// The fleet of an executor; a soldier is none.
    #[must_use]
    pub const fn of(executor: Executor) -> Option<Self> {
        match executor {
            Executor::Command => None,
            Executor::Run => Some(Self::Run),
            Executor::Session => Some(Self::Session),
            Executor::Job => Some(Self::Job),
        }
    }

    /// The path for submissions; each object's own path is below it.
    pub(super) const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Run => &["api", "runs"],
            Self::Session => &["api", "v1", "sessions"],
            Self::Job => &["jobs"],
        }
    }

    /// The prefix of feed entries about a change.
    pub(super) const fn news(self) -> &'static str {
        match self {
            Self::Run => "job_",
            Self::Session => "session_",
            Self::Job => "pool_jobs_",
        }
    }

    /// The id in an answer.
    pub(super) fn id(self, answer: &Value) -> Option<String> {
        let text = |key| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        match self {
            Self::Run => text("run_id"),
            Self::Session => text("sessionId"),
            Self::Job => answer.get("id").and_then(Value::as_u64).map(|id| id.to_string()),
        }
    }

    /// The body that is handed in: the payload as it is. A session is recognised by its id alone, so one without gets
    /// the attempt's.
    pub(super) fn body(self, start: &Start) -> String {
        let payload = start.document.raw("payload").unwrap_or("{}").to_owned();
        if self != Self::Session {
            return payload;
        }
        match Document::parse(payload.as_bytes()) {
            Ok(mut session) if !session.has(SESSION_ID) => {
                session.set_text(SESSION_ID, &numbered(start, '-'));
                session.to_json()
            }
            _ => payload,
        }
    }

    /// The idempotency key.
    pub(super) fn key(start: &Start) -> String {
        numbered(start, '.')
    }

    /// The ending that an answer reports, if there is one.
    pub(super) fn ending(self, start: &Start, id: &str, answer: &Value) -> Option<Ending> {
        let status = answer.get("status").and_then(Value::as_str)?;
        let summary = self.summary(id, answer);
        match status {
            "success" | "completed" => {
                let mut outcome = success(&start.task, &summary);
                // What a job brought is of use to whoever reads results; more than this is asked for at the coordinator.
                let output = answer.get("output").map(Value::to_string);
                if let Some(output) = output.filter(|output| output.len() <= OUTPUT_BYTES_MAX) {
                    outcome.document.set_raw("output", output);
                }
                Some(Ending::Remote(outcome))
            }
            "failed" => {
                let error = ["error", "error_message"].iter().find_map(|key| answer.get(key)?.as_str());
                let error = error.map_or_else(|| summary.clone(), |error| format!("{summary}: {error}"));
                Some(self.failure(start, &error))
            }
            // Whoever cancelled it would not be glad to see it again.
            "cancelled" => Some(Ending::Refused(format!("{summary}: it was cancelled at the coordinator"))),
            _ => None,
        }
    }

    /// A session whose id the payload names would only be found again as it ended.
    fn failure(self, start: &Start, error: &str) -> Ending {
        let payload = start.document.object("payload").unwrap_or_default();
        if self == Self::Session && payload.has(SESSION_ID) {
            return Ending::Refused(error.to_owned());
        }
        Ending::Remote(failed_outcome(&start.task, OutcomeStatus::Failed, error))
    }

    fn summary(self, id: &str, answer: &Value) -> String {
        let said = answer.get("output").and_then(|output| output.get("summary")?.as_str());
        if let Some(said) = said.filter(|_| self == Self::Job) {
            return said.to_owned();
        }
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
        let status = answer.get("status").and_then(Value::as_str).unwrap_or_default();
        match self {
            Self::Run => {
                let count = |key| number(answer.get("counts").and_then(|counts| counts.get(key)));
                let (completed, failed, cancelled) =
                    (count("completed"), count("failed"), count("cancelled"));
                let counts = format!("{completed} completed, {failed} failed, {cancelled} cancelled");
                // A run with failures is never called a success alone (Q7b).
                match answer.get("outcome").and_then(Value::as_str) {
                    Some("partial") => format!("run {id}: partial, {counts}"),
                    _ => format!("run {id}: {counts}"),
                }
            }
            Self::Session => {
                let (done, all) = (number(answer.get("completedFrames")), number(answer.get("totalFrames")));
                // Nor is a session with skipped frames called completed alone (S23b).
                match number(answer.get("skippedFrames")) {
                    0 => format!("session {id}: {status}, {done} of {all} frames"),
                    skipped => format!("session {id}: {status}, {done} of {all} frames, {skipped} skipped"),
                }
            }
            Self::Job => format!("job {id}: {status}"),
        }
    }
}

/// The task's id; from the second time on that it is handed in with the attempt's number.
fn numbered(start: &Start, separator: char) -> String {
    match start.handed_in_as() {
        1 => start.task.to_string(),
        attempt => format!("{}{separator}{attempt}", start.task),
    }
}

fn success(task: &Id, summary: &str) -> Outcome {
    let mut document = Document::new();
    document
        .set_text("task_id", task.as_str())
        .set_text("status", OutcomeStatus::Success.word())
        .set_text("summary", summary);
    Outcome { status: OutcomeStatus::Success, document }
}

const OUTPUT_BYTES_MAX: usize = 512 * 1024;
const SESSION_ID: &str = "sessionId";
