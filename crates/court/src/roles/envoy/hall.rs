//! Room for so many visitors at once, each for so long: whoever comes without a word must not use up what the other
//! roles of this process need (C23).

use axum::serve::Listener;
use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};

/// Lets visitors in.
pub(super) struct Hall {
    listener: TcpListener,
    places: Arc<Semaphore>,
    stay: Duration,
}

/// A connection that ends in time, and then frees its place.
pub(super) struct Visitor {
    stream: TcpStream,
    leave: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Hall {
    pub(super) fn new(listener: TcpListener, places: usize, stay: Duration) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(places)), stay }
    }
}

impl Listener for Hall {
    type Io = Visitor;
    type Addr = SocketAddr;

    /// Waits for a place, then for somebody who takes it.
    async fn accept(&mut self) -> (Visitor, SocketAddr) {
        let place = Arc::clone(&self.places).acquire_owned().await.expect("nobody closes the hall");
        // The listener of axum tries again by itself when the system has no room for a connection.
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (Visitor { stream, leave: Box::pin(sleep(self.stay)), _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Visitor {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.leave.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Visitor {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.leave.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Router, routing::get};

    /// C23: whoever says nothing holds a place for a while only; the next one then gets it.
    #[tokio::test]
    async fn a_silent_visitor_leaves_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hall = Hall::new(listener, 1, Duration::from_millis(50));
        let router = Router::new().route("/", get(|| async { "well" }));
        let serving = tokio::spawn(async move { axum::serve(hall, router).await });
        let silent = TcpStream::connect(address).await.unwrap();
        let url = format!("http://{address}/");
        let client = muster_worker_kit::http::client_for(&url).no_proxy().build().unwrap();
        let answer = client.get(&url).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), "well");
        // The silent one was sent away, though it never hung up.
        silent.readable().await.unwrap();
        assert_eq!(silent.try_read(&mut [0; 1]).unwrap(), 0);
        serving.abort();
    }
}
