//! Workers: `muster sim-worker` and `muster pool-worker` as a render machine and an owner run them, kill -9 included, and a
//! workers that exist only here ([`FakeSimWorker`], [`FakePoolWorker`]): they ask for work and claim to execute it.

use crate::{
    Answer, Client, Server, muster_command, password_of,
    process::{Process, run},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A simulation worker; ended with the value.
#[derive(Debug)]
pub struct SimWorker {
    pub(crate) process: Process,
    setup: SimWorkerSetup,
    stopped: bool,
}

/// The command line of a simulation worker.
#[derive(Debug)]
struct SimWorkerSetup {
    directory: TempDir,
    id: String,
    server: String,
    secret: String,
    args: Vec<String>,
}

impl SimWorker {
    /// Starts one for a server that runs, with more words on its command line.
    #[must_use]
    pub fn start(server: &Server, id: &str, args: &[&str]) -> Self {
        Self::at(&server.anonymous().url(), &server.enrol_secret(), id, args)
    }

    /// Starts one for what is at a URL, which takes this secret.
    #[must_use]
    pub fn at(url: &str, secret: &str, id: &str, args: &[&str]) -> Self {
        let setup = SimWorkerSetup {
            directory: tempfile::tempdir().unwrap(),
            id: id.to_owned(),
            server: url.to_owned(),
            secret: secret.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
        };
        let process = Process::start(id, setup.directory.path().join("worker.log"), setup.command());
        Self { process, setup, stopped: false }
    }

    /// Ends it as no process can prevent, and starts it anew under the same name.
    pub fn kill9_and_restart(&mut self) {
        self.kill9();
        self.stopped = false;
        self.process.start_again(self.setup.command());
    }

    /// Has it stand still (`STOP`), or go on as if nothing had been (`CONT`).
    pub fn signal(&mut self, name: &str) {
        self.process.signal(name);
        self.stopped = name == "STOP" || (self.stopped && name != "CONT");
    }

    /// Says that it stands still.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }
}

impl SimWorkerSetup {
    fn command(&self) -> Command {
        let mut command = muster_command();
        command.args(["sim-worker", "--server", &self.server, "--id", &self.id, "--state"]);
        command.arg(self.directory.path().join("state")).args(&self.args);
        command.env("MUSTER_ENROL_SECRET", &self.secret).stdout(Stdio::null());
        command
    }
}

/// A process of `muster pool-worker`; ended with the value.
#[derive(Debug)]
pub struct PoolWorker {
    pub(crate) process: Process,
    setup: PoolWorkerSetup,
    args: Vec<String>,
}

/// Options that stay the same over all starts of a pool worker.
#[derive(Debug)]
struct PoolWorkerSetup {
    directory: PathBuf,
    name: String,
    server: String,
}

/// A registered worker and its key.
#[derive(Clone, Debug)]
pub struct FakePoolWorker {
    /// Its id.
    pub id: u64,
    owner: Client,
    key: SigningKey,
}

impl PoolWorker {
    /// Starts one of the owner `olga` at a server, in a directory of its own below this one, with more words on its
    /// command line.
    #[must_use]
    pub fn start(url: &str, below: &Path, name: &str, args: &[&str]) -> Self {
        let setup =
            PoolWorkerSetup { directory: below.join(name), name: name.to_owned(), server: url.to_owned() };
        std::fs::create_dir(&setup.directory).unwrap();
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let mut process = Process::start(name, setup.directory.join("log"), setup.command(&args));
        process.unlogged = Some(password_of(OWNER));
        Self { process, setup, args }
    }

    /// Ends it as no process can prevent, and starts it anew under the same name.
    pub fn kill9_and_restart(&mut self) {
        self.kill9();
        self.process.start_again(self.setup.command(&self.args));
    }

    /// Starts it anew with other words, once it has ended.
    pub fn restart_with(&mut self, args: &[&str]) {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        self.process.start_again(self.setup.command(&args));
    }

    /// The file of its key.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.setup.directory.join("key")
    }

    /// Entries that were set aside.
    #[must_use]
    pub fn aside(&self) -> Value {
        let mut command = muster_command();
        command.args(["pool-worker", "aside", "--json", "--spool"]).arg(self.setup.directory.join("spool"));
        run(&mut command).json()["aside"].clone()
    }
}

