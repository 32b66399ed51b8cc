//! Reads everything and writes it down in canonical JSON, part by part.
//!
//! A row has only texts, whole numbers, truth values and null, and ratios: everybody writes those in the same letters.

use super::moment::Moment;
use muster_contract_simulation::{count_workers, state_word};
use muster_model::{
    ChunkRecord, ChunkState, EntryId, FrameTaskId, FrameTaskRecord, FrameTaskStatus, IdRange, Name,
    QuarantineRecord, Ratio, RendererRecord, RendererView, ReplayRecord, SessionId, SessionRecord,
    StatusView, Timestamp,
};
use muster_store::{Reader, StoreError, pages};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The facts that only memory knows.
pub(super) struct Live {
    pub(super) status: StatusView,
    pub(super) renderers: Vec<RendererView>,
    pub(super) epoch: u64,
    pub(super) at: Timestamp,
    pub(super) chunk_size: u64,
}

/// Writes `checkpoint.distributed`.
///
/// Life goes on while it is read. So what refers to ids is read before the allocator: no id that a task in here may have
/// used is ever free in here.
pub(super) fn gather(reader: &dyn Reader, live: &Live) -> Result<String, StoreError> {
    let mut parts = Parts { results_left: RESULT_BYTES_MAX, ..Parts::default() };
    let fit = parts.workers(reader, &live.renderers)?;
    let mut chunks = parts.sessions(reader, &fit)?;
    parts.quarantine(reader, &chunks)?;
    let farm = reader.farm()?;
    parts.whole("epoch", &json!(live.epoch));
    parts.whole("takenAt", &json!(live.at.0));
    parts.whole("paused", &json!(farm.paused));
    chunks.retain(|_, state| *state == ChunkState::Retired);
    let retired: Vec<u64> = chunks.into_keys().collect();
    parts.whole(
        "globalIdAllocator",
        &json!({"nextRangeStart": farm.next_id, "nextChunkId": farm.next_chunk, "chunkSize": live.chunk_size,
            "retiredChunks": retired}),
    );
    parts.whole("metricsSnapshot", &metrics(&live.status));
    Ok(parts.close())
}

/// The members of the document, each already written; their names are sorted.
#[derive(Default)]
struct Parts {
    wholes: BTreeMap<&'static str, String>,
    lists: BTreeMap<&'static str, String>,
    /// Bytes that results may still take.
    results_left: usize,
}

/// The states of all granted ids, by number.
type Chunks = BTreeMap<u64, ChunkState>;

impl Parts {
    /// Workers; answers which of them may hold a range.
    fn workers(&mut self, reader: &dyn Reader, views: &[RendererView]) -> Result<HashSet<Name>, StoreError> {
        self.lists.entry("workers").or_default();
        let views: HashMap<&Name, &RendererView> = views.iter().map(|view| (&view.id, view)).collect();
        let mut fit = HashSet::new();
        for worker in pages(PAGE_ITEMS, |page| reader.renderers(page)).all()? {
            let view = views.get(&worker.id).copied();
            self.item("workers", &worker_row(&worker, view));
            if view.map_or(worker.state, |view| view.state).may_work() {
                fit.insert(worker.id);
            }
        }
        Ok(fit)
    }

    /// Sessions, oldest first, and with each its ranges, its ids, its replays and the fragments that were accepted.
    fn sessions(&mut self, reader: &dyn Reader, fit: &HashSet<Name>) -> Result<Chunks, StoreError> {
        for name in ["sessions", "tasks", "chunks", "replays", "manifestFragments"] {
            self.lists.entry(name).or_default();
        }
        let mut ids: Vec<SessionId> = Vec::new();
        for sessions in pages(PAGE_ITEMS, |page| reader.sessions(None, page)) {
            ids.extend(sessions?.into_iter().map(|session| session.id));
        }
        let mut chunks = Chunks::new();
        for id in ids.iter().rev() {
            if let Some(moment) = Moment::read(reader, id, fit)? {
                chunks.extend(moment.chunks.iter().map(|chunk| (chunk.ids.chunk, chunk.state)));
                self.session(reader, &moment)?;
            }
        }
        Ok(chunks)
    }

    fn session(&mut self, reader: &dyn Reader, moment: &Moment) -> Result<(), StoreError> {
        let session = &moment.session;
        self.item("sessions", &session_row(session));
        let mut next = 0;
        for task in &moment.tasks {
            self.uncut(session, next, task.id.start);
            next = next.max(task.end);
            self.task(reader, session, task)?;
        }
        self.uncut(session, next, session.total_frames);
        moment.chunks.iter().for_each(|chunk| self.item("chunks", &chunk_row(chunk)));
        moment.replays.iter().for_each(|replay| self.item("replays", &replay_row(replay)));
        Ok(())
    }

