//! What workers tell: that they live, how far they are, that they give up, that they are back (S2, S4, S5b, S19).

use super::limit;
use muster_http::{Fields, Item, Problem};
use muster_model::{
    FrameTaskId, Heartbeat, Held, Millis, Name, Progress, Ratio, SessionId, ask::frames::Fail,
};
use serde_json::Value;
use std::time::Duration;

/// Reads a heartbeat. `"error"` is an error report, any other status is not (S2).
pub(crate) fn read_heartbeat(body: &Value, worker: Name) -> Result<Heartbeat, Problem> {
    let fields = Fields::of(body)?;
    Ok(Heartbeat {
        worker,
        queue_ratio: ratio(&fields.required("queueRatio")?)?,
        gpu_usage: fields.optional("gpuUsage").map(|item| ratio(&item)).transpose()?,
        last_frame: fields.opt_integer_in("lastFrame", 0..=limit::WHOLE)?.map(i64::unsigned_abs),
        error: fields.opt_text("status", limit::STATUS_CHARS)? == Some("error"),
        rtt: fields.opt_non_negative("rttMs")?.map(millis),
    })
}

/// Reads a report of progress (S4).
pub(crate) fn read_progress(body: &Value, worker: Name) -> Result<Progress, Problem> {
    let fields = Fields::of(body)?;
    let frames = |key: &str| fields.opt_integer_in(key, 0..=limit::WHOLE).map(|n| n.map(i64::unsigned_abs));
    let processed = frames("processedFrames")?;
    Ok(Progress {
        worker,
        session: session_id(&fields, "sessionId")?,
        task: opt_task_id(&fields)?,
        processed: processed.ok_or_else(|| fields.refuse("processedFrames", "is missing"))?,
        max_queue_ratio: ratio(&fields.required("maxQueueRatio")?)?,
        dropped: frames("droppedFrames")?.unwrap_or(0),
        diagnostics: diagnostics(&fields)?,
    })
}

/// Reads the end of an attempt that failed (S5b). Who reports is known by the token.
pub(crate) fn read_fail(body: &Value, task: FrameTaskId, worker: Name) -> Result<Fail, Problem> {
    let fields = Fields::of(body)?;
    let attempt = opt_attempt(&fields)?;
    let error = fields.text("error", limit::ERROR_CHARS)?.into();
    Ok(Fail { task, worker: Some(worker), attempt, error })
}

/// Reads what a worker says that comes back after a new term began (S19): what it is at, and the epoch it knows.
pub(crate) fn read_rebind(body: &Value) -> Result<(Option<Held>, Option<u64>), Problem> {
    let fields = Fields::of(body)?;
    let epoch = fields.opt_integer_in("epoch", 0..=limit::WHOLE)?.map(i64::unsigned_abs);
    let Some(task) = fields.opt_fields("currentTask")? else {
        return Ok((None, epoch));
    };
    let chunk = task.fields("globalIdChunk")?.integer_in("chunkId", 1..=i64::MAX)?.unsigned_abs();
    let attempt = opt_attempt(&task)?.ok_or_else(|| task.refuse("attempt", "is missing"))?;
    let id = opt_task_id(&task)?.ok_or_else(|| task.refuse("taskId", "is missing"))?;
    Ok((Some(Held { task: id, attempt, chunk }), epoch))
}

/// How long a pull may wait (S3): as long as it says, half a minute at most.
pub(crate) fn wait_of(wait_ms: Option<i64>) -> Duration {
    Duration::from_millis(wait_ms.unwrap_or(0).unsigned_abs()).min(WAIT_MAX)
}

/// A task's id where one is told; a text that can be none names nothing.
pub(super) fn opt_task_id(fields: &Fields<'_>) -> Result<Option<FrameTaskId>, Problem> {
    let text = fields.opt_text("taskId", limit::ID_CHARS)?;
    text.map(|text| text.parse().map_err(|_| Problem::not_found("there is no such task"))).transpose()
}

/// The number of an attempt where one is told.
pub(super) fn opt_attempt(fields: &Fields<'_>) -> Result<Option<u16>, Problem> {
    let attempt = fields.opt_integer_in("attempt", 1..=i64::from(u16::MAX))?;
    Ok(attempt.and_then(|attempt| u16::try_from(attempt).ok()))
}

fn session_id(fields: &Fields<'_>, key: &str) -> Result<SessionId, Problem> {
    let text = fields.text(key, limit::ID_CHARS)?;
    SessionId::new(text).map_err(|_| Problem::not_found("there is no such session"))
}

fn ratio(item: &Item<'_>) -> Result<Ratio, Problem> {
    Ratio::new(item.non_negative()?).ok_or_else(|| item.refuse("must be a number from 0 on"))
}

fn millis(number: f64) -> Millis {
    #[allow(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    Millis(number.ceil() as i64)
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
pub(crate) const WAIT_MS_MAX: i64 = limit::WHOLE;

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

    /// S2: the source document's heartbeat.
    #[test]
    fn golden_heartbeat() {
        let body = json!({"queueRatio": 0.42, "gpuUsage": 0.91, "lastFrame": 1234, "status": "ok"});
        let beat = read_heartbeat(&body, worker()).unwrap();
        let expected = Heartbeat {
            worker: worker(),
            queue_ratio: Ratio(420_000),
            gpu_usage: Some(Ratio(910_000)),
            last_frame: Some(1234),
            error: false,
            rtt: None,
        };
        assert_eq!(beat, expected);
    }

    /// S2: exactly "error" is an error report; the rest of a heartbeat is numbers from 0 on.
    #[test]
    fn only_error_is_an_error() {
        let with = |key: &str, value: Value| {
            let mut body = json!({"queueRatio": 0.5});
            body[key] = value;
            read_heartbeat(&body, worker())
        };
        assert!(with("status", json!("error")).unwrap().error);
        for word in ["Error", "error ", "an error", "ok", ""] {
            assert!(!with("status", json!(word)).unwrap().error, "{word}");
        }
        assert_eq!(with("rttMs", json!(500.2)).unwrap().rtt, Some(Millis(501)));
        for (key, bad) in [
            ("queueRatio", json!(-0.1)),
            ("queueRatio", json!("0.5")),
            ("queueRatio", json!(null)),
            ("gpuUsage", json!(-1)),
            ("lastFrame", json!(-1)),
            ("lastFrame", json!(1.5)),
            ("status", json!(7)),
            ("rttMs", json!(-1)),
        ] {
            assert_eq!(blamed(with(key, bad)), key);
        }
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
        assert_eq!(blamed(read_fail(&json!({}), task.clone(), worker())), "error");
        assert_eq!(blamed(read_fail(&json!({"error": "x", "attempt": 0}), task, worker())), "attempt");
    }

    /// S19: a worker that comes back names its task as it was given, or none.
    #[test]
    fn golden_rebind() {
        let body = json!({"workerId": "worker-a", "epoch": 2, "currentTask": {"taskId": "s1.00000100",
            "attempt": 1, "globalIdChunk": {"chunkId": 7, "range": [6_000_000, 7_000_000]}}, "lastFrame": 120,
            "state": "Healthy"});
        let (held, epoch) = read_rebind(&body).unwrap();
        let task = "s1.00000100".parse().unwrap();
        assert_eq!((held, epoch), (Some(Held { task, attempt: 1, chunk: 7 }), Some(2)));
        assert_eq!(read_rebind(&json!({"currentTask": null})).unwrap(), (None, None));
        let bad = json!({"currentTask": {"taskId": "s1.00000100", "attempt": 1}});
        assert_eq!(blamed(read_rebind(&bad)), "currentTask.globalIdChunk");
    }
}
