//! Requests of operators (S6, S9, S15, S17, S26b).

use crate::{Range, limit, report::opt_task_id};
use muster_model::{FrameRange, Name, ask::frames::Assign};
use muster_problem::{Fields, Item, Problem};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A task placed by hand (S6).
#[derive(Clone, Copy, Debug)]
pub struct AssignRequest;

/// A command to all workers (S6).
#[derive(Clone, Copy, Debug)]
pub struct BroadcastRequest;

/// The reason of an operator (S9, S11, S17).
#[derive(Clone, Debug, Serialize)]
pub struct ReasonRequest {
    /// The reason, for people.
    pub reason: String,
}

/// The note of a person who looked at an entry of the quarantine (S15).
#[derive(Clone, Copy, Debug)]
pub struct ConfirmRequest;

/// Failed frames to be rendered again: those with frames in one of the ranges, or all (S26b).
#[derive(Clone, Debug, Default, Serialize)]
pub struct RetryRequest {
    /// The ranges; all that failed if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Vec<Range>>,
}

/// The response to a task that was placed by hand (S6).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignResponse {
    /// The task.
    pub task_id: String,
    /// The worker that gets it next.
    pub worker_id: String,
}

/// A broadcast as it was read, and the response to it (S6).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BroadcastResponse {
    /// `PauseAll` or `ResumeAll`.
    pub command: &'static str,
    /// True if no task is given out from now on.
    pub paused: bool,
}

/// Reads a task to be placed by hand (S6).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_assignment(body: &Value) -> Result<Assign, Problem> {
    let fields = Fields::of(body)?;
    let task = opt_task_id(&fields)?.ok_or_else(|| fields.refuse("taskId", "is missing"))?;
    let worker = fields.text("workerId", limit::ID_CHARS)?;
    let worker = Name::new(worker).map_err(|_| Problem::not_found("there is no such worker"))?;
    Ok(Assign { task, worker })
}

/// Reads a broadcast (S6).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_broadcast(body: &Value) -> Result<BroadcastResponse, Problem> {
    let command = Fields::of(body)?.choice("command", &["PauseAll", "ResumeAll"])?;
    Ok(BroadcastResponse { command, paused: command == "PauseAll" })
}

/// Reads the reason of an operator; it is kept (S9).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_reason(body: &Value) -> Result<Box<str>, Problem> {
    said(body, "reason")
}

/// Reads the note of a person who looked at an entry of the quarantine (S15).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_note(body: &Value) -> Result<Box<str>, Problem> {
    said(body, "note")
}

/// Reads the frames to be rendered again; none for all that failed (S26b).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_retry(body: &Value) -> Result<Option<Vec<FrameRange>>, Problem> {
    let fields = Fields::of(body)?;
    let Some(items) = fields.opt_items("frames", limit::RETRIED_RANGES)? else { return Ok(None) };
    if items.is_empty() {
        return Err(
            fields.refuse("frames", "must name at least one range; leave it out to retry all that failed")
        );
    }
    items.iter().map(read_range).collect::<Result<_, _>>().map(Some)
}

/// Reads `[start, end]`, half-open.
fn read_range(item: &Item<'_>) -> Result<FrameRange, Problem> {
    let [start, end] = &item.items(2)?[..] else { return Err(item.refuse("must be [start, end]")) };
    let frame = |item: &Item<'_>| item.integer_in(0..=limit::FRAMES).map(i64::unsigned_abs);
    let range = FrameRange { start: frame(start)?, end: frame(end)? };
    if range.start < range.end { Ok(range) } else { Err(item.refuse("must begin before it ends")) }
}

fn said(body: &Value, key: &str) -> Result<Box<str>, Problem> {
    let fields = Fields::of(body)?;
    let text = fields.text(key, limit::REASON_CHARS)?;
    if text.trim().is_empty() {
        return Err(fields.refuse(key, "must say something"));
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn blamed<T: std::fmt::Debug>(read: Result<T, Problem>) -> String {
        read.unwrap_err().field().unwrap().to_owned()
    }

    /// S6: an operator names a task and a worker; what can be neither is unknown.
    #[test]
    fn an_assignment_names_both() {
        let read = read_assignment(&json!({"taskId": "s1.00000100", "workerId": "worker-a"})).unwrap();
        assert_eq!((read.task.to_string().as_str(), read.worker.as_str()), ("s1.00000100", "worker-a"));
        assert_eq!(blamed(read_assignment(&json!({"workerId": "w"}))), "taskId");
        assert_eq!(blamed(read_assignment(&json!({"taskId": "s1.00000100"}))), "workerId");
        let unknown = read_assignment(&json!({"taskId": "x", "workerId": "w"})).unwrap_err();
        assert_eq!(unknown.status(), 404);
    }

    /// S6: there are two words for all workers.
    #[test]
    fn a_broadcast_is_one_of_two() {
        for (command, paused) in [("PauseAll", true), ("ResumeAll", false)] {
            let read = read_broadcast(&json!({"command": command})).unwrap();
            assert_eq!(read, BroadcastResponse { command, paused });
        }
        for bad in [json!("pauseall"), json!("Pause"), json!(true), json!(null)] {
            assert_eq!(blamed(read_broadcast(&json!({"command": bad}))), "command");
        }
    }

    /// S9, S15: a reason is needed, and says something.
    #[test]
    fn a_reason_says_something() {
        assert_eq!(&*read_reason(&json!({"reason": "new card"})).unwrap(), "new card");
        for bad in [json!(""), json!(" \n"), json!(null), json!(7), json!("x".repeat(1001))] {
            assert_eq!(blamed(read_reason(&json!({"reason": bad}))), "reason");
        }
        assert_eq!(blamed(read_note(&json!({}))), "note");
        let written = serde_json::to_value(ReasonRequest { reason: "new card".to_owned() }).unwrap();
        assert_eq!(&*read_reason(&written).unwrap(), "new card");
    }

    /// S26b: a retry names ranges of frames, or none at all for everything that failed.
    #[test]
    fn a_retry_names_ranges() {
        assert_eq!(serde_json::to_value(RetryRequest::default()).unwrap(), json!({}));
        assert_eq!(read_retry(&json!({})).unwrap(), None);
        assert_eq!(read_retry(&json!({"frames": null})).unwrap(), None);
        let ranges = read_retry(&json!({"frames": [[333, 334], [0, 10]]})).unwrap().unwrap();
        assert_eq!(ranges, [FrameRange { start: 333, end: 334 }, FrameRange { start: 0, end: 10 }]);
        for (bad, field) in [
            (json!([]), "frames"),
            (json!(333), "frames"),
            (json!([333]), "frames[0]"),
            (json!([[1]]), "frames[0]"),
            (json!([[2, 2]]), "frames[0]"),
            (json!([[0, 1], [-1, 2]]), "frames[1][0]"),
            (json!([[0, 10_000_001]]), "frames[0][1]"),
        ] {
            assert_eq!(blamed(read_retry(&json!({"frames": bad}))), field, "{bad}");
        }
    }
}
