//! Services of the outside world that exist only here: plain HTTP/1.1 that answers as it is told, a Slack on top of it
//! that takes posts and shows the replies it is told of, and a vendor's control program over WebSocket.

use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// A port whose connections are each served by a thread of their own; closed, and they with it, with the value.
#[derive(Debug)]
pub(crate) struct Port {
    address: SocketAddr,
    links: Arc<Links>,
}

#[derive(Debug, Default)]
struct Links {
    is_over: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Port {
    /// Opens any free one.
    pub(crate) fn open(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = Self { address: listener.local_addr().unwrap(), links: Arc::default() };
        let (links, serve) = (Arc::clone(&port.links), Arc::new(serve));
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if links.is_over.load(Ordering::SeqCst) {
                    return;
                }
                links.open.lock().unwrap().push(stream.try_clone().unwrap());
                let (serve, link) = (Arc::clone(&serve), stream.try_clone().unwrap());
                thread::spawn(move || {
                    serve(stream);
                    // The list of links has it, too: without a word it would stay open.
                    let _ = link.shutdown(Shutdown::Both);
                });
            }
        });
        port
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connections that were taken since the last [`Self::hang_up`].
    pub(crate) fn links(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.links.open.lock().unwrap()
    }

    /// Ends every connection.
    pub(crate) fn hang_up(&self) {
        for link in self.links().drain(..) {
            let _ = link.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.links.is_over.store(true, Ordering::SeqCst);
        self.hang_up();
        // Wakes the one that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

/// A service on a port of its own; gone with the value.
#[derive(Debug)]
pub struct StandIn {
    port: Port,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The method.
    pub method: String,
    /// Path and query, as they came.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as it is.
    pub body: Vec<u8>,
}

/// Response to a request.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl StandIn {
    /// Starts one that answers as it is told.
    #[must_use]
    pub fn start(answer: impl Fn(&Visit) -> Reply + Send + Sync + 'static) -> Self {
        Self { port: Port::open(move |stream| answer_visits(&stream, &answer)) }
    }

    /// URL of the service.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.port.address())
    }
}

impl Visit {
    /// The path without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The query's value of a name that needs no decoding.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        let pairs = self.target.split_once('?')?.1.split('&');
        pairs
            .filter_map(|pair| pair.split_once('='))
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

impl Reply {
    /// An answer of JSON.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string() }
    }

    /// No answer: the connection ends.
    #[must_use]
    pub fn hang_up() -> Self {
        Self { status: 0, headers: Vec::new(), body: String::new() }
    }

    /// The same answer with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Answers until either side hangs up.
fn answer_visits(stream: &TcpStream, answer: &impl Fn(&Visit) -> Reply) {
    let mut reader = BufReader::new(stream);
    while let Some(visit) = read_visit(&mut reader) {
        if write_reply(stream, &answer(&visit)).is_none() {
            return;
        }
    }
}

fn read_visit(reader: &mut impl BufRead) -> Option<Visit> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut visit = Visit { method, target, headers, body: Vec::new() };
    let length = visit.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
    visit.body.resize(length, 0);
    reader.read_exact(&mut visit.body).ok()?;
    Some(visit)
}

/// Writes a response; the caller may have closed the connection.
fn write_reply(mut stream: &TcpStream, reply: &Reply) -> Option<()> {
    if reply.status == 0 {
        return None;
    }
    let mut head = format!("HTTP/1.1 {} x\r\ncontent-type: application/json\r\n", reply.status);
    for (name, value) in &reply.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let bytes = format!("{head}content-length: {}\r\n\r\n{}", reply.body.len(), reply.body);
    stream.write_all(bytes.as_bytes()).ok()
}

/// A workspace on a port of its own; gone with the value.
#[derive(Debug)]
pub struct Slack {
    stand_in: StandIn,
    workspace: Arc<Mutex<Workspace>>,
}

/// One post that was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct SlackPost {
    /// The message's id, as the metadata has it.
    pub id: String,
    /// The task it belongs to, as the metadata has it.
    pub task: Option<String>,
    /// Channel of the post.
    pub channel: String,
    /// The thread that it was posted into.
    pub thread_ts: Option<String>,
    /// Text that people read.
    pub text: String,
    /// Its own name.
    pub ts: String,
}

#[derive(Debug, Default)]
struct Workspace {
    posts: Vec<SlackPost>,
    said: Vec<Value>,
    /// Every so many posts one is refused with 429; never where it is 0.
    patience_every: usize,
    asked: usize,
}

impl Slack {
    /// Starts one.
    #[must_use]
    pub fn start() -> Self {
        let workspace: Arc<Mutex<Workspace>> = Arc::default();
        let inside = Arc::clone(&workspace);
        let stand_in = StandIn::start(move |visit| inside.lock().unwrap().answer(visit));
        Self { stand_in, workspace }
    }