impl PoolWorkerSetup {
    fn command(&self, args: &[String]) -> Command {
        let mut command = muster_command();
        command.args(["pool-worker", "--server", &self.server, "--user", OWNER, "--name", &self.name]);
        command.arg("--key").arg(self.directory.join("key")).arg("--spool").arg(self.directory.join("spool"));
        command.args(args).env("MUSTER_PASSWORD", password_of(OWNER)).stdout(Stdio::null());
        command
    }
}

impl FakePoolWorker {
    /// Registers one.
    #[must_use]
    pub fn registered(owner: &Client, name: &str) -> Self {
        Self::with(owner, name, &json!({}))
    }

    /// Registers one with more to say about it, such as `{"region": "eu", "specs_json": {"slots": 4}}`.
    #[must_use]
    pub fn with(owner: &Client, name: &str, more: &Value) -> Self {
        let key = SigningKey::from_bytes(&Sha256::digest(name).into());
        let mut body = more.clone();
        body["name"] = json!(name);
        body["public_key"] = json!(encode(&key));
        let answer = owner.post("/workers/register", &body).expect(201);
        Self { id: answer["id"].as_u64().unwrap(), owner: owner.clone(), key }
    }

    /// The same worker by another token of its owner's.
    #[must_use]
    pub fn by(&self, owner: &Client) -> Self {
        Self { owner: owner.clone(), ..self.clone() }
    }

    /// Its public key, as it was registered.
    #[must_use]
    pub fn public_key(&self) -> String {
        encode(&self.key)
    }

    /// Client of its owner.
    #[must_use]
    pub fn owner(&self) -> &Client {
        &self.owner
    }

    /// Says that it lives.
    pub fn beat(&self) {
        let _ = self.owner.post("/workers/heartbeat", &json!({"worker_id": self.id})).expect(200);
    }

    /// Asks for work, however that is answered.
    #[must_use]
    pub fn try_poll(&self) -> Answer {
        self.owner.post("/jobs/poll", &json!({"worker_id": self.id}))
    }

    /// Asks for work that must be there.
    #[must_use]
    pub fn poll(&self) -> Value {
        self.try_poll().expect(200)
    }

    /// A result of an assignment, signed, with the hash of its output as the source document recommends.
    #[must_use]
    pub fn result(&self, assignment: &Value, output: &Value) -> Value {
        // Keys stand in order in `serde_json`, so that plain ASCII is canonical as it is written.
        let hash = sha256_hex(output.to_string().as_bytes());
        let mut body = self.signed(assignment, Some(&hash));
        body["output"] = output.clone();
        body
    }

