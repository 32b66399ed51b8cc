//! Connections to a vendor's program.

use super::answer::Answer;
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{Message, protocol::WebSocketConfig},
};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connections to one program. Each carries one request at a time.
#[derive(Debug)]
pub(super) struct Channel {
    url: String,
    idle: Mutex<Vec<Socket>>,
    works: AtomicBool,
}

impl Channel {
    /// Connects to nobody yet.
    pub(super) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), idle: Mutex::default(), works: AtomicBool::new(false) }
    }

    /// Sends a request and waits for its answer. Whoever stops waiting gives up the connection with it.
    pub(super) async fn exchange(&self, request: &str) -> Result<Answer, String> {
        let outcome = self.carry(request).await;
        self.works.store(outcome.is_ok(), Ordering::Relaxed);
        outcome.map_err(|error| format!("{}: {error}", self.url))
    }

    /// Whether the last exchange worked.
    pub(super) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    /// Takes note that an exchange did not work after all.
    pub(super) fn doubt(&self) {
        self.works.store(false, Ordering::Relaxed);
    }

    /// Where the program is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    async fn carry(&self, request: &str) -> Result<Answer, String> {
        let mut socket = self.sent(request).await?;
        let answer = Answer::read(&received(&mut socket).await?)?;
        // Only a connection that is beyond doubt is used again.
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(socket);
        }
        Ok(answer)
    }

    async fn sent(&self, request: &str) -> Result<Socket, String> {
        if let Some(mut socket) = self.usable() {
            // A program cannot have acted on a message that did not leave whole, so this one may be sent anew.
            if send(&mut socket, request).await.is_ok() {
                return Ok(socket);
            }
        }
        let mut socket = self.connect().await?;
        send(&mut socket, request).await?;
        Ok(socket)
    }

    fn usable(&self) -> Option<Socket> {
        loop {
            let mut socket = self.idle().pop()?;
            if is_quiet(&mut socket) {
                return Some(socket);
            }
        }
    }

    async fn connect(&self) -> Result<Socket, String> {
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX))
            .read_buffer_size(READ_BUFFER_BYTES);
        let connecting = connect_async_with_config(&self.url, Some(config), true);
        match timeout(CONNECT_PATIENCE, connecting).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(error)) => Err(format!("cannot connect: {error}")),
            Err(_) => Err(format!("cannot connect within {CONNECT_PATIENCE:?}")),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Socket>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn send(socket: &mut Socket, request: &str) -> Result<(), String> {
    socket.send(Message::text(request)).await.map_err(|error| format!("cannot send: {error}"))
}

async fn received(socket: &mut Socket) -> Result<Vec<u8>, String> {
    loop {
        match socket.next().await {
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => {
                return Ok(message.into_data().into());
            }
            Some(Ok(Message::Close(_))) | None => return Err("closed before it answered".to_owned()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(format!("lost before it answered: {error}")),
        }
    }
}

/// Whether an idle connection has neither ended nor said anything: what it said would be taken for the next answer.
fn is_quiet(socket: &mut Socket) -> bool {
    loop {
        match socket.next().now_or_never() {
            None => return true,
            Some(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            Some(_) => return false,
        }
    }
}

/// Enough for bursts; a connection costs the program little and this agent less.
const IDLE_MAX: usize = 8;

/// The longest answer that is taken.
const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

const READ_BUFFER_BYTES: usize = 8 * 1024;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
