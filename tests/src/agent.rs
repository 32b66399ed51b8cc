//! `muster agent` as a PC runs it, kill -9 included.

use crate::{Address, Answer, Client, Place, Server, muster_command, server::muster_command_in};
use serde_json::Value;
use std::{
    fs::OpenOptions,
    io::{BufRead, BufReader},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
};
use tempfile::TempDir;

/// What an agent is started with.
#[derive(Clone, Debug)]
pub struct AgentSetup {
    server: String,
    node: String,
    devices: String,
    spool: Option<PathBuf>,
    args: Vec<String>,
    env: Vec<(String, String)>,
    place: Option<Place>,
}

/// An agent with a spool of its own; ended with the value.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    directory: TempDir,
    setup: AgentSetup,
    status: Address,
}

impl AgentSetup {
    /// For any backend at a URL, with simulated devices and the secret of tests.
    #[must_use]
    pub fn new(url: &str, node: &str) -> Self {
        let (server, node, devices) = (url.to_owned(), node.to_owned(), "simulated:1".to_owned());
        let env = vec![(SECRET.to_owned(), "a-secret-of-tests".to_owned())];
        Self { server, node, devices, spool: None, args: Vec::new(), env, place: None }
    }

    /// For a server that runs, with its secret.
    #[must_use]
    pub fn of(server: &Server, node: &str) -> Self {
        Self::new(&server.anonymous().url(), node).env(SECRET, &server.node_secret())
    }

    /// With these devices, such as `simulated:3` or `adb`.
    #[must_use]
    pub fn devices(mut self, kind: &str) -> Self {
        kind.clone_into(&mut self.devices);
        self
    }

    /// With its spool somewhere else than in a directory of its own.
    #[must_use]
    pub fn spool(mut self, path: &Path) -> Self {
        self.spool = Some(path.to_owned());
        self
    }

    /// In a place of a network.
    #[must_use]
    pub fn place(mut self, place: &Place) -> Self {
        self.place = Some(place.clone());
        self
    }

    /// With more words on its command line.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// With a variable of its environment set.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self = self.env_remove(name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without a variable that was set before.
    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    /// Starts it, and waits until it says where its status is.
    #[must_use]
    pub fn start(self) -> Agent {
        let directory = tempfile::tempdir().unwrap();
        let mut child = self.spawn(directory.path());
        let status = Address::new(wait_for_line(&mut child, directory.path()));
        Agent { child, directory, setup: self, status }
    }

    /// Runs it to an end that is its own; for agents that must not start.
    #[must_use]
    pub fn output(&self) -> Output {
        let directory = tempfile::tempdir().unwrap();
        self.command(directory.path()).output().unwrap()
    }

    fn spawn(&self, directory: &Path) -> Child {
        let log = OpenOptions::new().create(true).append(true).open(log_path(directory)).unwrap();
        let mut command = self.command(directory);
        let address = self.place.as_ref().map_or(Ipv4Addr::LOCALHOST, Place::address);
        command.args(["--status", &format!("{address}:0")]);
        command.stdout(Stdio::piped()).stderr(log).spawn().unwrap()
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = muster_command_in(self.place.as_ref());
        command.args(["agent", "--server", &self.server, "--node", &self.node, "--devices", &self.devices]);
        command.arg("--spool").arg(self.spool_in(directory)).args(&self.args);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn spool_in(&self, directory: &Path) -> PathBuf {
        self.spool.clone().unwrap_or_else(|| directory.join("spool"))
    }
}

impl Agent {
    /// Starts one for a server that runs, with these devices.
    #[must_use]
    pub fn start(server: &Server, node: &str, devices: &str) -> Self {
        AgentSetup::of(server, node).devices(devices).start()
    }

    /// Ends it as no process can prevent.
    pub fn kill9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it anew on the same spool.
    pub fn restart(&mut self) {
        assert!(self.child.try_wait().unwrap().is_some(), "it still runs");
        self.child = self.setup.spawn(self.directory.path());
        let at = wait_for_line(&mut self.child, self.directory.path());
        self.status.set(at);
    }

    /// Changes what it is started with from the next start on.
    pub fn change(&mut self, change: impl FnOnce(AgentSetup) -> AgentSetup) {
        self.setup = change(self.setup.clone());
    }

    /// Asks it to end and waits until it has.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Whether it has ended, and how.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The spool's directory.
    #[must_use]
    pub fn spool(&self) -> PathBuf {
        self.setup.spool_in(self.directory.path())
    }

    /// How it says it is.
    #[must_use]
    pub fn status(&self) -> Value {
        self.get("/status").expect(200)
    }

    /// Asks its status page for something.
    #[must_use]
    pub fn get(&self, target: &str) -> Answer {
        Client::new(self.status.clone(), None).get(target)
    }

    /// Everything it logged, over all its starts.
    #[must_use]
    pub fn log(&self) -> String {
        read_log(self.directory.path())
    }

    /// What `muster agent aside` shows of its spool.
    #[must_use]
    pub fn aside(&self) -> Vec<Value> {
        let shown = muster_command().args(["agent", "aside", "--json", "--spool"]).arg(self.spool()).output();
        let shown = shown.unwrap();
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        shown["aside"].as_array().unwrap().clone()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if thread::panicking() {
            let from = log.char_indices().rev().nth(4000).map_or(0, |(at, _)| at);
            eprintln!("the end of the log of {}:\n{}", self.setup.node, &log[from..]);
        } else {
            assert!(!log.contains("panicked at"), "{log}");
        }
    }
}

fn wait_for_line(child: &mut Child, directory: &Path) -> SocketAddr {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("status on http://");
    let address = address.and_then(|rest| rest.strip_suffix("/status")?.parse().ok());
    address.unwrap_or_else(|| {
        panic!("the agent said {line:?} instead of where its status is:\n{}", read_log(directory))
    })
}

fn read_log(directory: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(log_path(directory)).unwrap()).into_owned()
}

fn log_path(directory: &Path) -> PathBuf {
    directory.join("agent.log")
}

const SECRET: &str = "NODE_AGENT_SHARED_SECRET";
