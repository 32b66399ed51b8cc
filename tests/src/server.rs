//! The real binary, started as a service manager would, and `muster gateway` before it; operators' clients, and users as an
//! ADMIN adds them.

use crate::{
    Address, Answer, Client, Database, Ended, Place, muster_command,
    process::{Process, muster_command_in, run},
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU8, Ordering},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerSetup {
    settings: Vec<(String, String)>,
    args: Vec<String>,
    /// Address to listen on.
    listen: String,
    has_fixed_port: bool,
    place: Option<Place>,
}

/// A server on a directory of its own; ended with the value.
#[derive(Debug)]
pub struct Server {
    pub(crate) process: Process,
    directory: TempDir,
    setup: ServerSetup,
    address: Address,
}

/// One operation of a server's description.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method, in capitals.
    pub method: String,
    /// The path, with its variables in braces.
    pub path: String,
    /// Its description.
    pub operation: Value,
}

impl Route {
    /// Method and path.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Its address, about something that does not exist.
    #[must_use]
    pub fn of_nobody(&self) -> String {
        let path = self.path.replace("{kind}", "run").replace("{name}", "nobody");
        path.replace("{id}", "nobody").replace("{path}", "videos/nobody")
    }

    /// Says that it takes a body.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.operation.get("requestBody").is_some()
    }
}

impl ServerSetup {
    /// With settings, such as `("MUSTER_NODES__LEASE_S", "0.5")`, at any free port.
    #[must_use]
    pub fn new(settings: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings = settings.iter().map(owned).collect();
        let listen = "127.0.0.1:0".to_owned();
        Self { settings, args: Vec::new(), listen, has_fixed_port: false, place: None }
    }

    /// With more words on its command line.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// Found at the same address again after a restart.
    ///
    /// The loopback address is its own, so that nobody takes the port while it is away.
    #[must_use]
    pub fn fixed_port(mut self) -> Self {
        let [.., high, low] = std::process::id().to_be_bytes();
        let number = FIXED.fetch_add(1, Ordering::Relaxed);
        assert!(number < 0xff, "more servers with a fixed port than addresses");
        self.listen = format!("127.{}.{low}.{number}:0", high | 1);
        self.has_fixed_port = true;
        self
    }

    /// In a place of a network, where nobody else takes its port.
    #[must_use]
    pub fn place(mut self, place: &Place) -> Self {
        self.listen = format!("{}:0", place.address());
        self.has_fixed_port = true;
        self.place = Some(place.clone());
        self
    }

    /// Starts it, and waits until it says that it listens.
    #[must_use]
    pub fn start(mut self) -> Server {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("server.log");
        let mut process = Process::start("the server", log, self.command(directory.path()));
        let address = process.wait_for_address(LISTENING, "");
        if self.has_fixed_port {
            self.listen = address.to_string();
        }
        Server { process, directory, setup: self, address: Address::new(address) }
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = muster_command_in(self.place.as_ref());
        command.args(["serve", "--listen", &self.listen, "--data"]).arg(directory.join("data"));
        command.args(&self.args).envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::piped());
        command
    }
}

impl Server {
    /// Starts one with the default settings.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Starts one with settings, such as `("MUSTER_NODES__LEASE_S", "0.5")`.
    #[must_use]
    pub fn with(settings: &[(&str, &str)]) -> Self {
        ServerSetup::new(settings).start()
    }

    /// Starts one with settings that is found at the same address again after a restart.
    #[must_use]
    pub fn with_fixed_port(settings: &[(&str, &str)]) -> Self {
        ServerSetup::new(settings).fixed_port().start()
    }

    /// Starts it anew on the same directory, at another port unless that is fixed.
    pub fn restart(&mut self) {
        self.process.start_again(self.setup.command(self.directory.path()));
        let at = self.process.wait_for_address(LISTENING, "");
        self.address.set(at);
    }

    /// Ends it as no process can prevent, and starts it anew.
    pub fn kill9_and_restart(&mut self) {
        self.kill9();
        self.restart();
    }

    /// Starts it anew and ends it again so much later, ready or not.
    pub fn restart_cut_short(&mut self, after: Duration) {
        self.process.start_again(self.setup.command(self.directory.path()));
        thread::sleep(after);
        self.kill9();
    }

    /// Changes a setting from the next start on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.setup.settings.retain(|(known, _)| known != name);
        self.setup.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Address that it listens on.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The data directory.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A caller without a token.
    #[must_use]
    pub fn anonymous(&self) -> Client {
        Client::new(self.address.clone(), None)
    }

