//! A gateway before stand-ins, and callers who write what they like.

use crate::server::KEY;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use muster_gateway::{Gateway, Settings};
use sha2::Sha256;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::{JoinHandle, JoinSet},
};

/// A gateway that runs until it is dropped.
pub(crate) struct Stage {
    pub(crate) address: String,
    pub(crate) gateway: Gateway,
    task: JoinHandle<()>,
}

impl Stage {
    /// A gateway before these, all of them checked.
    pub(crate) async fn before(coordinators: &[&Standin]) -> Self {
        Self::with(Settings::default(), coordinators).await
    }

    pub(crate) async fn with(settings: Settings, coordinators: &[&Standin]) -> Self {
        let urls = coordinators.iter().map(|coordinator| coordinator.url.parse().unwrap()).collect();
        let gateway = Gateway::new(urls, settings).unwrap();
        gateway.check().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = gateway.clone();
        let task = tokio::spawn(async move { serving.serve(listener, std::future::pending()).await });
        Self { address, gateway, task }
    }

    /// A connection of somebody.
    pub(crate) async fn caller(&self) -> Caller {
        Caller::of(&self.address).await
    }

    /// Sends bytes on a connection of their own, and nothing after; returns all that comes back.
    pub(crate) async fn exchange(&self, bytes: impl AsRef<str>) -> String {
        let mut caller = self.caller().await;
        caller.send(bytes.as_ref()).await;
        caller.rest().await
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One end of a connection to the gateway.
pub(crate) struct Caller(TcpStream);

impl Caller {
    pub(crate) async fn of(address: &str) -> Self {
        Self(TcpStream::connect(address).await.unwrap())
    }

    /// A caller with another address of this machine.
    pub(crate) async fn from(own: &str, address: &str) -> Self {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{own}:0").parse().unwrap()).unwrap();
        Self(socket.connect(address.parse().unwrap()).await.unwrap())
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// All until the gateway closes.
    pub(crate) async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        // A gateway that closes on a caller who still sends resets the connection; what came before counts.
        let _ = self.0.read_to_end(&mut bytes).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// All until some text has come.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        read_until(&mut self.0, Vec::new(), text.as_bytes()).await.map_or_else(String::new, |(read, _)| read)
    }
}

/// A request that wants its connection closed, with a good token unless `lines` say otherwise.
pub(crate) fn request(method_and_path: &str, lines: &str) -> String {
    let token = if lines.starts_with("Authorization") { "" } else { "Authorization: Bearer good\r\n" };
    format!("{method_and_path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{token}{lines}\r\n")
}

/// The number in the first line of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

/// The value of a header of an answer or a request.
pub(crate) fn header<'t>(message: &'t str, name: &str) -> Option<&'t str> {
    let head = message.split("\r\n\r\n").next()?;
    let mut fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// A stand-in for a coordinator. It says whether it is ready and whom it knows; all else is handed to the test.
pub(crate) struct Standin {
    pub(crate) url: String,
    calls: mpsc::UnboundedReceiver<Call>,
    manner: Arc<Manner>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Manner {
    is_unready: AtomicBool,
    /// Number of questions about a token.
    asked: AtomicUsize,
    /// It is none of ours.
    is_strange: AtomicBool,
    /// It has just been started and has no key yet.
    is_early: AtomicBool,
    /// It proves nothing and says nothing.
    is_silent: AtomicBool,
    /// It answers by itself and keeps connections.
    keeps_connections: AtomicBool,
    /// Number of requests for a proof that it is one of ours.
    challenged: AtomicUsize,
}

impl Standin {
    pub(crate) async fn start() -> Self {
        Self::at("127.0.0.1:0").await
    }

    pub(crate) async fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (hand_over, calls) = mpsc::unbounded_channel();
        let manner = Arc::<Manner>::default();
        let task = tokio::spawn(accept(listener, Arc::clone(&manner), hand_over));
        Self { url, calls, manner, task }
    }

    /// The next request that came through.
    pub(crate) async fn call(&mut self) -> Call {
        self.calls.recv().await.unwrap()
    }

    /// Answers all that comes through, for as long as it is polled.
    pub(crate) async fn answer_all(&mut self) {
        loop {
            self.call().await.answer("200 OK", "", "").await;
        }
    }

    /// The next request that came through, if it is there already.
    pub(crate) fn call_now(&mut self) -> Option<Call> {
        self.calls.try_recv().ok()
    }

    pub(crate) fn set_ready(&self, is_ready: bool) {
        self.manner.is_unready.store(!is_ready, Ordering::SeqCst);
    }

    /// It cannot prove any more that it is one of ours.
    pub(crate) fn turn_strange(&self) {
        self.manner.is_strange.store(true, Ordering::SeqCst);
    }

    /// It takes connections and says nothing to other servers, like a process that hangs.
    pub(crate) fn turn_silent(&self) {
        self.manner.is_silent.store(true, Ordering::SeqCst);
    }

    /// It answers as a server does whose database is not there yet.
    pub(crate) fn turn_early(&self) {
        self.manner.is_early.store(true, Ordering::SeqCst);
    }

    /// It answers whatever comes by itself, and keeps connections.
    pub(crate) fn keep_connections(&self) {
        self.manner.keeps_connections.store(true, Ordering::SeqCst);
    }

    pub(crate) fn times_challenged(&self) -> usize {
        self.manner.challenged.load(Ordering::SeqCst)
    }