    fn task(
        &mut self,
        reader: &dyn Reader,
        session: &SessionRecord,
        task: &FrameTaskRecord,
    ) -> Result<(), StoreError> {
        let mut result = None;
        if task.status == FrameTaskStatus::Completed {
            self.item("manifestFragments", &json!(fragment_path(session, task)));
            result = self.result(reader, task)?;
        }
        // A task that was cancelled with its session holds nothing any more.
        if task.status != FrameTaskStatus::Cancelled {
            self.item("tasks", &task_row(task, result.as_deref()));
        }
        Ok(())
    }

    /// The result that a worker submitted beside its fragment, as long as there is room: the fragment alone makes the manifest.
    fn result(
        &mut self,
        reader: &dyn Reader,
        task: &FrameTaskRecord,
    ) -> Result<Option<Box<str>>, StoreError> {
        if self.results_left == 0 {
            return Ok(None);
        }
        let result = reader.frame_task(&task.id)?.and_then(|whole| whole.result);
        let left = self.results_left.checked_sub(result.as_ref().map_or(0, |result| result.len()));
        self.results_left = left.unwrap_or(0);
        Ok(result.filter(|_| left.is_some()))
    }

    /// A stretch that was not cut yet; one of a session that has ended never will be.
    fn uncut(&mut self, session: &SessionRecord, start: u64, end: u64) {
        if start < end && !session.status.is_ended() {
            self.item("tasks", &uncut_row(&session.id, start, end));
        }
    }

    /// Entries of the quarantine, but for the files of ids that were retired after their range was read: they are in use here.
    fn quarantine(&mut self, reader: &dyn Reader, chunks: &Chunks) -> Result<(), StoreError> {
        self.lists.entry("quarantine").or_default();
        let in_use = |id: &EntryId| match id {
            EntryId::Chunk(chunk) => chunks.get(chunk).is_some_and(|state| *state != ChunkState::Retired),
            EntryId::Worker(..) => false,
        };
        for entries in pages(PAGE_ITEMS, |page| reader.quarantine(page)) {
            let entries = entries?;
            let apart = entries.iter().filter(|entry| !in_use(&entry.id));
            apart.for_each(|entry| self.item("quarantine", &entry_row(entry)));
        }
        Ok(())
    }

    fn whole(&mut self, name: &'static str, value: &Value) {
        self.wholes.insert(name, value.to_string());
    }

    fn item(&mut self, list: &'static str, value: &Value) {
        let text = self.lists.entry(list).or_default();
        text.push(if text.is_empty() { '[' } else { ',' });
        text.push_str(&value.to_string());
    }

