//! A server, a client with jobs, and workers that are processes.

use muster_tests::{Client, Server, muster_command, password_of};
use serde_json::{Value, json};
use std::{
    fs::OpenOptions,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
};
use tempfile::TempDir;

/// A server, and a directory that programs of workers write into.
pub(crate) struct Pool {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) directory: TempDir,
}

impl Pool {
    /// Starts a server with an owner of workers and a client.
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        let server = Server::with_fixed_port(settings);
        server.add_user("olga", &["WORKER_OWNER"]);
        let client = server.user("carl", &["CLIENT"]);
        Self { server, client, directory: tempfile::tempdir().unwrap() }
    }

    /// A job with a number, and its id.
    pub(crate) fn submit(&self, payload: &Value) -> u64 {
        let job = json!({"payload": payload, "priority": 5});
        self.client.post("/jobs", &job).expect(201)["id"].as_u64().unwrap()
    }

    pub(crate) fn job(&self, id: u64) -> Value {
        self.client.get(&format!("/jobs/{id}")).expect(200)
    }

    /// Ends the server as no process can prevent, and starts it anew.
    pub(crate) fn kill_server(&mut self) {
        self.server.kill9();
        self.server.restart();
    }

    /// The owner's workers, as the server knows them.
    pub(crate) fn workers(&self) -> Vec<Value> {
        let answer = self.server.login("olga").get("/workers").expect(200);
        answer["workers"].as_array().unwrap().clone()
    }
}

/// A pool worker; ended with the value.
pub(crate) struct PoolWorker {
    child: Child,
    directory: PathBuf,
    name: String,
    server: String,
    args: Vec<String>,
}

impl PoolWorker {
    /// Starts one with more words on its command line.
    pub(crate) fn start(pool: &Pool, name: &str, args: &[&str]) -> Self {
        Self::start_at(&pool.server.anonymous().url(), pool, name, args)
    }

    /// The same, by way of something before the server.
    pub(crate) fn start_at(url: &str, pool: &Pool, name: &str, args: &[&str]) -> Self {
        let directory = pool.directory.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let child = spawn(&directory, (name, url), &args);
        Self { child, directory, name: name.to_owned(), server: url.to_owned(), args }
    }

    /// Ends it as no process can prevent, and starts it anew under the same name.
    pub(crate) fn kill9_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.directory, (&self.name, &self.server), &self.args);
    }

    /// Starts it anew with other words, once it has ended.
    pub(crate) fn restart_with(&mut self, args: &[&str]) {
        assert!(self.child.try_wait().unwrap().is_some(), "it still runs");
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        self.child = spawn(&self.directory, (&self.name, &self.server), &args);
    }

    /// Asks it to end and waits until it has.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.wait()
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.directory.join("key")
    }

    /// What was set aside.
    pub(crate) fn aside(&self) -> Value {
        let mut command = muster_command();
        command.args(["pool-worker", "aside", "--json", "--spool"]).arg(self.directory.join("spool"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["aside"].clone()
    }

    /// Everything it logged, over all its starts.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.directory.join("log")).unwrap()).into_owned()
    }
}

impl Drop for PoolWorker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if thread::panicking() {
            let from = log.char_indices().rev().nth(3000).map_or(0, |(at, _)| at);
            eprintln!("the end of the log of {}:\n{}", self.name, &log[from..]);
        } else {
            assert!(!log.contains("panicked at") && !log.contains(&password_of("olga")), "{log}");
        }
    }
}

fn spawn(directory: &Path, (name, server): (&str, &str), args: &[String]) -> Child {
    let log = OpenOptions::new().create(true).append(true).open(directory.join("log")).unwrap();
    let mut command = muster_command();
    command.args(["pool-worker", "--server", server, "--user", "olga", "--name", name]);
    command.arg("--key").arg(directory.join("key")).arg("--spool").arg(directory.join("spool"));
    command.args(args).env("MUSTER_PASSWORD", password_of("olga"));
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}
