//! One worker of the demo's pool: `muster pool-worker`, a process of this binary, as its owner would run it.

use super::{
    super::{life::Orders, process::Process, server::Server},
    person::Person,
};
use crate::failure::Failure;
use muster_spool::{Directory, Limits, Spool, set_aside_entries};
use muster_workers::pool::KeyFile;
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// One worker, over all its lives.
pub(in super::super) struct Member {
    pub(in super::super) plan: &'static MemberPlan,
    /// By what the server knows it.
    pub(in super::super) id: u64,
    pub(in super::super) standing: Standing,
    process: Process,
    spool: PathBuf,
    key: PathBuf,
    /// When the server had last heard of its earlier life.
    seen_before: Option<String>,
}

/// A worker as it is planned.
#[derive(Debug)]
pub(in super::super) struct MemberPlan {
    pub(in super::super) name: &'static str,
    pub(in super::super) owner: &'static str,
    region: Option<&'static str>,
    specs: &'static [&'static str],
    /// The shell's program that does its jobs; the built-in handler without.
    program: Option<&'static str>,
}

/// What the server thinks of a worker.
#[derive(Debug, Default)]
pub(in super::super) struct Standing {
    status: String,
    pub(in super::super) dissents: u64,
    seen_at: Option<String>,
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
        let file = |ending: &str| directory.join(format!("{}{ending}", plan.name));
        let (spool, key) = (file(""), file(".key"));
        let orders = Orders {
            args: arguments(plan, server, (&spool, &key)),
            secrets: vec![("MUSTER_PASSWORD", owner.password.clone())],
            lock: file(".lock"),
            log: file(".log"),
            greeting: None,
        };
        let process = Process::start(format!("the pool worker {}", plan.name), orders).await?;
        Ok(Self { plan, id: 0, standing: Standing::default(), process, spool, key, seen_before: None })
    }

    /// Waits until the server has heard of this life of it.
    pub(super) async fn become_known(&mut self, owner: &Person) -> Result<(), Failure> {
        let known = timeout(READY_MAX, self.until_heard(owner)).await;
        known.unwrap_or_else(|_late| {
            Err(self.process.trouble(io::Error::other("it does not find the demo's server")))
        })
    }

    /// Starts it on the spool that its last life left.
    pub(super) async fn start_again(&mut self, owner: &Person) -> Result<(), Failure> {
        self.ask_for_standing(owner).await?;
        self.seen_before = self.standing.seen_at.clone();
        self.process.start_again().await
    }

    /// How often it was started.
    pub(in super::super) const fn starts(&self) -> u64 {
        self.process.starts
    }

    /// That it ended by itself is an error.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        self.process.look().map(drop)
    }

    /// Kills it (`kill -9`).
    pub(super) async fn kill(&mut self) -> Result<(), Failure> {
        self.process.kill().await
    }

    /// Since when it is not running; nothing while it is.
    pub(in super::super) fn down_since(&self) -> Option<Instant> {
        self.process.down_since()
    }

    /// Asks it to leave (SIGTERM) and waits for that; gives what is wrong with how it ended, in words.
    pub(super) async fn stop(&mut self) -> Result<Option<String>, Failure> {
        self.process.stop().await
    }

    /// Asks the server what it thinks of it, as its owner may (P4).
    pub(super) async fn ask_for_standing(&mut self, owner: &Person) -> Result<(), Failure> {
        let answer = owner.client.get(&["workers"], &[]).await?;
        let mut workers = answer["workers"].as_array().into_iter().flatten();
        if let Some(worker) = workers.find(|worker| worker["name"] == self.plan.name) {
            self.id = worker["id"].as_u64().unwrap_or_default();
            self.standing = Standing::read(worker);
        }
        Ok(())
    }

    /// The assignments whose results are in its spool. It must not be running.
    pub(super) fn spooled(&self) -> Result<Vec<u64>, Failure> {
        let (_spool, recovered) = Spool::open(Directory::open(&self.spool)?, Limits::default())?;
        Ok(recovered.pending.iter().map(|(_, bytes)| assignment_of(bytes)).collect())
    }

    /// The assignments whose results the server refused for good.
    pub(super) fn set_aside(&self) -> Result<Vec<u64>, Failure> {
        let entries = set_aside_entries(&Directory::for_reading(&self.spool))?;
        Ok(entries.iter().map(|entry| assignment_of(&entry.payload)).collect())
    }

    /// The key that others check its results with, from its own file and not from what the server says.
    pub(super) fn public_key(&self) -> Result<String, Failure> {
        Ok(KeyFile::open(&self.key, false, rand::random)?.current().public_text())
    }

    async fn until_heard(&mut self, owner: &Person) -> Result<(), Failure> {
        loop {
            self.look()?;
            self.ask_for_standing(owner).await?;
            if self.standing.seen_at > self.seen_before {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}

impl MemberPlan {
    /// Whether it hands in what nobody else finds.
    pub(in super::super) fn is_liar(&self) -> bool {
        self.program == Some(LIES)
    }
}

impl Standing {
    pub(in super::super) fn is_banned(&self) -> bool {
        self.status == "banned"
    }

    fn read(worker: &Value) -> Self {
        let word = |name: &str| worker[name].as_str().map(str::to_owned);
        Self {
            status: word("status").unwrap_or_default(),
            dissents: worker["dissents"].as_u64().unwrap_or(0),
            seen_at: word("last_seen_at"),
        }
    }
}

fn assignment_of(body: &[u8]) -> u64 {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["assignment_id"].as_u64().unwrap_or_default()
}

fn arguments(plan: &MemberPlan, server: &Server, (spool, key): (&Path, &Path)) -> Vec<String> {
    let mut flags = vec![
        ("--server", server.url.clone()),
        ("--user", plan.owner.to_owned()),
        ("--name", plan.name.to_owned()),
        ("--key", key.display().to_string()),
        ("--spool", spool.display().to_string()),
        ("--slots", SLOTS.to_string()),
    ];
    flags.extend(plan.region.map(|region| ("--region", region.to_owned())));
    flags.extend(plan.specs.iter().map(|spec| ("--spec", (*spec).to_owned())));
    let flags = flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    let program = plan.program.into_iter().flat_map(|program| ["--exec", "sh", "-c", program]);
    let command = [String::from("pool-worker")].into_iter().chain(flags);
    command.chain(program.map(str::to_owned)).collect()
}

/// Four workers of three owners: two that do what is built in, one that runs a program, one that lies.
pub(in super::super) static MEMBERS: [MemberPlan; 4] = [
    MemberPlan { name: "anna-1", owner: "anna", region: Some(BUILT_IN), specs: &[], program: None },
    MemberPlan {
        name: VICTIM,
        owner: "anna",
        region: Some(BUILT_IN),
        specs: &["disk_gb=500"],
        program: None,
    },
    MemberPlan { name: "bert-1", owner: "bert", region: Some(PROGRAMS), specs: &[], program: Some(ECHOES) },
    MemberPlan { name: "mallory-1", owner: "mallory", region: None, specs: &[], program: Some(LIES) },
];

/// The region of workers with the built-in handler.
pub(in super::super) const BUILT_IN: &str = "eu";
/// The region of workers that run a program.
pub(super) const PROGRAMS: &str = "us";
/// Who is killed; the only one with a disk worth mentioning.
pub(in super::super) const VICTIM: &str = "anna-2";
pub(super) const SLOTS: usize = 2;

/// Does what the built-in handler does with a payload that it knows nothing about. Where the payload speaks of a cold
/// start, the first attempt fails: an assignment's number says the how manieth of its job it is.
const ECHOES: &str = r#"payload=$(cat)
case $payload in *'"cold"'*)
  if [ $((MUSTER_ASSIGNMENT_ID % 64)) -eq 1 ]; then echo 'it is still cold' >&2; exit 1; fi;;
esac
printf '{"echo":%s}' "$payload""#;

/// Hands in the same for everything.
const LIES: &str = r#"printf '{"echo":"trust me"}'"#;

const READY_MAX: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
