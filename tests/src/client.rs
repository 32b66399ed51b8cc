//! A caller: plain HTTP/1.1 over one connection per request, so that nothing stands between test and server; and streams of
//! server-sent events, read as they come.

use crate::{Epochs, until};
use serde_json::Value;
use std::{
    fmt::Write as _,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Current address of the server; every clone sees the new one after a restart.
#[derive(Clone, Debug)]
pub struct Address(Arc<Mutex<SocketAddr>>);

/// Client of the server, with or without a token.
///
/// With several servers on one store, each request goes to the next one, whichever leads.
#[derive(Clone, Debug)]
pub struct Client {
    addresses: Arc<[Address]>,
    turn: Arc<AtomicUsize>,
    epochs: Epochs,
    token: Option<String>,
    patience: Duration,
}

/// One request, as it goes over the wire.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// One whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, as it is.
    pub body: Vec<u8>,
}

impl Address {
    pub(crate) fn new(at: SocketAddr) -> Self {
        Self(Arc::new(Mutex::new(at)))
    }

    pub(crate) fn set(&self, at: SocketAddr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// The address itself.
    #[must_use]
    pub fn get(&self) -> SocketAddr {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    pub(crate) fn new(address: Address, token: Option<String>) -> Self {
        Self { token, ..Self::among([address].into(), Epochs::default()) }
    }

    /// A caller of several servers on one store, without a token.
    pub(crate) fn among(addresses: Arc<[Address]>, epochs: Epochs) -> Self {
        Self { addresses, turn: Arc::default(), epochs, token: None, patience: PATIENCE }
    }

    /// A caller of any service, without a token.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self::new(Address::new(address), None)
    }

    /// The same caller with another token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self { turn: Arc::default(), token: Some(token.to_owned()), ..self.clone() }
    }

    /// The same caller without a token.
    #[must_use]
    pub fn without_token(&self) -> Self {
        Self { token: None, ..self.clone() }
    }

    /// The same caller, who takes a server that says nothing for so long to be gone.
    #[must_use]
    pub fn with_patience(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    /// Asks for a page.
    #[must_use]
    pub fn get(&self, target: &str) -> Answer {
        self.send(Request::new("GET", target))
    }

    /// Sends JSON.
    #[must_use]
    pub fn post(&self, target: &str, body: &Value) -> Answer {
        self.send(Request::new("POST", target).json(body))
    }

    /// Sends a change.
    #[must_use]
    pub fn patch(&self, target: &str, body: &Value) -> Answer {
        self.send(Request::new("PATCH", target).json(body))
    }

    /// Sends a request that must be answered.
    #[must_use]
    pub fn send(&self, request: Request) -> Answer {
        let said = format!("{} {:.200}", request.method, request.target);
        self.try_send(request).unwrap_or_else(|error| panic!("{said}: {error}"))
    }

    /// Sends a request to a server that may die meanwhile.
    ///
    /// # Errors
    /// When there is no whole answer.
    pub fn try_send(&self, request: Request) -> io::Result<Answer> {
        let address = self.next_address();
        let mut connection = self.connect(address)?;
        let before = self.epochs.newest();
        // A server that refuses need not read on; what it said is still there to be read.
        let written = connection.write_all(&self.bytes(&request, address));
        let mut answer = Vec::new();
        match connection.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(_) if !answer.is_empty() => {}
            Err(error) => return Err(written.err().unwrap_or(error)),
        }
        if request.method == "HEAD" {
            return parse_head(&answer).map(|(answer, _)| answer).ok_or_else(broken_off);
        }
        let answer = parse(&answer)?;
        if request.method != "GET" && answer.is_success() {
            self.epochs.witness(before, &answer);
        }
        Ok(answer)
    }

    /// Sends what may be repeated, again and again, until somebody answers who can.
    ///
    /// # Panics
    /// When nobody does for a very long time.
    #[must_use]
    pub fn insist(&self, request: &Request) -> Answer {
        let said = format!("{} {:.200} is answered", request.method, request.target);
        until(&said, || self.try_send(request.clone()).ok().filter(|answer| answer.status != 503))
    }

