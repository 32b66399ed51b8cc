//! `muster agent` as a PC runs it, kill -9 included.

use crate::{
    Address, Answer, Client, Ended, Place, Server, muster_command,
    process::{Process, muster_command_in, run},
    wait_until,
};
use serde_json::Value;
use std::{
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Options of an agent.
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
    pub(crate) process: Process,
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
        let command = self.command_with_status(directory.path());
        let mut process = Process::start(&self.node, directory.path().join("agent.log"), command);
        let status = Address::new(process.wait_for_address(STATUS_BEFORE, STATUS_AFTER));
        Agent { process, directory, setup: self, status }
    }

    /// Runs it to an end that is its own; for agents that must not start.
    pub fn output(&self) -> Ended {
        let directory = tempfile::tempdir().unwrap();
        run(&mut self.command(directory.path()))
    }

    fn command_with_status(&self, directory: &Path) -> Command {
        let mut command = self.command(directory);
        let address = self.place.as_ref().map_or(Ipv4Addr::LOCALHOST, Place::address);
        command.args(["--status", &format!("{address}:0")]).stdout(Stdio::piped());
        command
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

    /// Starts it anew on the same spool.
    pub fn restart(&mut self) {
        let command = self.setup.command_with_status(self.directory.path());
        self.process.start_again(command);
        let at = self.process.wait_for_address(STATUS_BEFORE, STATUS_AFTER);
        self.status.set(at);
    }

    /// Ends it as no process can prevent, and starts it anew.
    pub fn kill9_and_restart(&mut self) {
        self.kill9();
        self.restart();
    }

    /// Says that it has nothing to do and nothing to tell.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let status = self.status();
        [&status["spooled"], &status["running"], &status["queued"]].iter().all(|count| **count == 0)
    }

    /// Waits until all it had to tell was taken.
    pub fn wait_for_empty_spool(&self) {
        wait_until("an empty spool", || self.status()["spooled"] == 0);
    }

    /// Changes what it is started with from the next start on.
    pub fn change(&mut self, change: impl FnOnce(AgentSetup) -> AgentSetup) {
        self.setup = change(self.setup.clone());
    }

    /// The spool's directory.
    #[must_use]
    pub fn spool(&self) -> PathBuf {
        self.setup.spool_in(self.directory.path())
    }

    /// Its status, as it reports it.
    #[must_use]
    pub fn status(&self) -> Value {
        self.get("/status").expect(200)
    }

    /// Asks its status page for something.
    #[must_use]
    pub fn get(&self, target: &str) -> Answer {
        Client::new(self.status.clone(), None).get(target)
    }

    /// Entries of its spool that `muster agent aside` shows.
    #[must_use]
    pub fn aside(&self) -> Vec<Value> {
        let mut command = muster_command();
        let shown = run(command.args(["agent", "aside", "--json", "--spool"]).arg(self.spool())).json();
        shown["aside"].as_array().unwrap().clone()
    }
}

const SECRET: &str = "NODE_AGENT_SHARED_SECRET";

/// Text before the status address in the first line of an agent.
const STATUS_BEFORE: &str = "status on http://";
const STATUS_AFTER: &str = "/status";
