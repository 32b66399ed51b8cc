//! S21: the fragment of a manifest that belongs to one task.

use super::super::Task;
use serde::Serialize;
use serde_json::value::RawValue;

/// A fragment as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fragment<'a> {
    frame_range: [u64; 2],
    global_id_chunk_id: u64,
    worker_id: &'a str,
    session_id: &'a str,
    task_id: &'a str,
    cameras: Box<RawValue>,
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

/// What is counted in a frame.
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

/// What a fragment says besides what its task says.
#[derive(Debug, Default)]
pub(super) struct Contents<'a> {
    pub(super) worker: &'a str,
    pub(super) cameras: u32,
    pub(super) dropped: u64,
    pub(super) frames: &'a [FrameEntry],
    pub(super) further_chunks: &'a [u64],
    pub(super) pose_directory: Option<&'a str>,
}

impl<'a> Fragment<'a> {
    pub(super) fn new(task: &'a Task, contents: &Contents<'a>) -> Self {
        let persons = contents.frames.iter().map(|frame| frame.statistics.persons).sum();
        Self {
            frame_range: [task.frames.start, task.frames.end],
            global_id_chunk_id: task.ids.chunk,
            worker_id: contents.worker,
            session_id: &task.session,
            task_id: &task.id,
            cameras: cameras(task, contents.cameras),
            statistics: Statistics {
                frames: task.frames.len() - contents.dropped,
                persons: (!contents.frames.is_empty()).then_some(persons),
                dropped_frames: contents.dropped,
            },
            validation_summary: Validation {
                is_complete: contents.dropped == 0,
                missing_frames: contents.dropped,
            },
            replay: task.replay,
            further_id_chunks: contents.further_chunks,
            pose_directory: contents.pose_directory,
            frames: contents.frames,
        }
    }

    /// What it is called (S21).
    pub(super) fn name(worker: &str, chunk: u64) -> String {
        format!("meta/manifest_fragment_{worker}_{chunk}.json")
    }
}

/// The session's cameras, as it has them; else as many as the worker has.
fn cameras(task: &Task, count: u32) -> Box<RawValue> {
    let given = task.cameras.as_ref().and_then(|cameras| RawValue::from_string(cameras.to_string()).ok());
    given.unwrap_or_else(|| {
        let names: Vec<String> = (1..=count).map(|number| format!("camera-{number}")).collect();
        serde_json::value::to_raw_value(&names).expect("names are texts")
    })
}
