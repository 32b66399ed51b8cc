//! Follows the feed of a server (I8).

use super::{ANSWER_MAX, Client, ClientError, ClientRequest, Manner};
use muster_worker_kit::http::EventLines;
use reqwest::{Method, Response};
use serde_json::Value;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Its number; nothing for what only this stream is told.
    pub(crate) seq: Option<u64>,
    pub(crate) kind: String,
    pub(crate) body: Value,
}

/// An open stream of entries.
pub(crate) struct Events<'a> {
    client: &'a Client,
    response: Response,
    lines: EventLines,
}

impl Client {
    /// Opens the feed after a number, or with what comes next.
    pub(crate) async fn events(&self, after: Option<u64>) -> Result<Events<'_>, ClientError> {
        let query: Vec<_> = after.map(|seq| ("after", seq.to_string())).into_iter().collect();
        let asked = ClientRequest { query: &query, ..ClientRequest::new(Method::GET, &["api", "events"]) };
        let response = self.answer(Manner::repeatable(ANSWER_MAX).streaming(), asked).await?;
        if response.status().is_success() {
            return Ok(Events { client: self, response, lines: EventLines::default() });
        }
        let refusal = self.read::<Value>(response).await.err();
        Err(refusal.unwrap_or_else(|| self.not_ours("no stream")))
    }
}

impl Events<'_> {
    /// Waits for the next entry; nothing when the server ends the stream. Silence for long is an error: a server that
    /// lives says so now and then.
    pub(crate) async fn next(&mut self) -> Result<Option<Entry>, ClientError> {
        loop {
            while let Some(event) = self.lines.next_event() {
                if let Ok(body) = serde_json::from_str(&event.data) {
                    return Ok(Some(Entry { seq: event.id.parse().ok(), kind: event.kind, body }));
                }
            }
            match self.client.piece(&mut self.response).await? {
                None => return Ok(None),
                Some(piece) if self.lines.take(&piece) => {}
                Some(_) => return Err(self.client.not_ours("an event without an end")),
            }
        }
    }
}
