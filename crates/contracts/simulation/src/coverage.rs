//! The coverage map of a session: the status of every frame (S26).

use crate::{Range, schema};
use muster_model::{FrameTaskRecord, FrameTaskStatus, SessionView};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashMap};
use utoipa::ToSchema;

/// A stretch of frames and its status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The frames.
    #[schema(schema_with = schema::range)]
    pub frame_range: Range,
    /// `pending`, `assigned`, `running`, `completed`, `lost`, `failed` or `cancelled`.
    pub status: Cow<'static, str>,
    /// Who has or had it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub worker_id: Option<String>,
    /// With which ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub global_id_chunk_id: Option<u64>,
    /// Its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub task_id: Option<String>,
    /// The nth try.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub attempt: Option<u16>,
    /// Frames made so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub processed_frames: Option<u64>,
}

/// Frames that a worker dropped (S26).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DroppedFrames {
    /// The range they are missing from.
    #[schema(schema_with = schema::range)]
    pub frame_range: Range,
    /// Who dropped them.
    pub worker_id: String,
    /// How many.
    pub dropped_frames: u64,
}

/// Makes the map out of the ranges that were cut, told in order of their first frame.
///
/// Frames between these ranges were not cut yet. Completed neighbours of one worker become one entry; if that is still
/// too much to show, all completed neighbours do.
#[derive(Debug)]
pub struct CoverageMapBuilder {
    total: u64,
    uncut: &'static str,
    processed: HashMap<u64, u64>,
    entries: Vec<Coverage>,
    drops: Vec<DroppedFrames>,
    failed: Vec<Range>,
    next: u64,
    is_coarse: bool,
    is_full: bool,
}

/// A session's frames as a map.
#[derive(Debug)]
pub struct CoverageMap {
    /// Which frames stand where.
    pub entries: Vec<Coverage>,
    /// True if the map goes to the last frame.
    pub is_complete: bool,
    /// Dropped frames.
    pub drops: Vec<DroppedFrames>,
    /// The frames that failed, neighbours joined.
    pub failed: Vec<Range>,
}

impl CoverageMapBuilder {
    /// A map of so many frames; `view` is what memory knows while the session is open.
    #[must_use]
    pub fn new(total: u64, view: Option<&SessionView>) -> Self {
        let live = view.into_iter().flat_map(|view| &view.tasks);
        Self {
            total,
            uncut: if view.is_some() { PENDING } else { FrameTaskStatus::Cancelled.as_str() },
            processed: live.map(|task| (task.id.start, task.processed)).collect(),
            entries: Vec::new(),
            drops: Vec::new(),
            failed: Vec::new(),
            next: 0,
            is_coarse: false,
            is_full: false,
        }
    }

    /// Adds the next range.
    pub fn add(&mut self, task: &FrameTaskRecord) {
        // A row that was cut after the page before was read may lie behind.
        if self.is_full || task.id.start < self.next {
            return;
        }
        self.skip_to(task.id.start);
        if task.status == FrameTaskStatus::Failed {
            self.add_failed(task.id.start, task.end);
        }
        if task.dropped > 0 && task.status == FrameTaskStatus::Completed && self.drops.len() < ENTRIES_MAX {
            self.drops.push(DroppedFrames {
                frame_range: [task.id.start, task.end],
                worker_id: task.worker.to_string(),
                dropped_frames: task.dropped,
            });
        }
        self.push(self.entry(task));
    }

    /// The map. `all` says whether all ranges were added.
    #[must_use]
    pub fn finish(mut self, all: bool) -> CoverageMap {
        if all && !self.is_full {
            self.skip_to(self.total);
        }
        let is_complete = self.next == self.total;
        CoverageMap { entries: self.entries, is_complete, drops: self.drops, failed: self.failed }
    }

    fn add_failed(&mut self, start: u64, end: u64) {
        if let Some(last) = self.failed.last_mut()
            && last[1] == start
        {
            last[1] = end;
        } else if self.failed.len() < ENTRIES_MAX {
            self.failed.push([start, end]);
        }
    }

    fn skip_to(&mut self, start: u64) {
        if self.next < start {
            self.push(Coverage {
                frame_range: [self.next, start],
                status: self.uncut.into(),
                ..Coverage::default()
            });
        }
    }

