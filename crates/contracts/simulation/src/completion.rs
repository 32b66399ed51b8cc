//! Completion of a range (S5).

use crate::{digest, limit, report::opt_attempt};
use muster_manifest::{Fragment, Refusal};
use muster_model::{Completion, CompletionReply, Digest, FrameRange, FrameTaskId, Name};
use muster_problem::{Fields, Item, Problem, WireMutant, planted};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use std::sync::Arc;
use utoipa::ToSchema;

/// A completion as a worker writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct CompleteRequest {
    /// The worker.
    pub worker: Arc<str>,
    /// The attempt; without it, the chunk of the fragment identifies it.
    pub attempt: Option<u16>,
    /// The fragment.
    pub manifest: Manifest,
    /// Files of poses, relative to the task's directory.
    pub pose_files: Vec<String>,
    /// Figures of the worker's own.
    pub metrics_snapshot: Value,
}

/// A fragment, or the path of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    /// In the message, letter by letter as it came.
    Inline(Box<str>),
    /// A file in the task's directory.
    Path(String),
}

/// A completion as the server reads it, its fragment not read yet.
#[derive(Clone, Debug)]
pub struct ReceivedCompletion {
    /// The attempt, if given.
    pub attempt: Option<u16>,
    /// The fragment.
    pub manifest: Manifest,
    /// Files of poses, relative to the task's directory.
    pub pose_files: Vec<String>,
    /// The digest of the whole message.
    pub digest: Digest,
    /// Dropped frames by the message itself.
    dropped: u64,
    /// The members that are kept with the task, as JSON text.
    result: Box<str>,
}

/// The range and the chunk of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedRange {
    /// The task.
    pub task: FrameTaskId,
    /// Its frames.
    pub range: FrameRange,
    /// The chunk of its ids.
    pub chunk: u64,
}

/// The response to a completion that was accepted, now or before (S5).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompleteResponse {
    /// Always true.
    pub accepted: bool,
    /// It was accepted before.
    pub repeated: bool,
    /// The task.
    pub task_id: String,
    /// The worker that held it.
    pub worker_id: String,
    /// The attempt.
    pub attempt: u16,
}

impl CompleteRequest {
    /// The body, as JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (inline, path) = match &self.manifest {
            Manifest::Inline(fragment) => (RawValue::from_string(fragment.to_string()).ok(), None),
            Manifest::Path(path) => (None, Some(&**path)),
        };
        let body = Body {
            worker_id: &self.worker,
            attempt: self.attempt,
            manifest_fragment: inline,
            manifest_fragment_path: path,
            pose_files: &self.pose_files,
            metrics_snapshot: &self.metrics_snapshot,
        };
        serde_json::to_string(&body).expect("it holds texts and numbers")
    }
}

impl CompleteResponse {
    /// The response to a completion of this task.
    #[must_use]
    pub fn new(task: &FrameTaskId, reply: &CompletionReply) -> Self {
        Self {
            accepted: true,
            repeated: reply.repeated,
            task_id: task.to_string(),
            worker_id: reply.worker.to_string(),
            attempt: reply.attempt,
        }
    }
}

impl ReceivedCompletion {
    /// Reads the fragment and makes the command.
    ///
    /// # Errors
    /// The fragment is wrong; the problem names the field.
    pub fn with_fragment(
        &self,
        bytes: &[u8],
        task: FrameTaskId,
        worker: &Name,
    ) -> Result<Completion, Problem> {
        let fragment = Fragment::parse(bytes).map_err(|refusal| self.refuse(&refusal))?;
        if fragment.worker().is_some_and(|said| said != worker.as_str()) {
            return Err(self.blame("workerId", "must be who hands it in"));
        }
        let range = fragment.frame_range();
        let range = FrameRange { start: range.start, end: range.end };
        let completion = self.for_range(worker, AssignedRange { task, range, chunk: fragment.chunk() });
        Ok(Completion { dropped: self.dropped.max(fragment.dropped_frames().unwrap_or(0)), ..completion })
    }

    /// The command for a range and a chunk that are known otherwise.
    #[must_use]
    pub fn for_range(&self, worker: &Name, assigned: AssignedRange) -> Completion {
        let AssignedRange { task, range, chunk } = assigned;
        Completion {
            task,
            worker: Some(worker.clone()),
            attempt: self.attempt,
            range,
            chunk,
            dropped: self.dropped,
            digest: self.digest,
            result: self.result.clone(),
            dry: true,
        }
    }

    fn refuse(&self, refusal: &Refusal) -> Problem {
        match refusal {
            Refusal::NotJson(_) => self.blame("", &format!("is no fragment: {refusal}")),
            Refusal::Field { field, problem } => self.blame(field, &format!("is wrong: {problem}")),
        }
    }

