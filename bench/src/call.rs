//! One request that may fail.

use crate::server::ADMIN_TOKEN;
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The leader's term, as the answer tells it.
    pub(crate) epoch: u64,
    pub(crate) text: String,
}

/// Sends a request, `GET /path`, on a connection of its own: none is left over from a server that is gone.
pub(crate) fn call(address: SocketAddr, request: &str, body: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!(
        "{request} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ADMIN_TOKEN}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    parse(text).ok_or_else(|| io::Error::other("no HTTP"))
}

fn parse(text: String) -> Option<Answer> {
    let status = text.split(' ').nth(1)?.parse().ok()?;
    let epoch = text
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("muster-epoch:")?.trim().parse().ok());
    Some(Answer { status, epoch: epoch.unwrap_or(0), text })
}

/// How long an answer may take. Whoever waits for one from a server that stands still asks again then.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
