//! The load on NATS JetStream: publish, fetch, acknowledge with confirmation, each synced (`sync_interval: always`).

use super::{
    Shared,
    broker::Broker,
    process::{self, Process, connect},
};
use crate::pool::{PAYLOAD, Side};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::Command,
};

/// A running NATS server with one stream and one consumer.
pub(super) struct Nats {
    process: Process,
    address: SocketAddr,
}

impl Nats {
    pub(super) fn start(shared: &Shared) -> Result<Self, String> {
        let program = shared.python("nats-server")?;
        let (data, address) = (process::directory(), process::free_address());
        let file = data.path().join("nats.conf");
        let store = data.path().display();
        let settings =
            format!("listen: {address}\njetstream {{ store_dir: \"{store}\", sync_interval: always }}\n");
        fs::write(&file, settings).map_err(|error| error.to_string())?;
        let mut process = Process::start(Command::new(program).arg("-c").arg(file), data)?;
        process.wait_for(address)?;
        let mut link = Link::open(address, "first");
        link.ask(
            "$JS.API.STREAM.CREATE.JOBS",
            r#"{"name":"JOBS","subjects":["jobs"],"retention":"workqueue","storage":"file"}"#,
        );
        link.ask(
            "$JS.API.CONSUMER.DURABLE.CREATE.JOBS.workers",
            r#"{"stream_name":"JOBS","config":{"durable_name":"workers","ack_policy":"explicit","max_ack_pending":100000}}"#,
        );
        Ok(Self { process, address })
    }
}

impl Broker for Nats {
    fn version(&self) -> String {
        let info = Link::open(self.address, "version").info;
        info["version"].as_str().unwrap_or_default().to_owned()
    }

    fn server(&self) -> u32 {
        self.process.id()
    }

    fn producer(&self) -> Box<dyn Side> {
        Box::new(Producer(Link::open(self.address, "producer")))
    }

    fn worker(&self, number: usize) -> Box<dyn Side> {
        let link = Link::open(self.address, &format!("worker{number}"));
        Box::new(Worker { link, wanted: 0, jobs: Vec::new() })
    }
}

struct Producer(Link);

impl Side for Producer {
    fn step(&mut self, batch: usize) -> usize {
        let publish = self.0.request("jobs", PAYLOAD);
        self.0.send(&publish.repeat(batch));
        for _ in 0..batch {
            let message = self.0.message();
            assert!(message.text.contains("\"seq\""), "NATS refused: {}", message.text);
        }
        batch
    }
}

struct Worker {
    link: Link,
    /// Jobs that the fetch under way may still bring.
    wanted: usize,
    /// Addresses at which jobs are acknowledged.
    jobs: Vec<String>,
}

impl Side for Worker {
    /// Takes what is there, at least one job; what arrives while the acknowledgements are confirmed is for the next step.
    fn step(&mut self, batch: usize) -> usize {
        if self.jobs.is_empty() && self.wanted == 0 {
            let fetch = format!(r#"{{"batch":{batch},"expires":100000000}}"#);
            let fetch = self.link.request("$JS.API.CONSUMER.MSG.NEXT.JOBS.workers", &fetch);
            self.link.send(&fetch);
            self.wanted = batch;
        }
        while self.jobs.is_empty() && self.wanted > 0 || self.link.has_more() {
            self.receive();
        }
        let jobs = std::mem::take(&mut self.jobs);
        let acks: String = jobs.iter().map(|job| self.link.request(job, "+ACK")).collect();
        self.link.send(&acks);
        let mut confirmed = 0;
        while confirmed < jobs.len() {
            confirmed += self.receive();
        }
        jobs.len()
    }
}

impl Worker {
    /// Receives a job, the end of a fetch, or the confirmation of an acknowledgement; gives the number of the last.
    fn receive(&mut self) -> usize {
        let message = self.link.message();
        if message.is_status {
            self.wanted = 0;
        } else if let Some(reply) = message.reply {
            self.jobs.push(reply);
            self.wanted = self.wanted.saturating_sub(1);
        } else {
            return 1;
        }
        0
    }
}

/// One connection with an inbox of its own.
struct Link {
    stream: BufReader<TcpStream>,
    inbox: String,
    info: serde_json::Value,
}

/// A message that arrived.
struct Message {
    reply: Option<String>,
    /// It has headers: the server tells how a fetch ended.
    is_status: bool,
    text: String,
}

impl Link {
    fn open(address: SocketAddr, name: &str) -> Self {
        let stream = connect(address);
        let inbox = format!("inbox.{name}.{}", stream.local_addr().expect("its address").port());
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).expect("NATS speaks first");
        let info = serde_json::from_str(line.trim_start_matches("INFO ")).expect("JSON");
        let mut link = Self { stream, inbox, info };
        let subscribe = format!("SUB {} 1\r\n", link.inbox);
        link.send("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n");
        link.send(&subscribe);
        link
    }

    fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).expect("NATS reads");
    }

    /// A message whose answer comes to the inbox.
    fn request(&self, subject: &str, body: &str) -> String {
        format!("PUB {subject} {} {}\r\n{body}\r\n", self.inbox, body.len())
    }

    fn ask(&mut self, subject: &str, body: &str) {
        let request = self.request(subject, body);
        self.send(&request);
        let answer = self.message().text;
        assert!(!answer.contains("\"error\""), "NATS refused: {answer}");
    }

    /// A message arrived that was not looked at. A PING alone is none: to wait for what follows it could be for ever.
    fn has_more(&self) -> bool {
        let arrived = self.stream.buffer();
        arrived.starts_with(b"MSG ") || arrived.starts_with(b"HMSG ")
    }

    fn message(&mut self) -> Message {
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("NATS answers");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["PING"] => self.send("PONG\r\n"),
                ["PONG" | "+OK" | "INFO", ..] => {}
                ["MSG", _, _, reply, length] => return self.body(Some((*reply).to_owned()), false, length),
                ["MSG", _, _, length] => return self.body(None, false, length),
                ["HMSG", .., length] => return self.body(None, true, length),
                _ => panic!("NATS said {line}"),
            }
        }
    }

    fn body(&mut self, reply: Option<String>, is_status: bool, length: &str) -> Message {
        let mut bytes = vec![0; length.parse::<usize>().expect("a length") + 2];
        self.stream.read_exact(&mut bytes).expect("the body");
        Message { reply, is_status, text: String::from_utf8(bytes).expect("UTF-8") }
    }
}