    /// Sends bytes as they are and nothing after them, and reads whatever comes back.
    ///
    /// # Errors
    /// When nothing does.
    pub fn send_bytes(&self, bytes: &[u8]) -> io::Result<Answer> {
        let mut connection = self.connect(self.next_address())?;
        let _ = connection.write_all(bytes);
        let _ = connection.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        parse(&answer)
    }

    /// Opens a stream of events.
    ///
    /// # Errors
    /// When it is not opened with 200.
    pub fn stream(&self, request: Request) -> io::Result<EventStream> {
        let address = self.next_address();
        let mut connection = self.connect(address)?;
        connection.write_all(&self.bytes(&request, address))?;
        EventStream::open(connection)
    }

    /// URL of the server; of several servers, all URLs separated by commas, as `--server` takes them.
    #[must_use]
    pub fn url(&self) -> String {
        let urls: Vec<String> =
            self.addresses.iter().map(|address| format!("http://{}", address.get())).collect();
        urls.join(",")
    }

    /// Its token.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let connection = TcpStream::connect_timeout(&address, self.patience)?;
        connection.set_read_timeout(Some(self.patience))?;
        connection.set_write_timeout(Some(self.patience))?;
        connection.set_nodelay(true)?;
        Ok(connection)
    }

    fn next_address(&self) -> SocketAddr {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.addresses[turn % self.addresses.len()].get()
    }

    fn bytes(&self, request: &Request, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
        let has = |name: &str| request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        for (name, value) in &request.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if !has("host") {
            let _ = write!(head, "host: {address}\r\n");
        }
        if let Some(token) = self.token.as_ref().filter(|_| !has("authorization") && !has("apikey")) {
            let _ = write!(head, "authorization: Bearer {token}\r\n");
        }
        if let Some(body) = &request.body {
            let _ = write!(head, "content-length: {}\r\n", body.len());
        }
        head.push_str("connection: close\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(request.body.as_deref().unwrap_or_default());
        bytes
    }
}

impl Request {
    /// A request without a body.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: None }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Gives it a body of JSON.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").bytes(body.to_string().into_bytes())
    }

    /// Gives it a body, of no type.
    #[must_use]
    pub fn bytes(mut self, body: Vec<u8>) -> Self {
        self.body = Some(body);
        self
    }
}

impl Answer {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// True if what was asked for was done.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The epoch in which it was answered.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        self.header("muster-epoch")?.parse().ok()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{} is no JSON ({error}): {}", self.status, self.text()))
    }

    /// The body as JSON, of an answer with this status.
    ///
    /// # Panics
    /// When the status is another.
    #[must_use]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// The body of a refusal, which must be a problem with this status (I9).
    ///
    /// # Panics
    /// When it is not.
    #[must_use]
    pub fn problem(&self, status: u16) -> Value {
        let body = self.expect(status);
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{body}");
        assert_eq!(body["status"], status, "{body}");
        for key in ["type", "title", "detail"] {
            assert!(body[key].is_string(), "{key} in {body}");
        }
        body
    }
}

/// Encodes everything but letters, digits and `-._~`, for a part of a path or query.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// Splits a status line and headers off; `None` where they are not whole.
fn parse_head(bytes: &[u8]) -> Option<(Answer, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = text.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers = lines.filter_map(header).collect();
    Some((Answer { status, headers, body: Vec::new() }, end + 4))
}

fn parse(bytes: &[u8]) -> io::Result<Answer> {
    let (mut answer, start) = parse_head(bytes).ok_or_else(broken_off)?;
    let rest = &bytes[start..];
    answer.body = if answer.header("transfer-encoding") == Some("chunked") {
        join_chunks(rest)?
    } else {
        let length = answer.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        // Half an answer is none: whoever sent it may have died before it meant it.
        rest.get(..length).ok_or_else(broken_off)?.to_vec()
    };
    Ok(answer)
}

fn join_chunks(mut rest: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let (from, to) = chunk(rest).ok_or_else(broken_off)?;
        if from == to {
            return Ok(body);
        }
        body.extend_from_slice(&rest[from..to]);
        rest = &rest[to + 2..];
    }
}

fn broken_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the answer broke off")
}

/// Longer than any answer takes, a waiting pull of 30 s included.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// Start and end of the first chunk's content, if it has arrived completely.
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
