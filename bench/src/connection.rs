//! One keep-alive connection that sends prepared requests: the load must cost less than what it loads.

use crate::server::{ADMIN_TOKEN, NODE_SECRET};
use serde_json::Value;
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket option");
        stream.set_read_timeout(Some(SILENCE)).expect("a socket option");
        Self { stream: BufReader::new(stream), address }
    }

    /// Posts a body as a node.
    pub(crate) fn post(&mut self, path: &str, body: &str) -> String {
        self.send(path, NODE_SECRET, body)
    }

    /// Posts a body as an operator.
    pub(crate) fn post_as_operator(&mut self, path: &str, body: &str) -> String {
        self.send(path, ADMIN_TOKEN, body)
    }

    /// Posts a body with any token.
    pub(crate) fn post_with(&mut self, path: &str, token: &str, body: &str) -> Value {
        serde_json::from_str(&self.send(path, token, body)).expect("an answer is JSON")
    }

    /// Posts a body with any token; the answer is not looked at.
    pub(crate) fn post_text(&mut self, path: &str, token: &str, body: &str) -> String {
        self.send(path, token, body)
    }

    /// Pulls jobs for a node.
    pub(crate) fn pull(&mut self, body: &str) -> Value {
        serde_json::from_str(&self.post("/api/nodes/pull", body)).expect("a pull is answered with JSON")
    }

    /// Asks for something as an operator.
    pub(crate) fn get_as_operator(&mut self, path: &str) -> Value {
        self.get_with(path, ADMIN_TOKEN)
    }

    /// Asks for something with any token.
    pub(crate) fn get_with(&mut self, path: &str, token: &str) -> Value {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n", self.address);
        self.stream.get_mut().write_all(request.as_bytes()).expect("the server reads");
        serde_json::from_str(&self.answer(path)).expect("an answer is JSON")
    }

    fn send(&mut self, path: &str, token: &str, body: &str) -> String {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("the server reads");
        self.answer(path)
    }

    fn answer(&mut self, path: &str) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        assert!(line.contains(" 200 ") || line.contains(" 201 "), "{path}: {line}");
        let (mut length, mut in_chunks) = (0, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("headers");
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            in_chunks |= header == "transfer-encoding: chunked";
        }
        let mut body = Vec::new();
        self.read(&mut body, length);
        while in_chunks {
            line.clear();
            self.stream.read_line(&mut line).expect("the length of a chunk");
            let length = usize::from_str_radix(line.trim(), 16).expect("a length");
            self.read(&mut body, length);
            self.stream.read_line(&mut line).expect("the end of a chunk");
            in_chunks = length > 0;
        }
        String::from_utf8(body).expect("UTF-8")
    }

    fn read(&mut self, body: &mut Vec<u8>, length: usize) {
        let before = body.len();
        body.resize(before + length, 0);
        self.stream.read_exact(&mut body[before..]).expect("the body");
    }
}

/// A pull with the report of so many devices.
pub(crate) fn report(node: &str, devices: usize, max_jobs: u32) -> String {
    let device = |n: usize| format!(r#"{{"device_id":"{node}-d{n:03}","status":"online"}}"#);
    let devices: Vec<String> = (0..devices).map(device).collect();
    format!(r#"{{"node_id":"{node}","max_jobs":{max_jobs},"devices":[{}]}}"#, devices.join(","))
}

/// The callbacks of one job: begun, one step, ended.
pub(crate) fn callbacks(node: &str, job: &Value, now: &Value) -> [String; 3] {
    let callbacks = callbacks_with_steps(node, job, now, &["LOGIN_FLOW"]);
    callbacks.try_into().expect("a step between begin and end")
}

/// The callbacks of one job: begun, each of these steps, ended.
pub(crate) fn callbacks_with_steps(node: &str, job: &Value, now: &Value, steps: &[&str]) -> Vec<String> {
    let text = |key: &str| job[key].as_str().unwrap_or_default().to_owned();
    let (task, run, device) = (text("task_id"), text("run_id"), text("device_id"));
    let (attempt, token) = (&job["attempt"], job["lease"]["token"].as_str().unwrap_or_default());
    let event = |kind: &str, number: usize, rest: &str| {
        format!(
            r#"{{"event_id":"{task}-{attempt}-{kind}{number}","type":"{kind}","payload":{{"node_id":"{node}","run_id":"{run}","task_id":"{task}","device_id":"{device}","timestamp":{now},"attempt":{attempt},"lease_token":"{token}",{rest}}}}}"#
        )
    };
    let begun = format!(r#""runtime_handle":"{device}","workflow_id":"w","timeoutMs":180000"#);
    let ended = format!(
        r#""runtime_handle":"{device}","status":"succeeded","timings":{{"startedAt":{now},"endedAt":{now}}}"#
    );
    let step = |(number, step): (usize, &&str)| {
        let status = if number % 2 == 0 { "running" } else { "done" };
        event("task_progress", number, &format!(r#""step":"{step}","status":"{status}""#))
    };
    let begun = [event("task_started", 0, &begun)].into_iter();
    begun.chain(steps.iter().enumerate().map(step)).chain([event("task_finished", 0, &ended)]).collect()
}

/// A response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The leader's term, as the answer tells it.
    pub(crate) epoch: u64,
    pub(crate) text: String,
}

/// Sends a request, `GET /path`, on a connection of its own: none is left over from a server that is gone.
pub(crate) fn call(address: SocketAddr, request: &str, body: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!(
        "{request} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {ADMIN_TOKEN}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    parse(text).ok_or_else(|| io::Error::other("no HTTP"))
}

fn parse(text: String) -> Option<Answer> {
    let status = text.split(' ').nth(1)?.parse().ok()?;
    let epoch = text
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("muster-epoch:")?.trim().parse().ok());
    Some(Answer { status, epoch: epoch.unwrap_or(0), text })
}

/// Longest wait for a response: a server that has stalled fails the measurement.
const SILENCE: Duration = Duration::from_secs(120);
/// Timeout of a response; a caller of a server that has stalled then sends its request again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
