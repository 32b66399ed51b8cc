//! A stream of server-sent events, read as it comes.

use crate::client::parse_head;
use std::{
    io::{self, Read},
    net::TcpStream,
    time::Duration,
};

/// An open stream.
#[derive(Debug)]
pub struct EventStream {
    connection: TcpStream,
    raw: Vec<u8>,
    text: Vec<u8>,
}

/// One entry of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEvent {
    /// Its number.
    pub id: u64,
    /// Its kind.
    pub kind: String,
    /// Its body.
    pub data: String,
}

impl EventStream {
    pub(crate) fn open(connection: TcpStream) -> io::Result<Self> {
        let mut stream = Self { connection, raw: Vec::new(), text: Vec::new() };
        loop {
            if let Some((head, length)) = parse_head(&stream.raw) {
                stream.raw.drain(..length);
                return match head.status {
                    200 => Ok(stream),
                    503 => Err(io::ErrorKind::ResourceBusy.into()),
                    status => Err(io::Error::other(format!("the stream was refused with {status}"))),
                };
            }
            stream.read_more()?;
        }
    }

    /// Gives up waiting for an event after so long.
    pub fn set_patience(&self, patience: Duration) {
        self.connection.set_read_timeout(Some(patience)).unwrap();
    }

    /// Waits for the next event; what is between events is skipped.
    ///
    /// # Errors
    /// When the stream ends or nothing comes for a very long time.
    pub fn next_event(&mut self) -> io::Result<FeedEvent> {
        loop {
            if let Some(end) = self.text.windows(2).position(|window| window == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                if let Some(event) = read_event(&String::from_utf8_lossy(&block)) {
                    return Ok(event);
                }
            } else {
                self.take_chunk()?;
            }
        }
    }

    fn take_chunk(&mut self) -> io::Result<()> {
        loop {
            if let Some((from, to)) = chunk(&self.raw) {
                self.text.extend_from_slice(&self.raw[from..to]);
                self.raw.drain(..to + 2);
                return if from == to { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) };
            }
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16_384];
        match self.connection.read(&mut buffer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => {
                self.raw.extend_from_slice(&buffer[..length]);
                Ok(())
            }
        }
    }
}

/// Where the first chunk's content stands, if it has come whole.
fn chunk(raw: &[u8]) -> Option<(usize, usize)> {
    let end = raw.windows(2).position(|window| window == b"\r\n")?;
    let size = usize::from_str_radix(std::str::from_utf8(&raw[..end]).ok()?.trim(), 16).ok()?;
    let from = end + 2;
    (raw.len() >= from + size + 2).then_some((from, from + size))
}

fn read_event(block: &str) -> Option<FeedEvent> {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|value| value.trim_start().to_owned())
    };
    Some(FeedEvent { id: field("id")?.parse().ok()?, kind: field("event")?, data: field("data")? })
}