    /// A caller with every operator right.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.anonymous().with_token(&self.admin_token())
    }

    /// A caller with the secret that nodes share.
    #[must_use]
    pub fn node(&self) -> Client {
        self.anonymous().with_token(&self.node_secret())
    }

    /// The operators' token.
    #[must_use]
    pub fn admin_token(&self) -> String {
        self.secret("MUSTER_ADMIN_TOKEN", "admin-token")
    }

    /// The nodes' secret.
    #[must_use]
    pub fn node_secret(&self) -> String {
        self.secret("NODE_AGENT_SHARED_SECRET", "node-secret")
    }

    /// The secret with which simulation workers enrol.
    #[must_use]
    pub fn enrol_secret(&self) -> String {
        self.secret("MUSTER_ENROL_SECRET", "enrol-secret")
    }

    /// A client command of an administrator of this server, such as `run list`.
    #[must_use]
    pub fn client_command(&self, args: &[&str]) -> Command {
        let mut command = muster_command();
        command.args(args).env("MUSTER_SERVER", self.anonymous().url());
        command.env("MUSTER_TOKEN", self.admin_token()).env("HOME", self.data());
        command
    }

    /// Runs a client command of an administrator to its end.
    pub fn muster(&self, args: &[&str]) -> Ended {
        run(&mut self.client_command(args))
    }

    /// Secret from the settings, else the one that the server generated.
    fn secret(&self, variable: &str, file: &str) -> String {
        let given = self.setup.settings.iter().find(|(name, _)| name == variable);
        let made = || std::fs::read_to_string(self.data().join(file)).unwrap();
        given.map_or_else(made, |(_, value)| value.clone())
    }

    /// One session as operators see it.
    #[must_use]
    pub fn session(&self, id: &str) -> Value {
        self.admin().get(&format!("/api/v1/sessions/{id}")).expect(200)
    }

    /// The tables, open for reading while it runs.
    #[must_use]
    pub fn database(&self) -> Database {
        Database::sqlite(&self.data().join("muster.db"))
    }

    /// Submits a run and says its id.
    #[must_use]
    pub fn submit(&self, run: &Value) -> String {
        let answer = self.admin().post("/api/runs", run).expect(201);
        answer["run_id"].as_str().unwrap().to_owned()
    }

    /// Cancels a run.
    pub fn cancel(&self, run: &str) {
        let _ = self.admin().post(&format!("/api/runs/{run}/cancel"), &json!({})).expect(200);
    }

    /// One run as operators see it.
    #[must_use]
    pub fn run(&self, id: &str) -> Value {
        self.admin().get(&format!("/api/runs/{id}")).expect(200)
    }

    /// The rows of a run as operators see them.
    #[must_use]
    pub fn rows(&self, run: &str) -> Vec<Value> {
        let answer = self.admin().get(&format!("/api/runs/{run}/task_devices?limit=1000")).expect(200);
        answer["task_devices"].as_array().unwrap().clone()
    }

    /// One PC as operators see it.
    #[must_use]
    pub fn pc(&self, id: &str) -> Value {
        self.admin().get(&format!("/api/pcs/{id}")).expect(200)
    }

    /// One device as operators see it.
    #[must_use]
    pub fn device(&self, id: &str) -> Value {
        self.admin().get(&format!("/api/devices/{id}")).expect(200)
    }

    /// History of a row, as (attempt, type).
    #[must_use]
    pub fn history(&self, row: &str) -> Vec<(u64, String)> {
        let answer = self.admin().get(&format!("/api/task_devices/{row}/history")).expect(200);
        let station = |station: &Value| {
            (station["attempt_no"].as_u64().unwrap(), station["event_type"].as_str().unwrap().to_owned())
        };
        answer["history"].as_array().unwrap().iter().map(station).collect()
    }

    /// Code of the reason that something is not running.
    #[must_use]
    pub fn why(&self, kind: &str, id: &str) -> String {
        let answer = self.admin().get(&format!("/api/explain/{kind}/{id}")).expect(200);
        answer["code"].as_str().unwrap().to_owned()
    }

    /// Every operation that it describes in `/openapi.json`.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        let document = self.anonymous().get("/openapi.json").expect(200);
        let mut routes = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let (method, path, operation) = (method.to_uppercase(), path.clone(), operation.clone());
                routes.push(Route { method, path, operation });
            }
        }
        assert!(routes.len() > 30, "only {} routes", routes.len());
        routes
    }

    /// The alerts, newest first.
    #[must_use]
    pub fn alerts(&self) -> Vec<Value> {
        self.admin().get("/api/alerts").expect(200)["alerts"].as_array().unwrap().clone()
    }
}

/// Text before the address in the line that a server prints once it listens.
const LISTENING: &str = "listening on http://";

/// Loopback addresses that were given to servers with a fixed port.
static FIXED: AtomicU8 = AtomicU8::new(1);

impl Server {
    /// Adds a user with these roles and logs them in.
    #[must_use]
    pub fn user(&self, name: &str, roles: &[&str]) -> Client {
        self.add_user(name, roles);
        self.login(name)
    }

    /// Adds a user with these roles.
    pub fn add_user(&self, name: &str, roles: &[&str]) {
        let body = json!({"username": name, "password": password_of(name), "roles": roles});
        let _ = self.admin().post("/users", &body).expect(201);
    }

    /// Logs a user in.
    #[must_use]
    pub fn login(&self, name: &str) -> Client {
        let answer = self.try_login(name, &password_of(name)).expect(200);
        self.anonymous().with_token(answer["access_token"].as_str().unwrap())
    }

    /// Tries to log in.
    #[must_use]
    pub fn try_login(&self, name: &str, password: &str) -> Answer {
        self.anonymous().post("/auth/login", &json!({"username": name, "password": password}))
    }
}

/// The password of a user of these tests: found at once wherever it should not be.
#[must_use]
pub fn password_of(name: &str) -> String {
    format!("the-password-of-{name}")
}

/// A gateway; ended with the value.
#[derive(Debug)]
pub struct Gateway {
    pub(crate) process: Process,
    address: Address,
    _directory: TempDir,
}

impl Gateway {
    /// Starts one before a server, with more words on its command line.
    #[must_use]
    pub fn before(server: &Server, args: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = muster_command();
        command.args(["gateway", "--coordinator", &server.anonymous().url(), "--listen", "127.0.0.1:0"]);
        command.args(args).stdout(Stdio::piped());
        let mut process = Process::start("the gateway", directory.path().join("gateway.log"), command);
        let address = Address::new(process.wait_for_address("listening on http://", ""));
        Self { process, address, _directory: directory }
    }

    /// A caller without a token.
    #[must_use]
    pub fn anonymous(&self) -> Client {
        Client::new(self.address.clone(), None)
    }

    /// Address that it listens on.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address.clone()
    }
}