    /// URL of the service, as `base_url` of an envoy.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/api", self.stand_in.url())
    }

    /// Asks for patience of a second with every so many-th post from now on.
    pub fn ask_for_patience(&self, every: usize) {
        self.workspace.lock().unwrap().patience_every = every;
    }

    /// Every post that was taken, in order.
    #[must_use]
    pub fn posts(&self) -> Vec<SlackPost> {
        self.workspace.lock().unwrap().posts.clone()
    }

    /// The posts of one task, in order.
    #[must_use]
    pub fn posts_of(&self, task: &str) -> Vec<SlackPost> {
        self.posts().into_iter().filter(|post| post.task.as_deref() == Some(task)).collect()
    }

    /// Number of accepted posts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.workspace.lock().unwrap().posts.len()
    }

    /// Has a person say something in a thread, for whoever asks; gives its name.
    pub fn say(&self, thread_ts: &str, text: &str) -> String {
        let mut workspace = self.workspace.lock().unwrap();
        let ts = workspace.next_ts();
        let said = json!({"type": "message", "user": "U1", "text": text, "ts": ts, "thread_ts": thread_ts});
        workspace.said.push(said);
        ts
    }
}

impl Workspace {
    fn answer(&mut self, visit: &Visit) -> Reply {
        if visit.header("authorization") != Some(&format!("Bearer {SLACK_TOKEN}")) {
            return Reply::json(200, &json!({"ok": false, "error": "invalid_auth"}));
        }
        match visit.path() {
            "/api/chat.postMessage" => self.post(&visit.json()),
            "/api/conversations.replies" => self.replies(visit.query("ts").unwrap_or_default()),
            _ => Reply::json(404, &json!({"ok": false, "error": "unknown_method"})),
        }
    }

    fn post(&mut self, body: &Value) -> Reply {
        self.asked += 1;
        if self.patience_every > 0 && self.asked.is_multiple_of(self.patience_every) {
            return Reply::json(429, &json!({"ok": false, "error": "ratelimited"}))
                .header("retry-after", "1");
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (ts, about) = (self.next_ts(), &body["metadata"]["event_payload"]);
        let post = SlackPost {
            id: text(&about["id"]).unwrap_or_default(),
            task: text(&about["task_id"]),
            channel: text(&body["channel"]).unwrap_or_default(),
            thread_ts: text(&body["thread_ts"]),
            text: text(&body["text"]).unwrap_or_default(),
            ts: ts.clone(),
        };
        self.posts.push(post);
        Reply::json(200, &json!({"ok": true, "channel": "C1", "ts": ts}))
    }

    fn replies(&self, thread_ts: &str) -> Reply {
        let said: Vec<_> = self.said.iter().filter(|said| said["thread_ts"] == thread_ts).collect();
        Reply::json(200, &json!({"ok": true, "messages": said, "has_more": false}))
    }

    fn next_ts(&self) -> String {
        format!("1770000000.{:06}", self.posts.len() + self.said.len() + 1)
    }
}

/// The token that this Slack wants.
pub const SLACK_TOKEN: &str = "xoxb-of-tests";

/// A vendor's control program, as far as tests need one; gone with the value.
#[derive(Debug)]
pub struct VendorServer {
    port: Port,
    shared: Arc<Seen>,
}

/// Response to a request.
#[derive(Clone, Debug)]
pub enum VendorReply {
    /// This text.
    Text(String),
    /// This text, and another that nobody asked for.
    Twice(String),
    /// The end of the connection, as the protocol has it.
    Close,
    /// The end of the connection, as a crash has it.
    Crash,
    /// Nothing, ever.
    Silence,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Mutex<Vec<Value>>,
    opened: AtomicUsize,
    open: AtomicUsize,
}

impl VendorServer {
    /// Starts one that answers as it is told.
    #[must_use]
    pub fn start(answer: impl Fn(&Value) -> VendorReply + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Seen::default());
        let seen = Arc::clone(&shared);
        let port = Port::open(move |stream| {
            seen.opened.fetch_add(1, Ordering::SeqCst);
            seen.open.fetch_add(1, Ordering::SeqCst);
            if let Ok(socket) = tungstenite::accept(stream) {
                answer_requests(socket, &seen, &answer);
            }
            seen.open.fetch_sub(1, Ordering::SeqCst);
        });
        Self { port, shared }
    }

    /// URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://{}", self.port.address())
    }

    /// Every request, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<Value> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Number of connections accepted so far.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.shared.opened.load(Ordering::SeqCst)
    }

    /// Number of open connections.
    #[must_use]
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Ends every connection.
    pub fn hang_up(&self) {
        self.port.hang_up();
    }
}

fn answer_requests(mut socket: WebSocket<TcpStream>, seen: &Seen, answer: &impl Fn(&Value) -> VendorReply) {
    while let Ok(message) = socket.read() {
        let Message::Text(text) = message else { continue };
        let request: Value = serde_json::from_str(&text).unwrap();
        seen.requests.lock().unwrap().push(request.clone());
        let sent = match answer(&request) {
            VendorReply::Text(text) => socket.send(Message::text(text)),
            VendorReply::Twice(text) => {
                // Written at once, so that both have come when the first is read.
                let both = socket
                    .write(Message::text(text.clone()))
                    .and_then(|()| socket.write(Message::text(text)));
                both.and_then(|()| socket.flush())
            }
            VendorReply::Close => socket.close(None),
            VendorReply::Crash => return drop(socket.get_ref().shutdown(Shutdown::Both)),
            VendorReply::Silence => Ok(()),
        };
        if sent.is_err() {
            return;
        }
    }
}