    /// The problem of a field of the fragment, which has a path of its own only inside the message.
    fn blame(&self, field: &str, detail: &str) -> Problem {
        match (&self.manifest, field) {
            (Manifest::Inline(_), "") => Problem::unprocessable(INLINE, detail),
            (Manifest::Inline(_), field) => Problem::unprocessable(format!("{INLINE}.{field}"), detail),
            (Manifest::Path(_), field) => {
                Problem::unprocessable(BY_PATH, &format!("leads to a fragment whose {field} {detail}"))
            }
        }
    }
}

/// Reads the body of a completion. `text` is the body as it came, for what must be kept letter by letter.
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_completion(body: &Value, text: &str) -> Result<ReceivedCompletion, Problem> {
    let fields = Fields::of(body)?;
    let dropped = fields.opt_integer_in("droppedFrames", 0..=limit::WHOLE)?.unwrap_or(0);
    Ok(ReceivedCompletion {
        attempt: opt_attempt(&fields)?.filter(|_| !planted(WireMutant::CompletionAttemptNotRead)),
        manifest: manifest(&fields, text)?,
        pose_files: pose_files(&fields)?,
        digest: digest(body),
        dropped: dropped.unsigned_abs(),
        result: result(&fields),
    })
}

fn manifest(fields: &Fields<'_>, text: &str) -> Result<Manifest, Problem> {
    let path = fields.opt_text(BY_PATH, limit::PATH_CHARS)?;
    let inline = fields.opt_fields(INLINE)?;
    match (inline, path) {
        (Some(_), None) => {
            let raw: Raw<'_> = serde_json::from_str(text).map_err(|error| Problem::internal(&error))?;
            let raw = raw.manifest_fragment.map(RawValue::get).unwrap_or_default();
            Ok(Manifest::Inline(raw.into()))
        }
        (None, Some(path)) => Ok(Manifest::Path(path.to_owned())),
        (Some(_), Some(_)) => Err(fields.refuse(BY_PATH, "must not stand beside manifestFragment")),
        (None, None) => Err(fields.refuse(INLINE, "is missing: give it, or manifestFragmentPath")),
    }
}

fn pose_files(fields: &Fields<'_>) -> Result<Vec<String>, Problem> {
    let files = fields.opt_items("poseFiles", limit::POSE_FILES)?.unwrap_or_default();
    files.iter().map(|item: &Item<'_>| item.text(limit::PATH_CHARS).map(str::to_owned)).collect()
}

/// The members that are not kept elsewhere: the fragment has a file of its own, the rest is in the task's row.
fn result(fields: &Fields<'_>) -> Box<str> {
    let mut kept = fields.object().clone();
    for known in ["workerId", "attempt", INLINE] {
        kept.remove(known);
    }
    Value::Object(kept).to_string().into()
}

/// The message as it is written; once, so that every try has the same bytes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    worker_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest_fragment: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest_fragment_path: Option<&'a str>,
    pose_files: &'a [String],
    metrics_snapshot: &'a Value,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(rename = "manifestFragment", borrow)]
    manifest_fragment: Option<&'a RawValue>,
}