    fn entry(&self, task: &FrameTaskRecord) -> Coverage {
        let waits = matches!(task.status, FrameTaskStatus::Pending | FrameTaskStatus::Lost);
        let processed = self.processed.get(&task.id.start).copied();
        Coverage {
            frame_range: [task.id.start, task.end],
            worker_id: Some(task.worker.to_string()),
            global_id_chunk_id: Some(task.ids.chunk),
            task_id: Some(task.id.to_string()),
            attempt: Some(task.attempt),
            processed_frames: processed.filter(|_| !waits && !task.status.is_ended()),
            status: task.status.as_str().into(),
        }
    }

    fn push(&mut self, entry: Coverage) {
        self.next = entry.frame_range[1];
        join_or_push(&mut self.entries, entry, self.is_coarse);
        if self.entries.len() >= ENTRIES_MAX {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        self.is_full = self.is_coarse;
        self.is_coarse = true;
        let entries = std::mem::take(&mut self.entries);
        for entry in entries {
            join_or_push(&mut self.entries, entry, true);
        }
    }
}

/// Adds an entry to the one before where they are of a kind: both done, by one worker unless it is coarse.
fn join_or_push(entries: &mut Vec<Coverage>, entry: Coverage, is_coarse: bool) {
    match entries.last_mut() {
        Some(last) if is_one(last, &entry, is_coarse) => {
            let worker_id = last.worker_id.take().filter(|worker| Some(worker) == entry.worker_id.as_ref());
            let frame_range = [last.frame_range[0], entry.frame_range[1]];
            *last = Coverage { frame_range, worker_id, status: entry.status, ..Coverage::default() };
        }
        _ => entries.push(entry),
    }
}

fn is_one(last: &Coverage, next: &Coverage, is_coarse: bool) -> bool {
    let are_done = last.status == COMPLETED && next.status == COMPLETED;
    are_done && (is_coarse || last.worker_id == next.worker_id)
}

const PENDING: &str = FrameTaskStatus::Pending.as_str();
const COMPLETED: &str = FrameTaskStatus::Completed.as_str();

/// More than any screen shows, and less than a megabyte or two.
const ENTRIES_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{FrameTaskId, IdRange, Name, SessionId, SessionStatus, Timestamp};

    fn row(start: u64, end: u64, status: FrameTaskStatus, worker: &str) -> FrameTaskRecord {
        FrameTaskRecord {
            id: FrameTaskId { session: SessionId::new("s1").unwrap(), start },
            end,
            status,
            attempt: 1,
            failures: 0,
            losses: 0,
            losers: Vec::new(),
            worker: Name::new(worker).unwrap(),
            ids: IdRange { chunk: start / 10 + 1, start: 1, end: 2 },
            created_at: Timestamp(0),
            granted_at: Timestamp(0),
            confirmed_at: None,
            ended_at: None,
            dropped: 0,
            digest: None,
            error: None,
            result: None,
        }
    }

    fn open(tasks: Vec<muster_model::LiveTask>) -> SessionView {
        SessionView {
            status: SessionStatus::Running,
            merging: false,
            completed_frames: 0,
            uncut: Vec::new(),
            failed: Vec::new(),
            tasks,
            rate: 0,
        }
    }

    fn brief(entries: &[Coverage]) -> Vec<String> {
        let worker = |entry: &Coverage| entry.worker_id.clone().unwrap_or_default();
        let one = |entry: &Coverage| {
            format!("{}-{} {} {}", entry.frame_range[0], entry.frame_range[1], entry.status, worker(entry))
        };
        entries.iter().map(one).collect()
    }

