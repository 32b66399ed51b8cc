//! Sessions as a client submits them, and as they are shown (S26).

use crate::{CompletedRange, Coverage, DroppedFrames, JsonText, Range, Replay, digest, limit, schema};
use muster_model::{SessionId, SessionRecord, SessionStatus, SessionSubmission};
use muster_problem::{Fields, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;
use utoipa::ToSchema;

/// The submission of a session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRequest {
    /// The client's name for it.
    pub session_id: String,
    /// Number of frames.
    pub total_frames: u64,
    /// Frames per task at most.
    pub frames_per_task: u64,
    /// The scene, in words of the workers' own.
    pub scenario: JsonText,
    /// The cameras, in words of the workers' own.
    pub cameras: JsonText,
    /// `strict` or `relaxed`.
    pub quality_mode: String,
    /// Its directory, relative to the output root; the server's choice if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_directory: Option<String>,
}

/// The status of a session, as a parameter.
#[derive(Clone, Copy, Debug)]
pub struct SessionStatusWord;

/// A session and its status.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The client's name for it.
    pub session_id: String,
    /// `running`, `paused`, `completed`, `failed` or `cancelled`.
    pub status: Cow<'static, str>,
    /// How many frames.
    pub total_frames: u64,
    /// Frames done.
    pub completed_frames: u64,
    /// True if it is completed and no frame is missing.
    pub complete: bool,
    /// Frames that are missing: given up after they failed, or left out of the manifest.
    pub skipped_frames: u64,
    /// Frames per task at most.
    pub frames_per_task: u64,
    /// `strict` or `relaxed`.
    pub quality_mode: Cow<'static, str>,
    /// Its directory, relative to the output root.
    pub output_directory: String,
    /// When it was submitted, epoch milliseconds.
    pub created_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// Why it failed, or which frames are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub error: Option<String>,
}

/// One session with everything about it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDetail {
    /// The session itself.
    #[serde(flatten)]
    pub session: Session,
    /// All frames are done or given up, and the manifest is being written.
    pub merging: bool,
    /// The frames that are missing, `[start, end]` each: `POST /api/v1/sessions/{id}/retry` renders them again.
    #[schema(schema_with = schema::ranges)]
    pub failed_frames: Vec<Range>,
    /// The completed ranges with what was submitted for them, by first frame; at most 1000.
    pub ranges: Vec<CompletedRange>,
    /// True if `ranges` has all of them.
    pub ranges_complete: bool,
    /// Which frames stand where, in order and without a gap.
    pub coverage: Vec<Coverage>,
    /// True if `coverage` goes to the last frame; a session of very many tasks is shown up to some frame.
    pub coverage_complete: bool,
    /// Ranges that were given out anew.
    pub replays: Vec<Replay>,
    /// Frames that were dropped, by range.
    pub drops: Vec<DroppedFrames>,
    /// Frames a second that the workers at it make together.
    pub rate: f64,
    /// How long it will take at that rate; null where that cannot be known.
    pub eta_seconds: Option<u64>,
    /// As it was submitted.
    pub scenario: JsonText,
    /// As it was submitted.
    pub cameras: JsonText,
}

/// How far a session is at a moment; an event `tick` of its stream.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tick {
    /// Which session.
    pub session_id: String,
    /// `running`, `paused`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// How many frames.
    pub total_frames: u64,
    /// Frames done.
    pub completed_frames: u64,
    /// Tasks that workers hold.
    pub live_tasks: usize,
    /// Frames a second that the workers at it make together.
    pub rate: f64,
    /// How long it will take at that rate; null where that cannot be known.
    pub eta_seconds: Option<u64>,
    /// The moment, epoch milliseconds.
    pub at: i64,
}

