//! The load on Redis streams: XADD, XREADGROUP, XACK, with `appendfsync always`.

use super::{
    broker::{Broker, sides},
    install,
    process::{self, Process, connect},
};
use crate::pool::{Drive, PAYLOAD, Side, run};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::Command,
};

/// Jobs per second; `None` where there is no Redis.
pub(crate) fn rate(drive: Drive) -> Option<f64> {
    match Redis::start() {
        Ok(server) => {
            let [producers, workers] = sides(&server);
            Some(run(drive, producers, workers))
        }
        Err(reason) => {
            println!("  Redis is left out: {reason}");
            None
        }
    }
}

/// A running Redis that syncs every write.
pub(crate) struct Redis {
    process: Process,
    pub(super) address: SocketAddr,
}

impl Redis {
    pub(super) fn start() -> Result<Self, String> {
        let program = install::debian("redis-server", "redis-server")?;
        let (data, address) = (process::directory(), process::free_address());
        let mut command = Command::new(program);
        command
            .args(["--bind", "127.0.0.1", "--port", &address.port().to_string(), "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
            .arg(data.path());
        let mut process = Process::start(&command, data)?;
        process.wait_for(address)?;
        let mut link = Link::open(address);
        link.send(&[&["XGROUP", "CREATE", "jobs", "workers", "0", "MKSTREAM"]]);
        link.answers(1);
        Ok(Self { process, address })
    }
}

impl Broker for Redis {
    fn version(&self) -> String {
        let mut link = Link::open(self.address);
        link.send(&[&["INFO", "server"]]);
        let mut texts = Vec::new();
        link.value(&mut texts);
        let line =
            texts.iter().flat_map(|text| text.lines()).find_map(|line| line.strip_prefix("redis_version:"));
        line.unwrap_or_default().to_owned()
    }

    fn server(&self) -> u32 {
        self.process.id()
    }

    fn producer(&self) -> Box<dyn Side> {
        Box::new(Producer(Link::open(self.address)))
    }

    fn worker(&self, number: usize) -> Box<dyn Side> {
        Box::new(Worker { link: Link::open(self.address), name: format!("w{number}") })
    }
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
        let mut ack = vec!["XACK", "jobs", "workers"];
        ack.extend(ids.iter().map(String::as_str));
        self.link.send(&[&ack]);
        self.link.answers(1);
        ids.len()
    }
}

/// One connection that speaks RESP.
struct Link(BufReader<TcpStream>);

impl Link {
    fn open(address: SocketAddr) -> Self {
        Self(BufReader::new(connect(address)))
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