    fn close(mut self) -> String {
        for (name, mut text) in std::mem::take(&mut self.lists) {
            text.push_str(if text.is_empty() { "[]" } else { "]" });
            self.wholes.insert(name, text);
        }
        let members: Vec<String> =
            self.wholes.into_iter().map(|(name, text)| format!("\"{name}\":{text}")).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// A worker.
fn worker_row(record: &RendererRecord, view: Option<&RendererView>) -> Value {
    let task = view.and_then(|view| view.tasks.first());
    json!({
        "workerId": record.id.as_str(),
        "state": view.map_or(record.state.as_str(), |view| state_word(view.state, view.zombie)),
        "stateSince": record.state_since.0,
        "lastHeartbeat": millis(view.and_then(|view| view.last_heartbeat).or(record.last_heartbeat)),
        "currentTask": task.map(|task| task.id.to_string()),
        "frameRange": task.map(|task| [task.range.start, task.range.end]),
        "queueRatio": view.map(|view| ratio(view.queue_ratio)),
        "lastFrame": view.and_then(|view| view.last_frame),
        "tokenHash": crate::output::hex(&record.token_hash),
        "endpoint": record.endpoint,
        "slots": record.slots,
        "failures": record.failures.iter().map(|at| at.0).collect::<Vec<_>>(),
        "losses": record.losses.iter().map(|at| at.0).collect::<Vec<_>>(),
        "lastCompletedAt": millis(record.last_completed),
        "removal": record.removal.map(|removal| removal.as_str()),
        "removedFrom": record.removed_from.iter().map(|session| session.as_str()).collect::<Vec<_>>(),
        "registeredAt": record.registered_at.0,
        "registration": record.description,
    })
}

/// A session. Its body is a text within the text: what is in it is not ours, and its numbers may be written in any way.
fn session_row(record: &SessionRecord) -> Value {
    json!({
        "sessionId": record.id.as_str(),
        "status": record.status.as_str(),
        "totalFrames": record.total_frames,
        "framesPerTask": record.frames_per_task,
        "qualityMode": if record.strict { "strict" } else { "relaxed" },
        "outputDirectory": record.output,
        "completedFrames": record.completed_frames,
        "failedFrames": record.failed_frames,
        "createdAt": record.created_at.0,
        "endedAt": millis(record.ended_at),
        "error": record.error,
        "digest": format!("{:032x}", record.digest.0),
        "body": record.body,
    })
}

/// A range that was cut, and what was handed in for it: like the body of a session, a text within the text.
fn task_row(record: &FrameTaskRecord, result: Option<&str>) -> Value {
    json!({
        "taskId": record.id.to_string(),
        "sessionId": record.id.session.as_str(),
        "frameRange": [record.id.start, record.end],
        "globalIdChunk": ids(record.ids),
        "status": record.status.as_str(),
        "attempt": record.attempt,
        "failures": record.failures,
        "losses": record.losses,
        "losers": record.losers.iter().map(|worker| worker.as_str()).collect::<Vec<_>>(),
        "workerId": record.worker.as_str(),
        "createdAt": record.created_at.0,
        "grantedAt": record.granted_at.0,
        "confirmedAt": millis(record.confirmed_at),
        "endedAt": millis(record.ended_at),
        "droppedFrames": record.dropped,
        "digest": record.digest.map(|digest| format!("{:032x}", digest.0)),
        "error": record.error,
        "result": result,
    })
}

/// A stretch that was not cut yet.
fn uncut_row(session: &SessionId, start: u64, end: u64) -> Value {
    let id = FrameTaskId { session: session.clone(), start };
    json!({
        "taskId": id.to_string(),
        "sessionId": session.as_str(),
        "frameRange": [start, end],
        "globalIdChunk": null,
        "status": "pending",
        "attempt": 0,
    })
}

/// Granted ids.
fn chunk_row(record: &ChunkRecord) -> Value {
    json!({
        "chunkId": record.ids.chunk,
        "range": [record.ids.start, record.ids.end],
        "taskId": record.task.to_string(),
        "workerId": record.worker.as_str(),
        "attempt": record.attempt,
        "state": record.state.as_str(),
        "reason": record.reason,
        "at": record.at.0,
    })
}

/// A range that was given out anew.
fn replay_row(record: &ReplayRecord) -> Value {
    json!({
        "sessionId": record.session.as_str(),
        "frameRange": [record.range.start, record.range.end],
        "retiredChunkId": record.retired,
        "newChunkId": record.new,
        "at": record.at.0,
    })
}

/// An entry of the quarantine.
fn entry_row(record: &QuarantineRecord) -> Value {
    json!({
        "id": record.id.to_string(),
        "sessionId": record.session.as_str(),
        "outputDirectory": record.output,
        "workerId": record.worker.as_str(),
        "moved": record.moved,
        "files": record.files,
        "confirmed": record.confirmed,
        "at": record.at.0,
    })
}

/// The path of a completed range's fragment, relative to the output root (S21).
pub(super) fn fragment_path(session: &SessionRecord, task: &FrameTaskRecord) -> String {
    format!("{}/meta/manifest_fragment_{}_{}.json", session.output, task.worker, task.ids.chunk)
}

/// The figures of the whole installation.
fn metrics(status: &StatusView) -> Value {
    json!({
        "workers": count_workers(status),
        "queueDepthSummary": ratio(status.queue_depth),
        "liveTasks": status.live,
        "returnedTasks": status.returned,
    })
}

fn ids(ids: IdRange) -> Value {
    json!({"chunkId": ids.chunk, "range": [ids.start, ids.end]})
}

/// To four digits: smaller numbers are written in one way by some and in another by others.
fn ratio(ratio: Ratio) -> f64 {
    f64::from((ratio.0 + 50) / 100) / 10_000.0
}

fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(|at| at.0)
}

/// The limit of all results together: a checkpoint is made in memory.
const RESULT_BYTES_MAX: usize = 64 << 20;
pub(super) const PAGE_ITEMS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    /// S20: the document is canonical: names are sorted, nothing is blank, lists are there when they are empty.
    #[test]
    fn parts_make_a_canonical_document() {
        let mut parts = Parts::default();
        parts.whole("b", &json!({"z": 1, "a": "ä\u{1}"}));
        parts.lists.entry("c").or_default();
        parts.item("a", &json!(1));
        parts.item("a", &json!({"x": null}));
        let text = parts.close();
        assert_eq!(text, r#"{"a":[1,{"x":null}],"b":{"a":"ä\u0001","z":1},"c":[]}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap().to_string(), text);
    }

    /// S20: ratios are written in letters that Python writes too.
    #[test]
    fn ratios_are_short() {
        for (millionths, text) in [
            (0, "0.0"),
            (50, "0.0001"),
            (49, "0.0"),
            (850_000, "0.85"),
            (999_999, "1.0"),
            (4_000_000_000, "4000.0"),
        ] {
            assert_eq!(json!(ratio(Ratio(millionths))).to_string(), text);
        }
    }
}