/// Reads the body of a submission. `text` is the body as it came: all of it is kept. Whether its directory may be used is
/// for the output root to say.
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_session(body: &Value, text: &str) -> Result<SessionSubmission, Problem> {
    let fields = Fields::of(body)?;
    let session = SessionId::new(fields.text("sessionId", limit::ID_CHARS)?);
    let detail = "must have 1 to 64 of a to z, 0 to 9, `_` and `-`";
    let session = session.map_err(|_| fields.refuse("sessionId", detail))?;
    let frames = |key: &str| fields.integer_in(key, 1..=limit::FRAMES).map(i64::unsigned_abs);
    let output = fields.opt_text("outputDirectory", limit::PATH_CHARS)?;
    let output = output.map_or_else(|| format!("session_{session}").into(), Into::into);
    Ok(SessionSubmission {
        digest: digest(body),
        total_frames: frames("totalFrames")?,
        frames_per_task: frames("framesPerTask")?,
        strict: fields.opt_choice("qualityMode", &["strict", "relaxed"])? != Some("relaxed"),
        output,
        body: text.into(),
        session,
    })
}

/// The scenario and the cameras of a body as it was submitted. It was checked then; a damaged one shows as nothing.
#[must_use]
pub fn read_parts(text: &str) -> (JsonText, Option<JsonText>) {
    let raw: Raw = serde_json::from_str(text).unwrap_or_default();
    (raw.scenario.map_or_else(JsonText::null, Into::into), raw.cameras.map(Into::into))
}

impl SessionStatusWord {
    /// All words.
    pub const ALL: [&str; 5] = ["running", "paused", "completed", "failed", "cancelled"];
}

impl From<SessionRecord> for Session {
    fn from(record: SessionRecord) -> Self {
        Self {
            session_id: record.id.to_string(),
            status: record.status.as_str().into(),
            total_frames: record.total_frames,
            completed_frames: record.completed_frames,
            complete: record.status == SessionStatus::Completed && record.failed_frames == 0,
            skipped_frames: record.failed_frames,
            frames_per_task: record.frames_per_task,
            quality_mode: if record.strict { "strict" } else { "relaxed" }.into(),
            output_directory: record.output.into(),
            created_at: record.created_at.0,
            ended_at: record.ended_at.map(|at| at.0),
            error: record.error.map(Into::into),
        }
    }
}

/// Frames a second, of frames per 1000 seconds.
#[allow(clippy::cast_precision_loss, reason = "rates stay far below 2^53")]
#[must_use]
pub fn frames_a_second(per_1000_s: u64) -> f64 {
    per_1000_s as f64 / 1000.0
}

/// Time that so many frames will take; unknown if nothing progresses.
#[must_use]
pub fn eta_seconds(frames_left: u64, per_1000_s: u64) -> Option<u64> {
    let thousandths = frames_left.checked_mul(1000)?;
    (per_1000_s > 0).then(|| thousandths.div_ceil(per_1000_s))
}

