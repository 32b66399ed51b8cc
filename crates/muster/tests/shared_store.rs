//! A server on a database, as whoever starts it sees it, through the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use muster_pg_harness::Cluster;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// S18, I6: what servers make up for themselves is one and the same for all, in the database and in no file.
#[test]
fn secrets_live_in_the_store() {
    let url = Cluster::shared().fresh_database();
    let (first, second) = (Server::start(&url), Server::start(&url));
    let token = shown(&url, "admin");
    assert_eq!(token.len(), 43);
    for server in [&first, &second] {
        assert_eq!(server.get("/api/runs", &token), "200");
        assert_eq!(server.get("/api/runs", &shown(&url, "node")), "403", "a node's, and not a stranger's");
        assert_eq!(server.get("/api/runs", "a-stranger-s-token-of-43-characters-or-less"), "401");
        let left: Vec<String> = names(server.data.path());
        assert!(left.iter().all(|name| !name.contains("secret") && !name.contains("token")), "{left:?}");
        assert!(left.iter().all(|name| !name.contains("key")), "{left:?}");
    }
    let kept = Cluster::shared().sql(&url, "SELECT count(*) FROM muster.server_secrets");
    assert_eq!(kept.trim(), "6");
}

/// S18, I1, I8: a database that is away is waited for, and whoever asks is told; the server needs no second start.
#[test]
fn a_database_that_is_away_is_waited_for() {
    let database = Cluster::start();
    let url = database.fresh_database();
    database.stop_immediately();
    let data = tempfile::tempdir().unwrap();
    let started = serve(&url, data.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = Ended(started.unwrap());
    let mut log = BufReader::new(child.0.stderr.take().unwrap());
    let opening = until(&mut log, "opens the database");
    let address = opening.split("address=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let said = until(&mut log, "the store cannot be opened yet");
    assert_eq!(get(&address, "/healthz").0, 200);
    for path in ["/readyz", "/api/runs"] {
        let (status, answer) = get(&address, path);
        assert_eq!(status, 503, "{path}");
        assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
        assert!(
            answer.contains("the database does not answer") && !answer.contains(password(&url)),
            "{answer}"
        );
    }
    assert!(!said.contains(password(&url)), "{said}");
    database.start_again();
    let mut out = BufReader::new(child.0.stdout.take().unwrap());
    assert_eq!(until(&mut out, "listening on").trim_end(), format!("listening on http://{address}"));
    assert_eq!(get(&address, "/readyz").0, 200);
}

/// S18, I6: what waiting does not mend ends the start with a reason, and no word of a password.
#[test]
fn what_waiting_does_not_mend_ends_the_start() {
    let url = Cluster::shared().fresh_database();
    let wrong = url.replace(password(&url), "hunter2");
    let nowhere = format!("{url}_nowhere");
    for (url, code, reason) in [
        (wrong.as_str(), 1, "check the user and the password"),
        (nowhere.as_str(), 1, "create the database first"),
        ("postgres://u:hunter2@h/db?sslmode=odd", 2, "sslmode"),
        ("postgress://u:hunter2@h/db", 2, "must be sqlite, memory or postgres://"),
    ] {
        let data = tempfile::tempdir().unwrap();
        let ended = serve(url, data.path()).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{said}");
        assert!(said.contains(reason), "{said}");
        assert!(!said.contains("hunter2") && !said.contains(&format!(":{}@", password(url))), "{said}");
    }
}

/// S18: a server that listens everywhere must say where others find it.
#[test]
fn all_addresses_are_no_address() {
    let url = Cluster::shared().fresh_database();
    let data = tempfile::tempdir().unwrap();
    let ended = serve(&url, data.path()).args(["--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8(ended.stderr).unwrap().contains("--advertise"));
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server that answers.
struct Server {
    _child: Ended,
    url: String,
    data: TempDir,
}

impl Server {
    fn start(url: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let child = serve(url, data.path()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut child = Ended(child);
        let line = until(&mut BufReader::new(child.0.stdout.take().unwrap()), "listening on");
        let url = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
        Self { _child: child, url, data }
    }

    /// The status of an answer.
    fn get(&self, path: &str, token: &str) -> String {
        let client = muster_worker_kit::http::client_for("http:").no_proxy().build().unwrap();
        let answer = client.get(format!("{}{path}", self.url)).bearer_auth(token).send();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(answer).unwrap().status().as_str().to_owned()
    }
}

/// The status and the whole of an answer.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

fn serve(url: &str, data: &Path) -> Command {
    let mut command = muster();
    command.args(["serve", "--store", url, "--data"]).arg(data).env("MUSTER_SERVER__LISTEN", "127.0.0.1:0");
    command
}

/// The program, without what the environment of the test says.
fn muster() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    for name in
        ["NODE_AGENT_SHARED_SECRET", "MUSTER_ADMIN_TOKEN", "MUSTER_ENROL_SECRET", "MUSTER_TOKEN_SECRET"]
    {
        command.env_remove(name);
    }
    command.env_remove("PGPASSWORD");
    command
}

fn shown(url: &str, name: &str) -> String {
    let output = muster().args(["secret", "show", name, "--store", url]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The first line with these words.
fn until(lines: &mut impl BufRead, words: &str) -> String {
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended without a word about {words}");
    }
    line
}

fn password(url: &str) -> &str {
    url.split_once("://").unwrap().1.split_once('@').unwrap().0.split_once(':').unwrap().1
}

/// The names of all files below a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries
        .flat_map(|entry| {
            let below = if entry.path().is_dir() { names(&entry.path()) } else { Vec::new() };
            below.into_iter().chain([entry.file_name().into_string().unwrap()])
        })
        .collect()
}
