//! The load on Redis streams: XADD, XREADGROUP, XACK, with `appendfsync always`.

use super::{Drive, PAIRS, PAYLOAD, Side};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

/// Jobs per second; `None` where there is no Redis.
pub(super) fn rate(drive: Drive) -> Option<f64> {
    let server = Redis::start()?;
    let mut first = Link::open(server.address);
    first.send(&[&["XGROUP", "CREATE", "jobs", "workers", "0", "MKSTREAM"]]);
    first.answers(1);
    let producers = (0..PAIRS).map(|_| Producer(Link::open(server.address))).collect();
    let workers =
        (0..PAIRS).map(|n| Worker { link: Link::open(server.address), name: format!("w{n}") }).collect();
    Some(super::run(drive, producers, workers))
}

struct Producer(Link);

impl Side for Producer {
    fn step(&mut self, batch: usize) -> usize {
        self.0.send(&vec![&["XADD", "jobs", "*", "payload", PAYLOAD] as &[&str]; batch]);
        self.0.answers(batch);
        batch
    }
}

struct Worker {
    link: Link,
    name: String,
}

impl Side for Worker {
    fn step(&mut self, batch: usize) -> usize {
        let count = batch.to_string();
        let read: &[&str] = &[
            "XREADGROUP",
            "GROUP",
            "workers",
            &self.name,
            "COUNT",
            &count,
            "BLOCK",
            "100",
            "STREAMS",
            "jobs",
            ">",
        ];
        self.link.send(&[read]);
        let ids = self.link.entry_ids();
        if ids.is_empty() {
            return 0;
        }
        let acks: Vec<Vec<&str>> =
            ids.iter().map(|id| vec!["XACK", "jobs", "workers", id.as_str()]).collect();
        self.link.send(&acks.iter().map(Vec::as_slice).collect::<Vec<_>>());
        self.link.answers(ids.len());
        ids.len()
    }
}

/// A running Redis; ended when dropped.
struct Redis {
    child: Child,
    address: SocketAddr,
    _data: tempfile::TempDir,
}

impl Redis {
    fn start() -> Option<Self> {
        let data = tempfile::tempdir().expect("a temporary directory");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("its address");
        drop(free);
        let port = address.port().to_string();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "yes"])
            .args(["--appendfsync", "always", "--dir"])
            .arg(data.path())
            .stdout(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            println!("  there is no redis-server here to compare with (Debian: apt install redis-server)");
            return None;
        };
        let server = Self { child, address, _data: data };
        while TcpStream::connect(address).is_err() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Some(server)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection that speaks RESP.
struct Link(BufReader<TcpStream>);

impl Link {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("Redis listens");
        stream.set_nodelay(true).expect("a socket option");
        Self(BufReader::new(stream))
    }

    /// Sends commands in one write.
    fn send(&mut self, commands: &[&[&str]]) {
        let mut bytes = Vec::new();
        for command in commands {
            bytes.extend(format!("*{}\r\n", command.len()).into_bytes());
            for word in *command {
                bytes.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
            }
        }
        self.0.get_mut().write_all(&bytes).expect("Redis reads");
    }

    fn answers(&mut self, count: usize) {
        for _ in 0..count {
            self.value(&mut Vec::new());
        }
    }

    /// The ids of the entries in the answer to XREADGROUP.
    fn entry_ids(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        self.value(&mut texts);
        texts.into_iter().filter(|text| is_entry_id(text)).collect()
    }

    /// Reads one value; what texts there are in it go into `texts`.
    fn value(&mut self, texts: &mut Vec<String>) {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("Redis answers");
        let (kind, rest) = line.trim_end().split_at(1);
        let length: i64 = rest.parse().unwrap_or(-1);
        match kind {
            "-" => panic!("Redis refused: {rest}"),
            "*" => (0..length).for_each(|_| self.value(texts)),
            "$" if length >= 0 => {
                let mut bytes = vec![0; usize::try_from(length).unwrap_or(0) + 2];
                self.0.read_exact(&mut bytes).expect("the rest of the answer");
                bytes.truncate(bytes.len() - 2);
                texts.push(String::from_utf8(bytes).expect("UTF-8"));
            }
            _ => {}
        }
    }
}

/// `1526919030474-55`.
fn is_entry_id(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('-').is_some_and(|(time, number)| digits(time) && digits(number))
}
