//! Reports of workers: progress (S4), failure (S5b), and requests for further ids (S1).

use crate::{heartbeat::read_ratio, limit, to_bytes};
use muster_model::{
    FrameTaskId, Name, Progress, Ratio, SessionId,
    ask::frames::{Fail, MoreIds},
};
use muster_problem::{Fields, Item, Problem, WireMutant, planted};
use serde::Serialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use utoipa::ToSchema;

/// Progress as a worker writes it (S4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressRequest {
    /// The session.
    pub session: Arc<str>,
    /// The task; without it, the one that the worker holds.
    pub task: Option<Arc<str>>,
    /// Frames done.
    pub processed: u64,
    /// Maximum fill ratio of the queue.
    pub max_queue_ratio: Ratio,
    /// Frames left out so far.
    pub dropped: u64,
    /// Lines for the diagnostics log.
    pub diagnostics: Vec<Arc<str>>,
}

/// A failure as a worker writes it (S5b).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailRequest {
    /// The worker.
    pub worker: Arc<str>,
    /// The attempt; without it, the one that the worker holds.
    pub attempt: Option<u16>,
    /// The reason, for people.
    pub error: Arc<str>,
}

/// A request for further ids as a worker writes it (S1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdRangeRequest {
    /// The worker.
    pub worker: Arc<str>,
    /// The task; without it, the one that the worker holds.
    pub task: Option<Arc<str>>,
    /// Number of ids needed.
    pub count: u64,
}

/// The response to a report that has no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Acknowledgement {
    /// Always true.
    pub ok: bool,
}

impl ProgressRequest {
    /// The body.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = json!({
            "sessionId": &*self.session,
            "processedFrames": self.processed,
            "maxQueueRatio": self.max_queue_ratio.value(),
            "droppedFrames": self.dropped,
            "diagnostics": self.diagnostics.iter().map(|line| &**line).collect::<Vec<_>>(),
        });
        set(&mut body, "taskId", self.task.as_deref());
        to_bytes(&body)
    }
}

impl FailRequest {
    /// The body.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = json!({"workerId": &*self.worker, "error": &*self.error});
        set(&mut body, "attempt", self.attempt);
        to_bytes(&body)
    }
}

impl IdRangeRequest {
    /// The body.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = json!({"workerId": &*self.worker, "requestedCount": self.count});
        set(&mut body, "taskId", self.task.as_deref());
        to_bytes(&body)
    }
}

impl Acknowledgement {
    /// The only one there is.
    pub const OK: Self = Self { ok: true };
}

/// Reads a report of progress (S4).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_progress(body: &Value, worker: Name) -> Result<Progress, Problem> {
    let fields = Fields::of(body)?;
    let frames = |key: &str| fields.opt_integer_in(key, 0..=limit::WHOLE).map(|n| n.map(i64::unsigned_abs));
    let processed = frames("processedFrames")?;
    Ok(Progress {
        worker,
        session: session_id(&fields, "sessionId")?,
        task: opt_task_id(&fields)?,
        processed: processed.ok_or_else(|| fields.refuse("processedFrames", "is missing"))?,
        max_queue_ratio: read_ratio(&fields.required("maxQueueRatio")?)?,
        dropped: frames("droppedFrames")?.filter(|_| !planted(WireMutant::DroppedFramesNotRead)).unwrap_or(0),
        diagnostics: diagnostics(&fields)?,
    })
}

/// Reads the end of an attempt that failed (S5b). Who reports is known by the token.
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_fail(body: &Value, task: FrameTaskId, worker: Name) -> Result<Fail, Problem> {
    let fields = Fields::of(body)?;
    let attempt = opt_attempt(&fields)?;
    let error = fields.text("error", limit::ERROR_CHARS)?.into();
    Ok(Fail { task, worker: Some(worker), attempt, error })
}

/// Reads how many more ids a worker needs (S1).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_id_request(body: &Value, worker: Name) -> Result<MoreIds, Problem> {
    let fields = Fields::of(body)?;
    let count = fields.integer_in("requestedCount", 1..=limit::REQUESTED_IDS)?.unsigned_abs();
    Ok(MoreIds { worker, task: opt_task_id(&fields)?, count })
}