const INLINE: &str = "manifestFragment";
const BY_PATH: &str = "manifestFragmentPath";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const GOLDEN: &str = r#"{"workerId": "worker-a", "attempt": 1,
        "manifestFragment": {"frameRange": [0, 100],  "globalIdChunkId": 1, "cameras": [{"id": "cam1"}],
            "statistics": {"detections": 1.50}, "validationSummary": {"ok": true}},
        "poseFiles": ["pose/0.json"], "metricsSnapshot": {"fps": 30}, "own": 1}"#;

    fn read(text: &str) -> Result<ReceivedCompletion, Problem> {
        read_completion(&serde_json::from_str(text).unwrap(), text)
    }

    fn completed(text: &str) -> Result<Completion, Problem> {
        let received = read(text)?;
        let Manifest::Inline(fragment) = received.manifest.clone() else { panic!("by path") };
        received.with_fragment(
            fragment.as_bytes(),
            "s1.00000000".parse().unwrap(),
            &Name::new("worker-a").unwrap(),
        )
    }

    fn blamed(body: &Value) -> String {
        let problem = completed(&body.to_string()).unwrap_err();
        assert_eq!(problem.status(), 422, "{body}");
        problem.field().unwrap().to_owned()
    }

    /// S5, S21: the source document's completion; its fragment is kept letter by letter.
    #[test]
    fn golden_complete() {
        let received = read(GOLDEN).unwrap();
        assert_eq!((received.attempt, &received.pose_files[..]), (Some(1), &["pose/0.json".to_owned()][..]));
        let Manifest::Inline(fragment) = &received.manifest else { panic!("by path") };
        assert!(fragment.contains(r#"[0, 100],  "globalIdChunkId""#) && fragment.contains("1.50"));
        let completion = completed(GOLDEN).unwrap();
        assert_eq!((completion.range, completion.chunk), (FrameRange { start: 0, end: 100 }, 1));
        let result: Value = serde_json::from_str(&completion.result).unwrap();
        let kept = json!({"poseFiles": ["pose/0.json"], "metricsSnapshot": {"fps": 30}, "own": 1});
        assert_eq!(result, kept);
    }

    /// S5: a completion has one fragment, in the message or by path.
    #[test]
    fn a_completion_has_one_fragment() {
        let by_path = read(r#"{"manifestFragmentPath": "meta/f.json"}"#).unwrap();
        assert_eq!(by_path.manifest, Manifest::Path("meta/f.json".to_owned()));
        for (body, field) in [
            (json!({}), INLINE),
            (json!({"manifestFragment": null}), INLINE),
            (json!({"manifestFragment": "x"}), INLINE),
            (json!({"manifestFragmentPath": 7}), BY_PATH),
            (json!({"manifestFragment": {}, "manifestFragmentPath": "f"}), BY_PATH),
            (json!({"manifestFragment": {}, "attempt": 0}), "attempt"),
            (json!({"manifestFragment": {}, "poseFiles": "p"}), "poseFiles"),
            (json!({"manifestFragment": {}, "poseFiles": ["p", 7]}), "poseFiles[1]"),
        ] {
            assert_eq!(blamed(&body), field, "{body}");
        }
    }

    /// S5, S25: what is wrong in a fragment is named by its path in the message.
    #[test]
    fn a_wrong_fragment_is_named() {
        let with = |fragment: Value| json!({"manifestFragment": fragment});
        assert_eq!(blamed(&with(json!({"globalIdChunkId": 1}))), "manifestFragment.frameRange");
        let reversed = json!({"frameRange": [5, 1], "globalIdChunkId": 1});
        assert_eq!(blamed(&with(reversed)), "manifestFragment.frameRange");
        let foreign = json!({"frameRange": [0, 1], "globalIdChunkId": 1, "workerId": "worker-b"});
        assert_eq!(blamed(&with(foreign)), "manifestFragment.workerId");
        let received = read(r#"{"manifestFragmentPath": "f"}"#).unwrap();
        let problem = received.with_fragment(b"x", "s1.00000000".parse().unwrap(), &Name::new("w").unwrap());
        assert_eq!(problem.unwrap_err().field(), Some(BY_PATH));
    }

    /// S26: dropped frames are those that the fragment or the message tells.
    #[test]
    fn dropped_frames_are_found() {
        let told = |body: Value| completed(&body.to_string()).unwrap().dropped;
        let fragment =
            json!({"frameRange": [0, 9], "globalIdChunkId": 1, "statistics": {"droppedFrames": 2}});
        assert_eq!(told(json!({"manifestFragment": fragment})), 2);
        assert_eq!(told(json!({"manifestFragment": fragment, "droppedFrames": 3})), 3);
    }

    /// S5: the order of keys does not make another body; anything else does.
    #[test]
    fn a_repeat_is_recognised() {
        let of = |text: &str| read(text).unwrap().digest;
        let first = of(r#"{"manifestFragmentPath":"f","poseFiles":["a"]}"#);
        assert_eq!(first, of(r#"{ "poseFiles": ["a"], "manifestFragmentPath": "f" }"#));
        assert_ne!(first, of(r#"{"manifestFragmentPath":"f","poseFiles":["b"]}"#));
    }

    /// S5: the server reads what a worker writes, with the fragment in the message or by path.
    #[test]
    fn a_completion_is_written_and_read() {
        let fragment = r#"{"frameRange": [0, 100], "globalIdChunkId": 1}"#;
        let request = CompleteRequest {
            worker: "worker-a".into(),
            attempt: Some(1),
            manifest: Manifest::Inline(fragment.into()),
            pose_files: vec!["poses/0.json".to_owned()],
            metrics_snapshot: json!({"fps": 30}),
        };
        let received = read(&request.to_text()).unwrap();
        assert_eq!((received.attempt, &received.manifest), (Some(1), &request.manifest));
        assert_eq!(received.pose_files, request.pose_files);
        let by_path = Manifest::Path("meta/f.json".to_owned());
        let request = CompleteRequest { attempt: None, manifest: by_path.clone(), ..request };
        let received = read(&request.to_text()).unwrap();
        assert_eq!((received.attempt, received.manifest), (None, by_path));
    }
}
