//! Reads everything and writes it down in canonical JSON, part by part.

use super::row;
use muster_model::{
    ChunkState, FrameTaskRecord, FrameTaskStatus, Name, RendererView, SessionId, SessionRecord, StatusView,
    Timestamp,
};
use muster_store::{ChunkFilter, Cursor, Page, Reader, StoreError};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

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
    let mut parts = Parts::default();
    parts.sessions(reader)?;
    parts.quarantine(reader)?;
    parts.workers(reader, &live.renderers)?;
    let retired = parts.chunks(reader)?;
    let farm = reader.farm()?;
    parts.whole("epoch", &json!(live.epoch));
    parts.whole("takenAt", &json!(live.at.0));
    parts.whole("paused", &json!(farm.paused));
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
}

impl Parts {
    /// Sessions, oldest first, and with each its ranges, its replays and the fragments that were accepted.
    fn sessions(&mut self, reader: &dyn Reader) -> Result<(), StoreError> {
        for name in ["sessions", "tasks", "replays", "manifestFragments"] {
            self.lists.entry(name).or_default();
        }
        let mut ids: Vec<SessionId> = Vec::new();
        pages(|page| reader.sessions(None, page), |session| ids.push(session.id))?;
        for id in ids.iter().rev() {
            if let Some(session) = reader.session(id)? {
                self.session(reader, &session)?;
            }
        }
        Ok(())
    }

    fn session(&mut self, reader: &dyn Reader, session: &SessionRecord) -> Result<(), StoreError> {
        self.item("sessions", &row::session(session));
        let mut next = 0;
        pages(
            |page| reader.frame_tasks(&session.id, page),
            |task| {
                self.uncut(session, next, task.id.start);
                next = next.max(task.end);
                self.task(session, &task);
            },
        )?;
        self.uncut(session, next, session.total_frames);
        pages(|page| reader.replays(&session.id, page), |replay| self.item("replays", &row::replay(&replay)))
    }

    fn task(&mut self, session: &SessionRecord, task: &FrameTaskRecord) {
        if task.status == FrameTaskStatus::Completed {
            self.item("manifestFragments", &json!(row::fragment_path(session, task)));
        }
        // What ended with its session holds nothing any more.
        if task.status != FrameTaskStatus::Cancelled {
            self.item("tasks", &row::task(task));
        }
    }

    /// A stretch that was not cut yet; one of a session that has ended never will be.
    fn uncut(&mut self, session: &SessionRecord, start: u64, end: u64) {
        if start < end && !session.status.is_ended() {
            self.item("tasks", &row::uncut(&session.id, start, end));
        }
    }

    fn quarantine(&mut self, reader: &dyn Reader) -> Result<(), StoreError> {
        self.lists.entry("quarantine").or_default();
        pages(|page| reader.quarantine(page), |entry| self.item("quarantine", &row::entry(&entry)))
    }

    fn workers(&mut self, reader: &dyn Reader, views: &[RendererView]) -> Result<(), StoreError> {
        self.lists.entry("workers").or_default();
        let views: HashMap<&Name, &RendererView> = views.iter().map(|view| (&view.id, view)).collect();
        pages(
            |page| reader.renderers(page),
            |worker| self.item("workers", &row::worker(&worker, views.get(&worker.id).copied())),
        )
    }

    /// All granted ids; answers the numbers of those that are retired.
    fn chunks(&mut self, reader: &dyn Reader) -> Result<Vec<u64>, StoreError> {
        self.lists.entry("chunks").or_default();
        let mut retired = Vec::new();
        let all = ChunkFilter::default();
        pages(
            |page| reader.chunks(&all, page),
            |chunk| {
                retired.extend((chunk.state == ChunkState::Retired).then_some(chunk.ids.chunk));
                self.item("chunks", &row::chunk(&chunk));
            },
        )?;
        Ok(retired)
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

/// Reads a list to its end.
fn pages<T>(
    mut read: impl FnMut(&Cursor) -> Result<Page<T>, StoreError>,
    mut each: impl FnMut(T),
) -> Result<(), StoreError> {
    let mut page = Cursor { after: None, limit: 1000 };
    loop {
        let Page { items, next } = read(&page)?;
        items.into_iter().for_each(&mut each);
        match next {
            Some(next) => page.after = Some(next),
            None => return Ok(()),
        }
    }
}

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
