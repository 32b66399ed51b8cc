//! The workers of the demo's pool, each a `muster pool-worker` process, and the people who own them.

use super::super::{
    process::{Orders, Process, arguments, until},
    server::Server,
};
use crate::{client::Client, failure::Failure};
use muster_accounts::wire::Token;
use muster_contract_pool::{SubmitRequest, WorkerSummary};
use muster_spool::{Directory, Limits, Spool, set_aside_entries};
use muster_workers::pool::KeyFile;
use serde_json::{Value, json};
use std::{io, path::PathBuf, sync::Arc};

/// A user of the demo, logged in (P1).
pub(super) struct Person {
    pub(super) name: &'static str,
    password: String,
    pub(super) client: Client,
}

/// A worker of the pool.
pub(super) struct Member {
    pub(super) plan: &'static MemberPlan,
    /// Its id at the server.
    pub(super) id: u64,
    pub(super) process: Process,
    spool: PathBuf,
    key: PathBuf,
    /// Time of its last call that the demo knows of, as the server says it.
    seen_at: Option<Arc<str>>,
}

/// A worker as it is planned.
#[derive(Debug)]
pub(super) struct MemberPlan {
    pub(super) name: &'static str,
    pub(super) owner: &'static str,
    region: Option<&'static str>,
    spec: Option<&'static str>,
    /// The shell program that does its jobs; without one the built-in handler does.
    program: Option<&'static str>,
}

impl Person {
    /// Creates the user and logs in.
    pub(super) async fn create(
        name: &'static str,
        role: &'static str,
        server: &Server,
    ) -> Result<Self, Failure> {
        let password: String = rand::random::<[u8; 16]>().iter().map(|byte| format!("{byte:02x}")).collect();
        let user = json!({"username": name, "password": password, "roles": [role]});
        server.client().post::<Value>(&["users"], &user).await?;
        let login = json!({"username": name, "password": password});
        let token: Token = server.client_with(None).post(&["auth", "login"], &login).await?;
        Ok(Self { name, password, client: server.client_with(Some(token.access_token)) })
    }
}

impl Member {
    /// Starts a worker with its key, its spool and its log among the demo's files.
    pub(super) async fn start(
        plan: &'static MemberPlan,
        owner: &Person,
        server: &Server,
    ) -> Result<Self, Failure> {
        let directory = server.directory().join("pool");
        std::fs::create_dir_all(&directory)?;
        let (spool, key) = (directory.join(plan.name), directory.join(format!("{}.key", plan.name)));
        let flags = [
            ("--server", server.url.clone()),
            ("--user", plan.owner.to_owned()),
            ("--name", plan.name.to_owned()),
            ("--key", key.display().to_string()),
            ("--spool", spool.display().to_string()),
            ("--slots", SLOTS.to_string()),
        ];
        let mut args = arguments("pool-worker", flags);
        let region = plan.region.into_iter().flat_map(|region| ["--region", region]);
        let spec = plan.spec.into_iter().flat_map(|spec| ["--spec", spec]);
        let program = plan.program.into_iter().flat_map(|program| ["--exec", "sh", "-c", program]);
        args.extend(region.chain(spec).chain(program).map(str::to_owned));
        let process = Process::start(Orders {
            name: format!("the pool worker {}", plan.name),
            args,
            secrets: vec![("MUSTER_PASSWORD", owner.password.clone())],
            files: spool.clone(),
            greeting: None,
        });
        Ok(Self { plan, id: 0, process: process.await?, spool, key, seen_at: None })
    }

    /// Waits until the server has heard of it since the last start.
    pub(super) async fn until_known(&mut self, owner: &Person) -> Result<(), Failure> {
        let is_known = until(async || {
            self.process.tend().await?;
            let seen_before = self.seen_at.clone();
            self.look_up(owner).await?;
            Ok(self.seen_at > seen_before)
        });
        if is_known.await? {
            return Ok(());
        }
        Err(self.process.trouble(io::Error::other("it does not find the demo's server")))
    }

    /// Kills it (`kill -9`).
    pub(super) async fn kill(&mut self, owner: &Person) -> Result<(), Failure> {
        self.process.kill().await?;
        self.look_up(owner).await
    }

    /// Asks the server for its id and the time of its last call.
    async fn look_up(&mut self, owner: &Person) -> Result<(), Failure> {
        let answer: Value = owner.client.get(&["workers"], &[]).await?;
        let workers = WorkerSummary::read_list(answer.to_string().as_bytes(), false);
        let workers = workers.map_err(|error| owner.client.not_ours(&error.to_string()))?;
        if let Some(worker) = workers.into_iter().find(|worker| *worker.name == *self.plan.name) {
            (self.id, self.seen_at) = (worker.id, worker.last_seen);
        }
        Ok(())
    }

    /// The assignments whose results are in its spool. It must not be running.
    pub(super) fn spooled(&self) -> Result<Vec<u64>, Failure> {
        let (_spool, recovered) = Spool::open(Directory::open(&self.spool)?, Limits::default())?;
        Ok(recovered.pending.iter().map(|(_, bytes)| assignment_of(bytes)).collect())
    }

    /// The assignments whose results the server refused for good.
    pub(super) fn refused(&self) -> Result<Vec<u64>, Failure> {
        let entries = set_aside_entries(&Directory::for_reading(&self.spool))?;
        Ok(entries.iter().map(|entry| assignment_of(&entry.payload)).collect())
    }

    /// Its public key, from its own file and not from the server.
    pub(super) fn public_key(&self) -> Result<String, Failure> {
        Ok(KeyFile::open(&self.key, false, rand::random)?.current().public_text())
    }
}

fn assignment_of(body: &[u8]) -> u64 {
    serde_json::from_slice(body).map_or(0, |result: SubmitRequest| result.assignment_id)
}

/// Four workers of three owners: two with the built-in handler, one that runs a program, one that lies.
pub(super) static MEMBERS: [MemberPlan; 4] = [
    MemberPlan { name: "anna-1", owner: "anna", region: Some(BUILT_IN), spec: None, program: None },
    MemberPlan {
        name: VICTIM,
        owner: "anna",
        region: Some(BUILT_IN),
        spec: Some("disk_gb=500"),
        program: None,
    },
    MemberPlan { name: "bert-1", owner: "bert", region: Some(PROGRAMS), spec: None, program: Some(ECHOES) },
    MemberPlan { name: LIAR, owner: "mallory", region: None, spec: None, program: Some(LIES) },
];

/// The region of workers with the built-in handler.
pub(in super::super) const BUILT_IN: &str = "eu";
/// The region of workers that run a program.
pub(super) const PROGRAMS: &str = "us";
/// The worker that is killed; the only one with the disk that its jobs require.
pub(super) const VICTIM: &str = "anna-2";
pub(super) const LIAR: &str = "mallory-1";
const SLOTS: usize = 2;

/// Does what the built-in handler does with a payload that it does not know. If the payload speaks of a cold start, the
/// first attempt fails: the last six bits of an assignment's id count the attempts of its job.
const ECHOES: &str = r#"payload=$(cat)
case $payload in *'"cold"'*)
  if [ $((MUSTER_ASSIGNMENT_ID % 64)) -eq 1 ]; then echo 'it is still cold' >&2; exit 1; fi;;
esac
printf '{"echo":%s}' "$payload""#;

/// Submits the same result for everything.
const LIES: &str = r#"printf '{"echo":"trust me"}'"#;
