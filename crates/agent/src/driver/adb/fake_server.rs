//! An adb server that exists only here, for what a real one cannot be made to say.

use super::{Adb, AdbSettings};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A server that answers as it is told, and remembers what it was asked.
pub(super) struct FakeServer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

/// What a request gets.
pub(super) enum Reply {
    /// These bytes; the connection goes on.
    Then(Vec<u8>),
    /// These bytes, and the end of the connection.
    Last(Vec<u8>),
    /// Nothing, ever.
    Silence,
}

impl FakeServer {
    /// Starts one on a port of its own.
    pub(super) async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, seen) = (Arc::new(answer), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&seen)));
            }
        });
        Self { port, asked }
    }

    /// A driver of it that could start no other.
    pub(super) fn driver(&self, patience: Duration) -> Adb {
        let program = "/nonexistent/adb".into();
        Adb::new(AdbSettings { port: self.port, program, patience, ..AdbSettings::default() })
    }

    /// How often something was asked.
    pub(super) fn asked(&self, what: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| asked.contains(what)).count()
    }
}

/// `OKAY` and a counted answer, as host services give it.
pub(super) fn block(text: &str) -> Reply {
    Reply::Last(format!("OKAY{:04x}{text}", text.len()).into_bytes())
}

/// `OKAY`, the packets of the second shell protocol, and the end.
pub(super) fn ran(out: &str, code: u8) -> Reply {
    let mut bytes = b"OKAY\x01".to_vec();
    bytes.extend(u32::try_from(out.len()).unwrap().to_le_bytes());
    bytes.extend(out.as_bytes());
    bytes.extend([3, 1, 0, 0, 0, code]);
    Reply::Last(bytes)
}

async fn serve(mut stream: TcpStream, answer: Arc<impl Fn(&str) -> Reply>, seen: Arc<Mutex<Vec<String>>>) {
    while let Some(request) = request(&mut stream).await {
        seen.lock().unwrap().push(request.clone());
        match answer(&request) {
            Reply::Then(bytes) => stream.write_all(&bytes).await.unwrap(),
            Reply::Last(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                // What the driver still sends is read, or the end would look like a broken connection.
                let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
                return;
            }
            Reply::Silence => std::future::pending().await,
        }
    }
}

async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut digits = [0; 4];
    stream.read_exact(&mut digits).await.ok()?;
    let length = usize::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap();
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await.ok()?;
    Some(String::from_utf8(bytes).unwrap())
}
