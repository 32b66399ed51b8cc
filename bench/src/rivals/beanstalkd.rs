//! The load on beanstalkd: put, reserve, delete, with a log that is synced for every write (`-f0`).

use super::{
    broker::Broker,
    install,
    process::{self, Process, connect},
};
use crate::pool::{PAYLOAD, Side};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::Command,
};

/// A running beanstalkd.
pub(super) struct Beanstalkd {
    process: Process,
    address: SocketAddr,
}

impl Beanstalkd {
    pub(super) fn start() -> Result<Self, String> {
        let program = install::debian("beanstalkd", "beanstalkd")?;
        let (data, address) = (process::directory(), process::free_address());
        let mut command = Command::new(program);
        command.args(["-l", "127.0.0.1", "-p", &address.port().to_string(), "-f0", "-b"]).arg(data.path());
        let mut process = Process::start(&command, data)?;
        process.wait_for(address)?;
        Ok(Self { process, address })
    }
}

impl Broker for Beanstalkd {
    fn version(&self) -> String {
        let mut link = Link::open(self.address);
        link.send("stats\r\n");
        let length = link.answer("OK").parse().expect("a length");
        let stats = link.body(length);
        let version = stats.lines().find_map(|line| line.strip_prefix("version: "));
        version.unwrap_or_default().trim_matches('"').to_owned()
    }

    fn server(&self) -> u32 {
        self.process.id()
    }

    fn producer(&self) -> Box<dyn Side> {
        Box::new(Producer(Link::open(self.address)))
    }

    fn worker(&self, _: usize) -> Box<dyn Side> {
        Box::new(Worker(Link::open(self.address)))
    }
}

struct Producer(Link);

impl Side for Producer {
    fn step(&mut self, batch: usize) -> usize {
        self.0.send(&format!("put 0 0 600 {}\r\n{PAYLOAD}\r\n", PAYLOAD.len()).repeat(batch));
        for _ in 0..batch {
            self.0.answer("INSERTED");
        }
        batch
    }
}

struct Worker(Link);

impl Side for Worker {
    /// Waits for the first job alone: the others are taken if they are there.
    fn step(&mut self, batch: usize) -> usize {
        let more = "reserve-with-timeout 0\r\n".repeat(batch - 1);
        self.0.send(&format!("reserve-with-timeout 1\r\n{more}"));
        let ids: Vec<String> = (0..batch).filter_map(|_| self.0.reserved()).collect();
        self.0.send(&ids.iter().map(|id| format!("delete {id}\r\n")).collect::<String>());
        for _ in &ids {
            self.0.answer("DELETED");
        }
        ids.len()
    }
}

/// One connection.
struct Link(BufReader<TcpStream>);

impl Link {
    fn open(address: SocketAddr) -> Self {
        Self(BufReader::new(connect(address)))
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).expect("beanstalkd reads");
    }

    /// Gives the rest of an answer that begins with this word.
    fn answer(&mut self, word: &str) -> String {
        let line = self.line();
        let rest = line.strip_prefix(word);
        rest.unwrap_or_else(|| panic!("beanstalkd answered {line}, not {word}")).trim().to_owned()
    }

    /// The id of a job; `None`: there is none.
    fn reserved(&mut self) -> Option<String> {
        let line = self.line();
        let rest = line.strip_prefix("RESERVED ")?;
        let (id, length) = rest.trim_end().split_once(' ').expect("an id and a length");
        self.body(length.parse().expect("a length"));
        Some(id.to_owned())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("beanstalkd answers");
        line
    }

    fn body(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes).expect("the body");
        String::from_utf8(bytes).expect("UTF-8")
    }
}
