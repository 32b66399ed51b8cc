//! The coordinator's feed, for whoever follows something there: one connection, while there is anything to follow.

use super::{CallError, Client, Fleet, PAUSE_MAX, PAUSE_MIN};
use muster_worker_kit::http::{EventLines, StreamEvent};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

/// The waiting attempts by id at the coordinator.
#[derive(Default)]
pub(super) struct Feed {
    watched: Mutex<BTreeMap<String, Arc<Notify>>>,
    /// Signals that a watch was added or removed.
    changed: Notify,
}

/// Listener for the feed entries of one id.
pub(super) struct Watch<'a> {
    news: &'a Feed,
    id: String,
    noticed: Arc<Notify>,
}

/// A feed that is open.
struct Stream {
    answer: Response,
    lines: EventLines,
}

impl Feed {
    pub(super) fn watch(&self, id: &str) -> Watch<'_> {
        let noticed = Arc::new(Notify::new());
        self.watched().insert(id.to_owned(), Arc::clone(&noticed));
        self.changed.notify_one();
        Watch { news: self, id: id.to_owned(), noticed }
    }

    /// Listens for ever; without anybody to listen for, no connection is held.
    pub(super) async fn listen(&self, client: &Client, fleet: Fleet) {
        let mut last: Option<String> = None;
        let mut pause = PAUSE_MIN;
        loop {
            if self.watched().is_empty() {
                // Entries that arrive while nothing is watched concern no watch.
                last = None;
                self.changed.notified().await;
                continue;
            }
            match client.feed(last.as_deref()).await {
                Ok(answer) => {
                    pause = PAUSE_MIN;
                    self.hear(Stream { answer, lines: EventLines::default() }, fleet, &mut last).await;
                }
                Err(CallError::Refused(StatusCode::GONE, _)) => last = None,
                Err(failed_outcome) => {
                    tracing::debug!(?failed_outcome, "the coordinator's feed is not there")
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Hears a feed to its end, or until nobody listens any more.
    async fn hear(&self, mut stream: Stream, fleet: Fleet, last: &mut Option<String>) {
        if last.is_none() {
            // Wakes every watch, because entries from before this connection are unknown.
            self.watched().values().for_each(|noticed| noticed.notify_one());
        }
        loop {
            let entry = tokio::select! {
                entry = stream.next() => entry,
                () = self.changed.notified() => {
                    if self.watched().is_empty() {
                        return;
                    }
                    continue;
                }
            };
            let Some(entry) = entry else { return };
            self.notice(&entry, fleet);
            if entry.kind == "gone" {
                *last = None;
                return;
            }
            if !entry.id.is_empty() {
                *last = Some(entry.id);
            }
        }
    }

    fn notice(&self, entry: &StreamEvent, fleet: Fleet) {
        if !entry.kind.starts_with(fleet.news()) {
            return;
        }
        let Ok(data) = serde_json::from_str::<Value>(&entry.data) else { return };
        let watched = self.watched();
        let named = watched.iter().filter(|(id, _)| names(&data, id));
        named.for_each(|(_, noticed)| noticed.notify_one());
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Notify>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch<'_> {
    /// Returns when there is news, or after so long without.
    pub(super) async fn changed(&self, limit: Duration) {
        let _ = tokio::time::timeout(limit, self.noticed.notified()).await;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.news.watched().remove(&self.id);
        self.news.changed.notify_one();
    }
}

impl Stream {
    /// The next entry; none where the feed ends, is silent for too long, or sends what no feed sends.
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(entry) = self.lines.next_event() {
                return Some(entry);
            }
            let chunk = tokio::time::timeout(SILENCE_MAX, self.answer.chunk()).await;
            if !self.lines.take(&chunk.ok()?.ok()??) {
                return None;
            }
        }
    }
}

/// True if an id occurs anywhere in a document, as text or as a number.
fn names(value: &Value, id: &str) -> bool {
    match value {
        Value::String(text) => text == id,
        Value::Number(number) => number.to_string() == id,
        Value::Array(items) => items.iter().any(|item| names(item, id)),
        Value::Object(members) => members.values().any(|member| names(member, id)),
        Value::Null | Value::Bool(_) => false,
    }
}

/// The coordinator says something every few seconds, if only that it is there.
const SILENCE_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// C17: an entry that names something concerns it, wherever it does; one of another kind, or of another, does not.
    #[tokio::test(start_paused = true)]
    async fn whoever_is_named_is_told() {
        assert!(names(&json!({"completed": [5, 8]}), "8") && !names(&json!({"completed": [58]}), "8"));
        let news = Feed::default();
        let watch = news.watch("r-1");
        let about = |kind: &str, job: &str| StreamEvent {
            id: String::new(),
            kind: kind.to_owned(),
            data: json!({ "job": job }).to_string(),
        };
        for (kind, job, is_told) in
            [("job_ended", "r-1", true), ("job_ended", "r-2", false), ("task_leased", "r-1", false)]
        {
            news.notice(&about(kind, job), Fleet::Run);
            let told = tokio::time::timeout(Duration::from_secs(1), watch.noticed.notified()).await;
            assert_eq!(told.is_ok(), is_told, "{kind} {job}");
        }
        drop(watch);
        assert!(news.watched().is_empty());
    }
}
