//! Follows the feed of a server (I8).

use super::{ANSWER_MAX, Client, ClientError, ClientRequest, Manner};
use reqwest::{Method, Response};
use serde_json::Value;
use std::collections::VecDeque;

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
    lines: Lines,
}

impl Client {
    /// Opens the feed after a number, or with what comes next.
    pub(crate) async fn events(&self, after: Option<u64>) -> Result<Events<'_>, ClientError> {
        let query: Vec<_> = after.map(|seq| ("after", seq.to_string())).into_iter().collect();
        let asked = ClientRequest { query: &query, ..ClientRequest::new(Method::GET, &["api", "events"]) };
        let response = self.answer(Manner::repeatable(ANSWER_MAX).streaming(), asked).await?;
        if response.status().is_success() {
            return Ok(Events { client: self, response, lines: Lines::default() });
        }
        let refusal = self.read(response).await.err();
        Err(refusal.unwrap_or_else(|| self.not_ours("no stream")))
    }
}

impl Events<'_> {
    /// Waits for the next entry; nothing when the server ends the stream. Silence for long is an error: a server that
    /// lives says so now and then.
    pub(crate) async fn next(&mut self) -> Result<Option<Entry>, ClientError> {
        loop {
            if let Some(entry) = self.lines.ready.pop_front() {
                return Ok(Some(entry));
            }
            match self.client.piece(&mut self.response).await? {
                None => return Ok(None),
                Some(piece) if self.lines.take(&piece) => {}
                Some(_) => return Err(self.client.not_ours("an event without an end")),
            }
        }
    }
}

/// Puts entries together from pieces that may end anywhere.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
    fields: [String; 3],
    ready: VecDeque<Entry>,
}

impl Lines {
    /// False when a line is longer than any server writes.
    fn take(&mut self, piece: &[u8]) -> bool {
        self.rest.extend_from_slice(piece);
        let mut from = 0;
        while let Some(length) = self.rest[from..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.rest[from..from + length]).into_owned();
            from += length + 1;
            self.line(line.trim_end_matches('\r'));
        }
        self.rest.drain(..from);
        self.rest.len() <= LINE_BYTES_MAX
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            return self.dispatch();
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if let Some(field) = FIELDS.iter().position(|field| *field == name) {
            self.fields[field] = value.strip_prefix(' ').unwrap_or(value).to_owned();
        }
    }

    /// An empty line ends an event; comments that keep the line open leave nothing to dispatch.
    fn dispatch(&mut self) {
        let [id, kind, data] = std::mem::take(&mut self.fields);
        if let Ok(body) = serde_json::from_str(&data) {
            self.ready.push_back(Entry { seq: id.parse().ok(), kind, body });
        }
    }
}

const FIELDS: [&str; 3] = ["id", "event", "data"];
/// Far more than the longest entry of the feed.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// I8: entries are whole however the network cuts the stream; comments are none.
    #[test]
    fn entries_are_put_together_from_pieces() {
        let text = ": hello\n\nid: 7\nevent: node_online\ndata: {\"worker\":\"PC-ü\"}\n\nevent:gone\ndata:{\"oldest\":3}\n\n";
        let expected = [
            Entry { seq: Some(7), kind: "node_online".to_owned(), body: json!({"worker": "PC-ü"}) },
            Entry { seq: None, kind: "gone".to_owned(), body: json!({"oldest": 3}) },
        ];
        for size in [1, 2, 7, text.len()] {
            let mut lines = Lines::default();
            assert!(text.as_bytes().chunks(size).all(|piece| lines.take(piece)));
            assert_eq!(Vec::from(lines.ready), expected, "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let mut lines = Lines::default();
        assert!(!lines.take(&vec![b'x'; LINE_BYTES_MAX + 1]));
    }
}