/// Maximum wait of a pull (S3): as requested, but at most half a minute.
#[must_use]
pub fn wait_of(wait_ms: Option<i64>) -> Duration {
    Duration::from_millis(wait_ms.unwrap_or(0).unsigned_abs()).min(WAIT_MAX)
}

/// A task's id where one is told; a text that can be none names nothing.
pub(crate) fn opt_task_id(fields: &Fields<'_>) -> Result<Option<FrameTaskId>, Problem> {
    let text = fields.opt_text("taskId", limit::ID_CHARS)?;
    text.map(|text| text.parse().map_err(|_| Problem::not_found("there is no such task"))).transpose()
}

/// The number of an attempt where one is told.
pub(crate) fn opt_attempt(fields: &Fields<'_>) -> Result<Option<u16>, Problem> {
    let attempt = fields.opt_integer_in("attempt", 1..=i64::from(u16::MAX))?;
    Ok(attempt.and_then(|attempt| u16::try_from(attempt).ok()))
}

fn set(body: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[key] = value.into();
    }
}

fn session_id(fields: &Fields<'_>, key: &str) -> Result<SessionId, Problem> {
    let text = fields.text(key, limit::ID_CHARS)?;
    SessionId::new(text).map_err(|_| Problem::not_found("there is no such session"))
}

/// A line is text; whatever else stands there is kept as the JSON it is.
fn diagnostics(fields: &Fields<'_>) -> Result<Vec<Box<str>>, Problem> {
    let lines = fields.opt_items("diagnostics", limit::DIAGNOSTIC_LINES)?.unwrap_or_default();
    let line = |item: &Item<'_>| {
        let text = item.value.as_str().map_or_else(|| item.value.to_string(), str::to_owned);
        if text.len() > limit::DIAGNOSTIC_BYTES {
            return Err(item.refuse(&format!("must have at most {} bytes", limit::DIAGNOSTIC_BYTES)));
        }
        if text.contains('\0') {
            return Err(item.refuse("must not contain NUL"));
        }
        Ok(text.into())
    };
    lines.iter().map(line).collect()
}

/// The longest `wait_ms` that is taken at all; what is longer than half a minute counts as that.
pub const WAIT_MS_MAX: i64 = limit::WHOLE;

