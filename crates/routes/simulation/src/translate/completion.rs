//! A range as a worker hands it in (S5).

use super::{digest, limit, report::opt_attempt};
use muster_http::{Fields, Item, Problem};
use muster_manifest::{Fragment, Refusal};
use muster_model::{Completion, Digest, FrameRange, FrameTaskId, Name};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

/// A completion, its fragment not read yet.
#[derive(Clone, Debug)]
pub(crate) struct Handed {
    /// Which attempt, where told.
    pub(crate) attempt: Option<u16>,
    /// Its fragment.
    pub(crate) manifest: Manifest,
    /// Files it names, relative to the task's directory.
    pub(crate) pose_files: Vec<String>,
    /// Of the whole message.
    pub(crate) digest: Digest,
    /// Frames the message itself says were dropped.
    dropped: u64,
    /// What is kept with the task, as JSON text.
    result: Box<str>,
}

/// Where a fragment is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Manifest {
    /// In the message, letter by letter as it came.
    Inline(Box<str>),
    /// In the task's directory.
    Path(String),
}

impl Handed {
    /// Reads the fragment and makes the command of it. `Err` names what is wrong with the fragment.
    pub(crate) fn with_fragment(
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
        let completion = self.for_range(task, worker, (range, fragment.chunk()));
        Ok(Completion { dropped: self.dropped.max(fragment.dropped_frames().unwrap_or(0)), ..completion })
    }

    /// The command for a range and a chunk that are known otherwise.
    pub(crate) fn for_range(&self, task: FrameTaskId, worker: &Name, range: (FrameRange, u64)) -> Completion {
        Completion {
            task,
            worker: Some(worker.clone()),
            attempt: self.attempt,
            range: range.0,
            chunk: range.1,
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
pub(crate) fn read_completion(body: &Value, text: &str) -> Result<Handed, Problem> {
    let fields = Fields::of(body)?;
    let dropped = fields.opt_integer_in("droppedFrames", 0..=limit::WHOLE)?.unwrap_or(0);
    Ok(Handed {
        attempt: opt_attempt(&fields)?,
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

/// All that was said, but for what stands elsewhere: the fragment in a file of its own, the rest in the task's row.
fn result(fields: &Fields<'_>) -> Box<str> {
    let mut kept = fields.object().clone();
    for known in ["workerId", "attempt", INLINE] {
        kept.remove(known);
    }
    Value::Object(kept).to_string().into()
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

    fn read(text: &str) -> Result<Handed, Problem> {
        read_completion(&serde_json::from_str(text).unwrap(), text)
    }

    fn completed(text: &str) -> Result<Completion, Problem> {
        let handed = read(text)?;
        let Manifest::Inline(fragment) = handed.manifest.clone() else { panic!("by path") };
        handed.with_fragment(
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
        let handed = read(GOLDEN).unwrap();
        assert_eq!((handed.attempt, &handed.pose_files[..]), (Some(1), &["pose/0.json".to_owned()][..]));
        let Manifest::Inline(fragment) = &handed.manifest else { panic!("by path") };
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
        let handed = read(r#"{"manifestFragmentPath": "f"}"#).unwrap();
        let problem = handed.with_fragment(b"x", "s1.00000000".parse().unwrap(), &Name::new("w").unwrap());
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
}