#[derive(Default, Deserialize)]
struct Raw {
    scenario: Option<Box<RawValue>>,
    cameras: Option<Box<RawValue>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: &Value) -> Result<SessionSubmission, Problem> {
        read_session(body, &body.to_string())
    }

    fn with(key: &str, value: Value) -> Value {
        let mut body = json!({"sessionId": "s1", "totalFrames": 100, "framesPerTask": 10});
        body[key] = value;
        body
    }

    fn blamed(body: &Value) -> String {
        let problem = read(body).unwrap_err();
        assert_eq!(problem.status(), 422, "{body}");
        problem.field().unwrap().to_owned()
    }

    /// S26: every field of a session, and what the rest defaults to.
    #[test]
    fn golden_session() {
        let body = json!({"sessionId": "night_run-7", "totalFrames": 10_000, "framesPerTask": 500,
            "scenario": {"map": "plaza"}, "cameras": ["cam1"], "qualityMode": "relaxed", "outputDirectory": "a/b"});
        let session = read(&body).unwrap();
        assert_eq!((session.session.as_str(), &*session.output), ("night_run-7", "a/b"));
        assert_eq!((session.total_frames, session.frames_per_task, session.strict), (10_000, 500, false));
        let (scenario, cameras) = read_parts(&session.body);
        assert_eq!((scenario.as_str(), cameras.unwrap().as_str()), (r#"{"map":"plaza"}"#, r#"["cam1"]"#));
        let least = read(&with("own", json!(1))).unwrap();
        assert_eq!((&*least.output, least.strict), ("session_s1", true));
        let (scenario, cameras) = read_parts(&least.body);
        assert_eq!((scenario.as_str(), cameras.is_none()), ("null", true));
    }

    /// S26: a client reads what the server shows, words of a newer one included, and passes on the scene letter by letter.
    #[test]
    fn golden_session_detail() {
        let text = r#"{"sessionId":"s1","status":"completed","totalFrames":100,"completedFrames":99,"complete":false,"skippedFrames":1,"framesPerTask":10,"qualityMode":"relaxed","outputDirectory":"d","createdAt":1,"endedAt":2,"error":"frames are missing","merging":false,"failedFrames":[[7,8]],"ranges":[{"frameRange":[0,7],"globalIdChunkId":1,"workerId":"w1","poseFiles":["a"],"metricsSnapshot":null}],"rangesComplete":true,"coverage":[{"frameRange":[0,7],"status":"completed","workerId":"w1"},{"frameRange":[7,8],"status":"failed"}],"coverageComplete":false,"replays":[{"frameRange":[0,7],"retiredChunkId":1,"newChunkId":2}],"drops":[{"frameRange":[0,7],"workerId":"w1","droppedFrames":1}],"rate":2.5,"etaSeconds":null,"scenario":{"b": 1.50, "a": 2},"cameras":["front"]}"#;
        let read: SessionDetail = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        let newer = text.replace("\"completed\"", "\"resting\"").replace("\"rate\"", "\"mood\":1,\"rate\"");
        let read: SessionDetail = serde_json::from_str(&newer).unwrap();
        assert_eq!((&*read.session.status, &*read.coverage[0].status), ("resting", "resting"));
    }

    /// S26: the server reads what a client writes.
    #[test]
    fn a_submission_is_read_as_it_was_written() {
        let request = SessionRequest {
            session_id: "s1".to_owned(),
            total_frames: 100,
            frames_per_task: 10,
            scenario: JsonText::null(),
            cameras: (&json!(["front"])).into(),
            quality_mode: "relaxed".to_owned(),
            output_directory: Some("d".to_owned()),
        };
        let session = read(&serde_json::to_value(request).unwrap()).unwrap();
        assert_eq!((session.session.as_str(), &*session.output, session.strict), ("s1", "d", false));
        assert_eq!((session.total_frames, session.frames_per_task), (100, 10));
    }

    /// S26: figures have bounds, ids a form, and what is wrong is named.
    #[test]
    fn a_session_is_checked() {
        for (key, bads) in [
            (
                "sessionId",
                vec![json!(""), json!("A"), json!("a.b"), json!("x".repeat(65)), json!(7), json!(null)],
            ),
            (
                "totalFrames",
                vec![json!(0), json!(10_000_001), json!(-1), json!("9"), json!(1.5), json!(null)],
            ),
            ("framesPerTask", vec![json!(0), json!(10_000_001), json!("9"), json!(null)]),
            ("qualityMode", vec![json!("Strict"), json!(""), json!(1)]),
            ("outputDirectory", vec![json!(7), json!("x".repeat(1025)), json!("a\0")]),
        ] {
            for bad in bads {
                assert_eq!(blamed(&with(key, bad.clone())), key, "{bad}");
            }
        }
        assert!(read(&with("framesPerTask", json!(10_000_000))).is_ok());
    }

    /// S26: the time left is told where something moves.
    #[test]
    fn an_eta_is_told_where_it_can_be() {
        assert_eq!(eta_seconds(100, 2500), Some(40));
        assert_eq!(eta_seconds(1, 2500), Some(1));
        assert_eq!((eta_seconds(100, 0), eta_seconds(0, 2500)), (None, Some(0)));
        assert!((frames_a_second(2500) - 2.5).abs() < 1e-9);
    }

    #[test]
    fn every_status_has_a_word() {
        assert_eq!(SessionStatusWord::ALL.map(SessionStatus::from_word), SessionStatus::ALL.map(Some));
    }
}