    /// A result with any hash, or none, and no output.
    #[must_use]
    pub fn signed(&self, assignment: &Value, hash: Option<&str>) -> Value {
        let (id, nonce) = (&assignment["assignment_id"], &assignment["nonce"]);
        let text = json!({"assignment_id": id, "nonce": nonce, "output_hash": hash}).to_string();
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(text.as_bytes()).to_bytes());
        json!({"worker_id": self.id, "assignment_id": id, "nonce": nonce, "signature": signature,
            "output_hash": hash})
    }

    /// A call that submits two results under one signature (P20), computed here and not by the code that checks it.
    #[must_use]
    pub fn batch(&self, results: [&Value; 2]) -> Value {
        let leaf = |result: &Value| {
            let (id, nonce, hash) = (&result["assignment_id"], &result["nonce"], &result["output_hash"]);
            let text = json!({"assignment_id": id, "nonce": nonce, "output_hash": hash}).to_string();
            Sha256::digest([&[0], text.as_bytes()].concat())
        };
        let [left, right] = results.map(leaf);
        let root = sha256_hex(&[&[1][..], &left, &right].concat());
        let text = json!({"count": 2, "root": root, "worker_id": self.id}).to_string();
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(text.as_bytes()).to_bytes());
        let unsigned = results.map(|result| {
            let mut unsigned = result.clone();
            unsigned.as_object_mut().expect("a result is an object").remove("signature");
            unsigned
        });
        json!({"worker_id": self.id, "submit": unsigned, "batch_signature": signature, "max": 0})
    }

    /// Hands a result in.
    #[must_use]
    pub fn submit(&self, result: &Value) -> Answer {
        self.owner.post("/jobs/submit", result)
    }

    /// Asks for work, does it and hands it in; says what it handed in.
    pub fn work_off(&self, output: &Value) -> Value {
        let result = self.result(&self.poll(), output);
        let _ = self.submit(&result).expect(200);
        result
    }

    /// The worker as its owner sees it.
    #[must_use]
    pub fn shown(&self) -> Value {
        let all = self.owner.get("/workers").expect(200);
        all["workers"].as_array().unwrap().iter().find(|worker| worker["id"] == self.id).unwrap().clone()
    }
}

/// A simulation worker that exists only here, and does what it is told to.
#[derive(Clone, Debug)]
pub struct FakeSimWorker {
    id: String,
    /// A caller with its token.
    pub client: Client,
}

impl FakeSimWorker {
    /// Registers one.
    #[must_use]
    pub fn registered(server: &Server, id: &str) -> Self {
        let enroller = server.anonymous().with_token(&server.enrol_secret());
        let mut registration = sim_registration(id, None);
        registration["capabilities"] = json!({});
        let answer = enroller.post("/api/v1/workers/register", &registration).expect(201);
        let client = server.anonymous().with_token(answer["workerToken"].as_str().unwrap());
        Self { id: id.to_owned(), client }
    }

    /// Says how it is.
    pub fn beat(&self, queue_ratio: f64, status: &str) {
        let body = json!({"queueRatio": queue_ratio, "gpuUsage": 0.1, "lastFrame": 0, "status": status});
        let _ = self.client.post(&format!("/api/v1/workers/{}/heartbeat", self.id), &body).expect(200);
    }

    /// Asks for a task.
    #[must_use]
    pub fn task(&self) -> Value {
        self.client.get(&format!("/api/v1/workers/{}/tasks", self.id)).expect(200)["task"].clone()
    }

    /// Reports that a task failed.
    pub fn fail(&self, task: &Value) {
        let body = json!({"workerId": self.id, "attempt": task["attempt"], "error": "out of memory"});
        let path = format!("/api/v1/tasks/{}/fail", task["taskId"].as_str().unwrap());
        let _ = self.client.post(&path, &body).expect(200);
    }

    /// Reports that it is at work on a task.
    pub fn progress(&self, task: &Value) {
        let body = json!({"sessionId": task["sessionId"], "taskId": task["taskId"], "processedFrames": 1,
            "maxQueueRatio": 0.0, "droppedFrames": 0, "diagnostics": []});
        let _ = self.client.post(&format!("/api/v1/workers/{}/progress", self.id), &body).expect(200);
    }
}

/// The registration of a simulation worker.
#[must_use]
pub fn sim_registration(id: &str, endpoint: Option<&str>) -> Value {
    json!({"workerId": id, "role": "render", "capabilities": {"cameras": 1, "gpu": "none", "slots": 1},
        "currentSession": null, "endpoint": endpoint})
}

/// The digest of some bytes, in lower-case hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn encode(key: &SigningKey) -> String {
    URL_SAFE_NO_PAD.encode(key.verifying_key().to_bytes())
}

/// The user who owns the workers that are processes.
const OWNER: &str = "olga";
