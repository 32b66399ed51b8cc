//! A vendor's control program, as far as tests need one.

use serde_json::Value;
use std::{
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// A program on a port of its own; gone with the value.
#[derive(Debug)]
pub struct VendorServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What a request gets.
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
struct Shared {
    seen: Mutex<Vec<Value>>,
    links: Mutex<Vec<TcpStream>>,
    opened: AtomicUsize,
    open: AtomicUsize,
    is_over: AtomicBool,
}

type Answering = dyn Fn(&Value) -> VendorReply + Send + Sync;

impl VendorServer {
    /// Starts one that answers as it is told.
    #[must_use]
    pub fn start(answer: impl Fn(&Value) -> VendorReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let (accepting, answer) = (Arc::clone(&shared), Arc::new(answer) as Arc<Answering>);
        thread::spawn(move || accept(&listener, &accepting, &answer));
        Self { address, shared }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Every request, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<Value> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// How many connections it took.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.shared.opened.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Ends every connection.
    pub fn hang_up(&self) {
        self.shared.hang_up();
    }
}

impl Drop for VendorServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.shared.hang_up();
        // Wakes the one that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn hang_up(&self) {
        for link in self.links.lock().unwrap().drain(..) {
            let _ = link.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, answer: &Arc<Answering>) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        let (shared, answer) = (Arc::clone(shared), Arc::clone(answer));
        shared.links.lock().unwrap().push(stream.try_clone().unwrap());
        shared.opened.fetch_add(1, Ordering::SeqCst);
        shared.open.fetch_add(1, Ordering::SeqCst);
        thread::spawn(move || {
            if let Ok(socket) = tungstenite::accept(stream) {
                serve(socket, &shared, &answer);
            }
            shared.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

fn serve(mut socket: WebSocket<TcpStream>, shared: &Shared, answer: &Arc<Answering>) {
    while let Ok(message) = socket.read() {
        let Message::Text(text) = message else { continue };
        let request: Value = serde_json::from_str(&text).unwrap();
        shared.seen.lock().unwrap().push(request.clone());
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
