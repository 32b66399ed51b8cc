//! Messages as lines of text, for a terminal or a log (C18).

use super::super::{Answer, Post, Receipt};
use std::io::{self, Write};

/// Writes one line per message.
pub(in super::super) struct Lines {
    out: Box<dyn Write + Send>,
}

impl Lines {
    pub(in super::super) const fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out }
    }

    pub(super) fn post(&mut self, post: &Post) -> Answer {
        match self.write(post) {
            Ok(()) => Answer::Posted(Receipt { ts: post.id.to_string(), channel_id: None }),
            Err(error) => Answer::Failed(format!("standard output: {error}")),
        }
    }

    fn write(&mut self, post: &Post) -> io::Result<()> {
        let about = post.task_id.as_deref().unwrap_or("-");
        let line =
            format!("{} {} #{} {} {}: {}", post.id, post.urgency, post.channel, post.kind, about, post.text);
        self.out.write_all(plain(&line).as_bytes())?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

/// One line, whatever the message has in it: a terminal obeys control characters.
fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}
