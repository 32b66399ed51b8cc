//! Events of a stream (`text/event-stream`), put together from pieces.

use std::collections::VecDeque;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEvent {
    /// Its id; empty for one without.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its body.
    pub data: String,
}

/// Puts events together from pieces that may end anywhere.
#[derive(Debug, Default)]
pub struct EventLines {
    rest: Vec<u8>,
    open: StreamEvent,
    ready: VecDeque<StreamEvent>,
}

impl EventLines {
    /// Takes a piece; false if a line is longer than any server writes.
    #[must_use]
    pub fn take(&mut self, piece: &[u8]) -> bool {
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

    /// The next event that is complete.
    pub fn next_event(&mut self) -> Option<StreamEvent> {
        self.ready.pop_front()
    }

    /// An empty line ends an event; comments that keep the stream open leave nothing to dispatch.
    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.open);
            self.ready.extend(Some(event).filter(|event| !event.data.is_empty()));
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => value.clone_into(&mut self.open.id),
            "event" => value.clone_into(&mut self.open.kind),
            "data" => value.clone_into(&mut self.open.data),
            _ => {}
        }
    }
}

/// Far more than the longest entry of the feed.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// I8, C17: events are whole however the network cuts the stream; comments are none.
    #[test]
    fn events_are_put_together_from_pieces() {
        let text = ": hello\n\nid: 7\nevent: node_online\ndata: {\"worker\":\"PC-ü\"}\n\nevent:gone\r\ndata:{\"oldest\":3}\n\n";
        let event = |id: &str, kind: &str, data: &str| StreamEvent {
            id: id.to_owned(),
            kind: kind.to_owned(),
            data: data.to_owned(),
        };
        let expected =
            [event("7", "node_online", r#"{"worker":"PC-ü"}"#), event("", "gone", r#"{"oldest":3}"#)];
        for size in [1, 2, 7, text.len()] {
            let mut lines = EventLines::default();
            assert!(text.as_bytes().chunks(size).all(|piece| lines.take(piece)));
            let events: Vec<StreamEvent> = std::iter::from_fn(|| lines.next_event()).collect();
            assert_eq!(events, expected, "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        assert!(!EventLines::default().take(&vec![b'x'; LINE_BYTES_MAX + 1]));
    }
}
