//! Reads everything and writes it down in canonical JSON, part by part.

use super::{moment::Moment, row};
use crate::pages::pages;
use muster_model::{
    ChunkState, EntryId, FrameTaskRecord, FrameTaskStatus, Name, RendererView, SessionId, SessionRecord,
    StatusView, Timestamp,
};
use muster_store::{Reader, StoreError};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What memory knows beyond the store.
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
    parts.whole("metricsSnapshot", &row::metrics(&live.status));
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

/// What became of all granted ids, by number.
type Chunks = BTreeMap<u64, ChunkState>;

impl Parts {
    /// Workers; answers which of them may hold a range.
    fn workers(&mut self, reader: &dyn Reader, views: &[RendererView]) -> Result<HashSet<Name>, StoreError> {
        self.lists.entry("workers").or_default();
        let views: HashMap<&Name, &RendererView> = views.iter().map(|view| (&view.id, view)).collect();
        let mut fit = HashSet::new();
        pages(
            |page| reader.renderers(page),
            |worker| {
                let view = views.get(&worker.id).copied();
                self.item("workers", &row::worker(&worker, view));
                if view.map_or(worker.state, |view| view.state).may_work() {
                    fit.insert(worker.id);
                }
            },
        )?;
        Ok(fit)
    }

    /// Sessions, oldest first, and with each its ranges, its ids, its replays and the fragments that were accepted.
    fn sessions(&mut self, reader: &dyn Reader, fit: &HashSet<Name>) -> Result<Chunks, StoreError> {
        for name in ["sessions", "tasks", "chunks", "replays", "manifestFragments"] {
            self.lists.entry(name).or_default();
        }
        let mut ids: Vec<SessionId> = Vec::new();
        pages(|page| reader.sessions(None, page), |session| ids.push(session.id))?;
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
        self.item("sessions", &row::session(session));
        let mut next = 0;
        for task in &moment.tasks {
            self.uncut(session, next, task.id.start);
            next = next.max(task.end);
            self.task(reader, session, task)?;
        }
        self.uncut(session, next, session.total_frames);
        moment.chunks.iter().for_each(|chunk| self.item("chunks", &row::chunk(chunk)));
        moment.replays.iter().for_each(|replay| self.item("replays", &row::replay(replay)));
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
            self.item("manifestFragments", &json!(row::fragment_path(session, task)));
            result = self.result(reader, task)?;
        }
        // What ended with its session holds nothing any more.
        if task.status != FrameTaskStatus::Cancelled {
            self.item("tasks", &row::task(task, result.as_deref()));
        }
        Ok(())
    }

    /// What a worker handed in beside its fragment, as long as there is room: the fragment alone makes the manifest.
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
            self.item("tasks", &row::uncut(&session.id, start, end));
        }
    }

    /// What is set apart, but for the files of ids that were retired after their range was read: they are in use here.
    fn quarantine(&mut self, reader: &dyn Reader, chunks: &Chunks) -> Result<(), StoreError> {
        self.lists.entry("quarantine").or_default();
        let in_use = |id: &EntryId| match id {
            EntryId::Chunk(chunk) => chunks.get(chunk).is_some_and(|state| *state != ChunkState::Retired),
            EntryId::Worker(..) => false,
        };
        pages(
            |page| reader.quarantine(page),
            |entry| {
                if !in_use(&entry.id) {
                    self.item("quarantine", &row::entry(&entry));
                }
            },
        )
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

/// What all results together may take: a checkpoint is made in memory.
const RESULT_BYTES_MAX: usize = 64 << 20;

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
}