    pub(crate) fn times_asked(&self) -> usize {
        self.manner.asked.load(Ordering::SeqCst)
    }

    /// Closes the door and what is idle; nobody listens there any more when this returns.
    pub(crate) async fn stop(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, manner: Arc<Manner>, calls: mpsc::UnboundedSender<Call>) {
    // Those end with this.
    let mut idle = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        idle.spawn(take(stream, Arc::clone(&manner), calls.clone()));
    }
}

async fn take(mut stream: TcpStream, manner: Arc<Manner>, calls: mpsc::UnboundedSender<Call>) {
    while let Some((head, rest)) = read_until(&mut stream, Vec::new(), b"\r\n\r\n").await {
        let Some(answer) = manner.to_server(&head) else {
            answer_or_hand_over(Call { head, rest, stream }, &manner, &calls).await;
            return;
        };
        if manner.is_silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}

impl Manner {
    /// Response to another server; the connection stays open after it.
    fn to_server(&self, head: &str) -> Option<String> {
        let is_early = self.is_early.load(Ordering::SeqCst);
        let is_question = head.starts_with("GET /leader-proof?");
        let is_kept = self.keeps_connections.load(Ordering::SeqCst);
        if !is_question && !is_kept && !head.starts_with("GET /healthz ") {
            return None;
        }
        self.challenged.fetch_add(usize::from(is_question), Ordering::SeqCst);
        if is_early && is_question {
            return Some("HTTP/1.1 503 No\r\nMuster-Not-Leading: 1\r\nContent-Length: 0\r\n\r\n".to_owned());
        }
        let is_ours = is_question && !self.is_strange.load(Ordering::SeqCst);
        let body = if is_ours { proof(head) } else { "no idea".to_owned() };
        let length = body.len();
        Some(format!("HTTP/1.1 200 OK\r\nMuster-Epoch: 7\r\nContent-Length: {length}\r\n\r\n{body}"))
    }
}

async fn answer_or_hand_over(call: Call, manner: &Manner, calls: &mpsc::UnboundedSender<Call>) {
    if call.head.starts_with("GET /readyz ") {
        let status = if manner.is_unready.load(Ordering::SeqCst) { "503 No" } else { "200 OK" };
        call.answer(status, "", "").await;
    } else if call.head.starts_with("GET /auth/me ") {
        manner.asked.fetch_add(1, Ordering::SeqCst);
        match header(&call.head, "authorization") {
            Some(token) if token.starts_with("Bearer good") => call.answer("200 OK", "", "{}").await,
            Some("Bearer odd") => call.answer("404 Not Found", "", "").await,
            _ => call.answer("401 Unauthorized", "", "").await,
        }
    } else {
        let _ = calls.send(call);
    }
}

/// Proof that one of our servers returns if it uses the address it was called by.
fn proof(head: &str) -> String {
    let query = head.split(['?', ' ']).nth(2).unwrap();
    let (nonce, epoch) = query.strip_prefix("nonce=").unwrap().split_once("&epoch=").unwrap();
    let under = |key: &[u8]| Hmac::<Sha256>::new_from_slice(key).unwrap();
    let key = under(KEY.as_bytes()).chain_update("\nservers\n").finalize().into_bytes();
    let told = format!("{nonce}\n{epoch}\nhttp://{}\n", header(head, "host").unwrap());
    URL_SAFE_NO_PAD.encode(under(&key).chain_update(told).finalize().into_bytes())
}

/// A request that came through; the test answers it.
pub(crate) struct Call {
    /// The head, with the empty line.
    pub(crate) head: String,
    rest: Vec<u8>,
    stream: TcpStream,
}

impl Call {
    pub(crate) fn line(&self) -> &str {
        self.head.split("\r\n").next().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// Reads the body up to some text.
    pub(crate) async fn body_until(&mut self, text: &str) -> String {
        let rest = std::mem::take(&mut self.rest);
        let (read, rest) = read_until(&mut self.stream, rest, text.as_bytes()).await.unwrap();
        self.rest = rest;
        read
    }

    /// All that comes until the gateway closes the connection.
    pub(crate) async fn until_closed(&mut self) -> String {
        let mut bytes = std::mem::take(&mut self.rest);
        let _ = self.stream.read_to_end(&mut bytes).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Answers as a server of ours does, and closes.
    pub(crate) async fn answer(self, status: &str, lines: &str, body: &str) {
        let epoch = if lines.contains("Muster-Epoch") { "" } else { "Muster-Epoch: 7\r\n" };
        self.answer_strangely(status, &format!("{epoch}{lines}"), body).await;
    }

    /// Answers with nothing but what is given, and closes.
    pub(crate) async fn answer_strangely(mut self, status: &str, lines: &str, body: &str) {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{lines}\r\n");
        self.send(&format!("{head}{body}")).await;
        let _ = self.stream.shutdown().await;
    }
}

/// Reads up to and including `end`; what was read beyond it is the second part.
async fn read_until(stream: &mut TcpStream, mut read: Vec<u8>, end: &[u8]) -> Option<(String, Vec<u8>)> {
    loop {
        let found = (0..=read.len()).find(|at| read[*at..].starts_with(end));
        if let Some(at) = found {
            let rest = read.split_off(at + end.len());
            return Some((String::from_utf8_lossy(&read).into_owned(), rest));
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}