    /// S26: the map has no gap: done neighbours of one worker are one entry, what was not cut is pending.
    #[test]
    fn the_map_has_no_gap() {
        let mut builder = CoverageMapBuilder::new(100, Some(&open(Vec::new())));
        for task in [
            row(0, 10, FrameTaskStatus::Completed, "w1"),
            row(10, 20, FrameTaskStatus::Completed, "w1"),
            row(20, 30, FrameTaskStatus::Completed, "w2"),
            row(30, 40, FrameTaskStatus::Running, "w1"),
            row(60, 70, FrameTaskStatus::Lost, "w3"),
        ] {
            builder.add(&task);
        }
        let CoverageMap { entries, is_complete, drops, .. } = builder.finish(true);
        let expected = [
            "0-20 completed w1",
            "20-30 completed w2",
            "30-40 running w1",
            "40-60 pending ",
            "60-70 lost w3",
            "70-100 pending ",
        ];
        assert_eq!(brief(&entries), expected);
        assert!(is_complete && drops.is_empty());
        assert_eq!((entries[0].global_id_chunk_id, entries[1].global_id_chunk_id), (None, Some(3)));
        assert_eq!(entries[2].task_id.as_deref(), Some("s1.00000030"));
    }

    /// S26b: failed frames are on the map, and listed with their neighbours joined.
    #[test]
    fn failed_frames_are_listed() {
        let mut builder = CoverageMapBuilder::new(40, None);
        for (start, end, status) in [
            (0, 10, FrameTaskStatus::Completed),
            (10, 11, FrameTaskStatus::Failed),
            (11, 20, FrameTaskStatus::Failed),
            (20, 30, FrameTaskStatus::Completed),
            (30, 40, FrameTaskStatus::Failed),
        ] {
            builder.add(&row(start, end, status, "w1"));
        }
        let CoverageMap { entries, failed, .. } = builder.finish(true);
        assert_eq!(failed, [[10, 20], [30, 40]]);
        assert_eq!(brief(&entries)[1], "10-11 failed w1");
    }

    /// S26: a live range shows how far it is; an ended session has nothing pending.
    #[test]
    fn live_ranges_show_their_progress() {
        let running = row(0, 10, FrameTaskStatus::Running, "w1");
        let live = muster_model::LiveTask {
            id: running.id.clone(),
            range: muster_model::FrameRange { start: 0, end: 10 },
            status: FrameTaskStatus::Running,
            worker: Some(running.worker.clone()),
            attempt: 1,
            ids: Some(running.ids),
            processed: 4,
            dropped: 0,
            granted_at: Timestamp(0),
        };
        let mut builder = CoverageMapBuilder::new(10, Some(&open(vec![live])));
        builder.add(&running);
        assert_eq!(builder.finish(true).entries[0].processed_frames, Some(4));
        let CoverageMap { entries, .. } = CoverageMapBuilder::new(10, None).finish(true);
        assert_eq!(brief(&entries), ["0-10 cancelled "]);
    }

    /// S26: drops are listed once each, by range and worker.
    #[test]
    fn drops_are_listed() {
        let mut builder = CoverageMapBuilder::new(20, None);
        let mut task = row(0, 10, FrameTaskStatus::Completed, "w1");
        task.dropped = 3;
        builder.add(&task);
        builder.add(&row(10, 20, FrameTaskStatus::Completed, "w1"));
        let CoverageMap { entries, drops, .. } = builder.finish(true);
        let expected = DroppedFrames { frame_range: [0, 10], worker_id: "w1".to_owned(), dropped_frames: 3 };
        assert_eq!((brief(&entries), drops), (vec!["0-20 completed w1".to_owned()], vec![expected]));
    }

    /// S26: however many ranges there are, the map is of a size that can be shown.
    #[test]
    fn a_map_is_bounded() {
        let many = 4 * ENTRIES_MAX as u64;
        let mut builder = CoverageMapBuilder::new(many * 10, None);
        for n in 0..many {
            let worker = format!("w{}", n % 2);
            builder.add(&row(n * 10, n * 10 + 10, FrameTaskStatus::Completed, &worker));
        }
        let CoverageMap { entries, is_complete, .. } = builder.finish(true);
        assert_eq!((brief(&entries), is_complete), (vec![format!("0-{} completed ", many * 10)], true));
        let mut builder = CoverageMapBuilder::new(many * 10, None);
        for n in 0..many {
            builder.add(&row(n * 10, n * 10 + 5, FrameTaskStatus::Running, "w1"));
        }
        let CoverageMap { entries, is_complete, .. } = builder.finish(true);
        assert!(entries.len() <= ENTRIES_MAX + 1 && !is_complete);
    }
}
