//! The files that tell of a session as a whole: read from the store, page by page, and written (S21).

use super::{Runner, Trouble, Wish};
use crate::output::{AcceptedRange, OutputError, SessionFiles};
use muster_manifest::{GivenUpRange, MergeReport};
use muster_model::{
    FrameRange, FrameTaskId, FrameTaskStatus, SessionId, SessionRecord, SkippedRange, ask::frames::Merged,
};
use muster_store::{Reader, StoreError, pages};
use std::collections::{HashMap, HashSet};

/// A session as the store has it.
struct StoredSession {
    files: SessionFiles,
    /// All frames are done or given up and it has not ended: its manifest is due.
    is_mergeable: bool,
}

impl Runner {
    /// Writes what is wanted of a session's files, until nothing more is.
    pub(super) async fn tend(&self, session: SessionId, wish: Wish) {
        if !self.sessions.begin(&session, wish) {
            return;
        }
        while let Some(wish) = self.sessions.take(&session) {
            if let Some(mark) = wish.merge {
                let merged = self.persist("write a manifest", wish.epoch, || self.merge(&session)).await;
                if let Some(Some(skipped)) = merged {
                    self.tell(Merged { session: session.clone(), mark, skipped }).await;
                }
            } else {
                self.persist("write session.json", wish.epoch, || self.write_session(&session)).await;
            }
        }
    }

    async fn write_session(&self, session: &SessionId) -> Result<(), Trouble> {
        let _place = self.writers.acquire().await;
        match self.read_session(session).await? {
            Some(known) => self.on_disk(move |root| root.write_session(&known.files)).await,
            None => Ok(()),
        }
    }

    /// Writes the manifest, and puts the frames together (S21, S26c). Returns the ranges that the manifest leaves out;
    /// `None` if it is not due: a range was given out anew, or the session has ended.
    async fn merge(&self, session: &SessionId) -> Result<Option<Vec<SkippedRange>>, Trouble> {
        let _place = self.writers.acquire().await;
        let Some(known) = self.read_session(session).await?.filter(|known| known.is_mergeable) else {
            return Ok(None);
        };
        let mut accepted = self.read_accepted(&known.files).await?;
        let (files, ranges) = (known.files.clone(), accepted.clone());
        let report = self.on_disk(move |root| root.merge(&files, &ranges)).await?;
        for warning in &report.warnings {
            tracing::warn!(%session, file = warning.file, "{}", warning.warning);
        }
        let skipped = skipped_ranges(session, &report, &accepted);
        let out: HashSet<u64> = skipped.iter().map(|range| range.chunk).collect();
        accepted.retain(|chunk, _| !out.contains(chunk));
        if self.simulation.0.settings.assemble {
            match self.on_disk(move |root| root.assemble(&known.files, &accepted)).await {
                // The frames are delivered all the same: the chunks have them. A session must not wait for ever.
                Err(Trouble::Output(error)) => {
                    tracing::error!(%session, %error, "frames/ of a session cannot be put together");
                }
                assembled => _ = assembled?,
            }
        }
        Ok(Some(skipped))
    }

    async fn read_session(&self, session: &SessionId) -> Result<Option<StoredSession>, Trouble> {
        let id = session.clone();
        let read = move |reader: &dyn Reader| {
            let Some(record) = reader.session(&id)? else { return Ok(None) };
            let replays = pages(PAGE_ITEMS, |page| reader.replays(&id, page)).all()?;
            let settled_frames = record.completed_frames + record.failed_frames;
            let is_mergeable = !record.status.is_ended() && settled_frames == record.total_frames;
            let given_up = read_given_up(reader, &record)?;
            let (output, total_frames) = (record.output, record.total_frames);
            Ok(Some(StoredSession {
                files: SessionFiles { session: id, output, total_frames, replays, given_up },
                is_mergeable,
            }))
        };
        Ok(self.coordinator().read(read).await?)
    }

    /// Reads whose fragment counts for each chunk, and writes `completions.jsonl` meanwhile: all results together may be
    /// more than memory holds.
    async fn read_accepted(&self, files: &SessionFiles) -> Result<HashMap<u64, AcceptedRange>, Trouble> {
        let (files, root, coordinator) =
            (files.clone(), self.simulation.0.output.clone(), self.coordinator().clone());
        let read = move |reader: &dyn Reader| {
            let mut accepted = HashMap::new();
            let mut written = root.begin_completions();
            let mut failed: Option<OutputError> = None;
            for tasks in pages(RESULTS_PAGE_ITEMS, |page| reader.frame_results(&files.session, page)) {
                for task in tasks?.into_iter().filter(|task| task.status == FrameTaskStatus::Completed) {
                    if let (Ok(completions), Some(result)) = (&mut written, &task.result) {
                        failed = failed.take().or(completions.add(task.ids.chunk, result).err());
                    }
                    let range = FrameRange { start: task.id.start, end: task.end };
                    accepted.insert(task.ids.chunk, AcceptedRange { worker: task.worker, range });
                }
            }
            let written = failed.map_or(written, Err);
            let shown = written.and_then(|written| {
                // All servers share the files: whoever does not lead any more leaves them alone.
                coordinator.is_ready().then(|| root.finish_completions(&files, written)).transpose()
            });
            Ok((accepted, shown))
        };
        let (accepted, shown) = self.coordinator().read(read).await?;
        shown?.map(|()| accepted).ok_or(Trouble::MayBeOver)
    }
}

/// The frames that were given up, with the reason. Most sessions have none, and are not read through.
fn read_given_up(reader: &dyn Reader, record: &SessionRecord) -> Result<Vec<GivenUpRange>, StoreError> {
    let mut given_up = Vec::new();
    if record.failed_frames == 0 {
        return Ok(given_up);
    }
    for tasks in pages(PAGE_ITEMS, |page| reader.frame_tasks(&record.id, page)) {
        for task in tasks?.into_iter().filter(|task| task.status == FrameTaskStatus::Failed) {
            if let Some(frame_range) = muster_manifest::FrameRange::new(task.id.start, task.end) {
                let reason = task.error.map_or_else(|| "failed".to_owned(), Into::into);
                given_up.push(GivenUpRange { frame_range, reason });
            }
        }
    }
    Ok(given_up)
}

/// The completed ranges that a manifest leaves out, each once.
fn skipped_ranges(
    session: &SessionId,
    report: &MergeReport,
    accepted: &HashMap<u64, AcceptedRange>,
) -> Vec<SkippedRange> {
    let mut seen = HashSet::new();
    let range = |skipped: &muster_manifest::Skipped| {
        let chunk = skipped.chunk_id.filter(|chunk| seen.insert(*chunk))?;
        let start = accepted.get(&chunk)?.range.start;
        let task = FrameTaskId { session: session.clone(), start };
        Some(SkippedRange { task, chunk, reason: skipped.reason.as_str().into() })
    };
    report.skipped.iter().filter_map(range).collect()
}

const PAGE_ITEMS: u32 = 1000;
/// Few at a time: each result may be as large as a request body.
const RESULTS_PAGE_ITEMS: u32 = 16;
