//! S5: what a master is told when a range is done.

use super::{
    super::Task,
    output::{Output, OutputError},
};
use muster_contract_simulation::{CompleteRequest, JsonText, Manifest};
use serde::Serialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Output of a renderer.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    /// Frames left out.
    pub(super) dropped: u64,
    /// Each frame, where it is known.
    pub(super) frames: Vec<FrameEntry>,
    /// Chunks of ids besides the task's own.
    pub(super) further_chunks: Vec<u64>,
    /// The renderer left a fragment of its own.
    pub(super) has_fragment: bool,
}

/// A finished range.
pub(super) struct Finished {
    pub(super) task: Arc<Task>,
    pub(super) worker: String,
    pub(super) cameras: u32,
    pub(super) elapsed: Duration,
    pub(super) rendered: Rendered,
}

impl Finished {
    /// Puts all of it on disk and gives the message.
    pub(super) fn hand_in(&self, output: &Output) -> Result<String, OutputError> {
        let mut poses = output.files(POSES);
        let bytes: usize = poses.iter().map(|name| name.len() + 3).sum();
        let too_many = poses.len() > POSE_FILES_MAX || bytes > POSE_BYTES_MAX;
        let manifest = self.manifest(output, too_many.then_some(POSES))?;
        if too_many {
            poses.clear();
        }
        output.sync()?;
        let request = CompleteRequest {
            worker: self.worker.as_str().into(),
            attempt: Some(self.task.attempt),
            manifest,
            pose_files: poses,
            metrics_snapshot: self.metrics(),
        };
        Ok(request.to_text())
    }

    /// The fragment itself, or its path.
    fn manifest(&self, output: &Output, pose_directory: Option<&str>) -> Result<Manifest, OutputError> {
        let name = Fragment::name(&self.worker, self.task.ids.chunk);
        if self.rendered.has_fragment {
            return Ok(Manifest::Path(name));
        }
        let fragment = Fragment::new(self, pose_directory);
        let fragment = serde_json::to_string(&fragment).expect("it holds texts and numbers");
        if fragment.len() <= INLINE_BYTES_MAX {
            return Ok(Manifest::Inline(fragment.into()));
        }
        output.make("meta")?;
        output.write(&name, fragment.as_bytes())?;
        Ok(Manifest::Path(name))
    }

    fn metrics(&self) -> Value {
        let millis = u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX);
        json!({"frames": self.task.frames.len() - self.rendered.dropped, "elapsedMs": millis})
    }
}

/// A fragment as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fragment<'a> {
    frame_range: [u64; 2],
    global_id_chunk_id: u64,
    worker_id: &'a str,
    session_id: &'a str,
    task_id: &'a str,
    cameras: JsonText,
    statistics: Statistics,
    validation_summary: Validation,
    replay: bool,
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    further_id_chunks: &'a [u64],
    #[serde(skip_serializing_if = "Option::is_none")]
    pose_directory: Option<&'a str>,
    #[serde(skip_serializing_if = "<[FrameEntry]>::is_empty")]
    frames: &'a [FrameEntry],
}

/// One frame in a fragment.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameEntry {
    pub(super) frame_id: u64,
    pub(super) timestamp: u64,
    pub(super) statistics: FrameStatistics,
}