const WAIT_MAX: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// S3: a pull waits half a minute at most.
    #[test]
    fn a_wait_is_bounded() {
        assert_eq!(wait_of(None), Duration::ZERO);
        assert_eq!(wait_of(Some(1500)), Duration::from_millis(1500));
        assert_eq!(wait_of(Some(WAIT_MS_MAX)), Duration::from_secs(30));
    }

    fn worker() -> Name {
        Name::new("worker-a").unwrap()
    }

    fn blamed<T: std::fmt::Debug>(read: Result<T, Problem>) -> String {
        let problem = read.unwrap_err();
        assert_eq!(problem.status(), 422);
        problem.field().unwrap().to_owned()
    }

    /// S4: the source document's progress; a line of diagnostics may be anything.
    #[test]
    fn golden_progress() {
        let body = json!({"sessionId": "s1", "processedFrames": 120, "maxQueueRatio": 0.7, "droppedFrames": 2,
            "diagnostics": ["gc pause", {"level": "warn"}]});
        let progress = read_progress(&body, worker()).unwrap();
        assert_eq!((progress.session.as_str(), &progress.task), ("s1", &None));
        assert_eq!((progress.processed, progress.dropped), (120, 2));
        assert_eq!(progress.max_queue_ratio, Ratio(700_000));
        assert_eq!(progress.diagnostics, ["gc pause".into(), r#"{"level":"warn"}"#.into()]);
        let least =
            json!({"sessionId": "s1", "processedFrames": 0, "maxQueueRatio": 0, "taskId": "s1.00000100"});
        let progress = read_progress(&least, worker()).unwrap();
        assert_eq!(progress.task.unwrap().start, 100);
    }

    /// S4: reports are bounded, and what is wrong is named.
    #[test]
    fn a_report_is_bounded() {
        let base = json!({"sessionId": "s1", "processedFrames": 1, "maxQueueRatio": 0.1});
        let with = |key: &str, value: Value| {
            let mut body = base.clone();
            body[key] = value;
            read_progress(&body, worker())
        };
        for (key, bad) in [
            ("processedFrames", json!(-1)),
            ("processedFrames", json!(null)),
            ("maxQueueRatio", json!("1")),
            ("droppedFrames", json!(1.5)),
            ("diagnostics", json!("x")),
            ("diagnostics", json!(vec!["x"; 101])),
            ("sessionId", json!(1)),
            ("taskId", json!(1)),
        ] {
            assert_eq!(blamed(with(key, bad)), key);
        }
        assert_eq!(blamed(with("diagnostics", json!(["a", "x".repeat(4097)]))), "diagnostics[1]");
        for unknown in [with("sessionId", json!("S 1")), with("taskId", json!("s1"))] {
            assert_eq!(unknown.unwrap_err().status(), 404);
        }
    }

    /// S5b: a failure says what went wrong; who and which attempt may be left out.
    #[test]
    fn golden_fail() {
        let task: FrameTaskId = "s1.00000100".parse().unwrap();
        let body = json!({"workerId": "worker-a", "attempt": 2, "error": "out of memory"});
        let Fail { attempt, error, .. } = read_fail(&body, task.clone(), worker()).unwrap();
        assert_eq!((attempt, &*error), (Some(2), "out of memory"));
        let bare = json!({"workerId": "worker-a", "error": "out of memory"});
        assert_eq!(read_fail(&bare, task.clone(), worker()).unwrap().attempt, None);
        assert_eq!(blamed(read_fail(&json!({}), task.clone(), worker())), "error");
        assert_eq!(blamed(read_fail(&json!({"error": "x", "attempt": 0}), task, worker())), "attempt");
    }

    /// S1: at least one id is asked for.
    #[test]
    fn ids_are_counted() {
        let worker = || Name::new("w").unwrap();
        let read = read_id_request(&json!({"workerId": "w", "requestedCount": 5}), worker()).unwrap();
        assert_eq!((read.count, read.task), (5, None));
        for bad in [json!(0), json!(-1), json!("5"), json!(1.5), json!(null)] {
            assert_eq!(blamed(read_id_request(&json!({"requestedCount": bad}), worker())), "requestedCount");
        }
    }

    /// S1, S4, S5b: the server reads what a worker writes; optional fields may be left out.
    #[test]
    fn reports_are_written_and_read() {
        let value = |bytes: Vec<u8>| -> Value { serde_json::from_slice(&bytes).unwrap() };
        let progress = ProgressRequest {
            session: "demo".into(),
            task: Some("demo.00000000".into()),
            processed: 7,
            max_queue_ratio: Ratio(500_000),
            dropped: 1,
            diagnostics: vec!["slow disk".into()],
        };
        let body = value(progress.to_bytes());
        let expected = json!({"sessionId": "demo", "taskId": "demo.00000000", "processedFrames": 7,
            "maxQueueRatio": 0.5, "droppedFrames": 1, "diagnostics": ["slow disk"]});
        assert_eq!(body, expected);
        let read = read_progress(&body, worker()).unwrap();
        assert_eq!((read.processed, read.dropped, read.task.unwrap().start), (7, 1, 0));
        let fail = FailRequest { worker: "worker-a".into(), attempt: Some(2), error: "e".into() };
        assert_eq!(value(fail.to_bytes()), json!({"workerId": "worker-a", "attempt": 2, "error": "e"}));
        let ids = IdRangeRequest { worker: "worker-a".into(), task: Some("demo.00000000".into()), count: 9 };
        let expected = json!({"workerId": "worker-a", "taskId": "demo.00000000", "requestedCount": 9});
        assert_eq!(value(ids.to_bytes()), expected);
        let bare = IdRangeRequest { task: None, ..ids };
        assert_eq!(read_id_request(&value(bare.to_bytes()), worker()).unwrap().task, None);
    }
}
