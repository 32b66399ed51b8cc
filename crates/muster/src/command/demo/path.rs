//! The way of one agent to the server: a small TCP proxy in the demo's own process that can be shut, as if somebody had
//! pulled a cable.

use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// A way that can be shut; gone with the value.
pub(super) struct Path {
    /// What the agent takes for the server.
    pub(super) url: String,
    is_open: watch::Sender<bool>,
    carrying: JoinHandle<()>,
}

impl Path {
    /// Lays it to a server.
    pub(super) async fn lay(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (is_open, watched) = watch::channel(true);
        Ok(Self { url, is_open, carrying: tokio::spawn(carry(listener, server, watched)) })
    }

    /// Cuts all connections in the middle of whatever they carry, and lets nobody through.
    pub(super) fn shut(&self) {
        self.is_open.send_replace(false);
    }

    pub(super) fn open(&self) {
        self.is_open.send_replace(true);
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

async fn carry(listener: TcpListener, server: SocketAddr, is_open: watch::Receiver<bool>) {
    loop {
        match listener.accept().await {
            Ok((near, _)) if *is_open.borrow() => drop(tokio::spawn(pass(near, server, is_open.clone()))),
            // Shut: whoever calls finds nobody.
            Ok(_) => {}
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn pass(mut near: TcpStream, server: SocketAddr, mut is_open: watch::Receiver<bool>) {
    let Ok(mut far) = TcpStream::connect(server).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut near, &mut far) => {}
        _ = is_open.wait_for(|is_open| !is_open) => {}
    }
}

/// Out of file handles: some may be free soon.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Sends a letter through, and says whether it came back.
    async fn echoes(stream: &mut TcpStream) -> bool {
        let mut answer = [0];
        stream.write_all(b"x").await.is_ok() && stream.read_exact(&mut answer).await.is_ok()
    }

    #[tokio::test]
    async fn a_path_that_is_shut_carries_nothing_until_it_is_open_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        let path = Path::lay(server).await.unwrap();
        let address = path.url.strip_prefix("http://").unwrap().to_owned();
        let mut before = TcpStream::connect(&address).await.unwrap();
        assert!(echoes(&mut before).await);
        path.shut();
        assert!(!echoes(&mut before).await, "what was open is cut");
        let mut meanwhile = TcpStream::connect(&address).await.unwrap();
        assert!(!echoes(&mut meanwhile).await);
        path.open();
        let mut after = TcpStream::connect(&address).await.unwrap();
        assert!(echoes(&mut after).await);
    }
}