/// Counts of a frame.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct FrameStatistics {
    pub(super) frames: u64,
    pub(super) persons: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Statistics {
    frames: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    persons: Option<u64>,
    dropped_frames: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Validation {
    is_complete: bool,
    missing_frames: u64,
}

impl<'a> Fragment<'a> {
    fn new(finished: &'a Finished, pose_directory: Option<&'a str>) -> Self {
        let Finished { task, worker, cameras: camera_count, rendered, .. } = finished;
        let (dropped, frames) = (rendered.dropped, &*rendered.frames);
        let persons = frames.iter().map(|frame| frame.statistics.persons).sum();
        Self {
            frame_range: [task.frames.start, task.frames.end],
            global_id_chunk_id: task.ids.chunk,
            worker_id: worker,
            session_id: &task.session,
            task_id: &task.id,
            cameras: cameras(task, *camera_count),
            statistics: Statistics {
                frames: task.frames.len() - dropped,
                persons: (!frames.is_empty()).then_some(persons),
                dropped_frames: dropped,
            },
            validation_summary: Validation { is_complete: dropped == 0, missing_frames: dropped },
            replay: task.replay,
            further_id_chunks: &rendered.further_chunks,
            pose_directory,
            frames,
        }
    }

    /// Its name (S21).
    pub(super) fn name(worker: &str, chunk: u64) -> String {
        format!("meta/manifest_fragment_{worker}_{chunk}.json")
    }
}

/// The session's cameras, as it has them; else as many as the worker has.
fn cameras(task: &Task, count: u32) -> JsonText {
    task.cameras.clone().unwrap_or_else(|| {
        let names: Vec<String> = (1..=count).map(|number| format!("camera-{number}")).collect();
        serde_json::value::to_raw_value(&names).expect("names are texts").into()
    })
}

/// Directory of poses.
pub(super) const POSES: &str = "poses";
/// Larger fragments go by path: together with the list of poses they must fit into a body that any master takes.
const INLINE_BYTES_MAX: usize = 512 << 10;
/// More than these are not listed one by one.
const POSE_FILES_MAX: usize = 4_096;
const POSE_BYTES_MAX: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::{super::super::example, FrameStatistics, *};
    use muster_model::FrameRange;
    use std::fs;

    fn finished(frames: u64, rendered: Rendered) -> Finished {
        let task = Task { frames: FrameRange { start: 0, end: frames }, ..example() };
        Finished {
            task: Arc::new(task),
            worker: "W1".into(),
            cameras: 2,
            elapsed: Duration::from_millis(1_500),
            rendered,
        }
    }

    fn entries(frames: u64) -> Vec<FrameEntry> {
        let statistics = FrameStatistics { frames: 1, persons: 2 };
        (0..frames).map(|frame_id| FrameEntry { frame_id, timestamp: frame_id * 40, statistics }).collect()
    }

    /// S5, S21: a small fragment travels with the message, as the contract has it.
    #[test]
    fn a_small_fragment_travels_along() {
        let place = tempfile::tempdir().unwrap();
        let output = Output::prepare(place.path(), None).unwrap();
        output.make(POSES).unwrap();
        output.write("poses/00000000.json", b"{}").unwrap();
        let rendered = Rendered { frames: entries(1), further_chunks: vec![9], ..Rendered::default() };
        let body: Value = serde_json::from_str(&finished(1, rendered).hand_in(&output).unwrap()).unwrap();
        let expected = json!({
            "workerId": "W1", "attempt": 1, "poseFiles": ["poses/00000000.json"],
            "metricsSnapshot": {"frames": 1, "elapsedMs": 1500},
            "manifestFragment": {
                "frameRange": [0, 1], "globalIdChunkId": 5, "workerId": "W1", "sessionId": "demo",
                "taskId": "demo.00000000", "cameras": ["camera-1", "camera-2"],
                "statistics": {"frames": 1, "persons": 2, "droppedFrames": 0},
                "validationSummary": {"isComplete": true, "missingFrames": 0}, "replay": false,
                "furtherIdChunks": [9],
                "frames": [{"frameId": 0, "timestamp": 0, "statistics": {"frames": 1, "persons": 2}}],
            },
        });
        assert_eq!(body, expected);
    }

    /// S5, S21: a large one is left as a file; so are poses without number. The message stays small.
    #[test]
    fn a_large_fragment_goes_by_path() {
        let place = tempfile::tempdir().unwrap();
        let output = Output::prepare(place.path(), None).unwrap();
        output.make(POSES).unwrap();
        for frame in 0..=POSE_FILES_MAX {
            fs::write(place.path().join(format!("poses/{frame:08}.json")), b"{}").unwrap();
        }
        let rendered = Rendered { frames: entries(10_000), ..Rendered::default() };
        let text = finished(10_000, rendered).hand_in(&output).unwrap();
        assert!(text.len() < 1_000, "{}", text.len());
        let body: Value = serde_json::from_str(&text).unwrap();
        let path = body["manifestFragmentPath"].as_str().unwrap();
        assert_eq!(path, "meta/manifest_fragment_W1_5.json");
        let fragment: Value = serde_json::from_slice(&fs::read(place.path().join(path)).unwrap()).unwrap();
        assert_eq!(fragment["frames"].as_array().unwrap().len(), 10_000);
        assert_eq!((&fragment["poseDirectory"], &body["poseFiles"]), (&json!("poses"), &json!([])));
    }

    /// S21: a fragment has the session's cameras, where the task brings them.
    #[test]
    fn the_sessions_cameras_come_first() {
        let place = tempfile::tempdir().unwrap();
        let output = Output::prepare(place.path(), None).unwrap();
        let mut finished = finished(1, Rendered::default());
        finished.task = Arc::new(Task { cameras: JsonText::new(r#"[{"id":"left"}]"#).ok(), ..example() });
        let body: Value = serde_json::from_str(&finished.hand_in(&output).unwrap()).unwrap();
        assert_eq!(body["manifestFragment"]["cameras"], json!([{"id": "left"}]));
    }
}
