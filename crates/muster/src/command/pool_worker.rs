//! `muster pool-worker`: the reference worker of the pool (I11, P16).

mod credentials;
mod words;

use super::worker_program::{self, FILE_THREADS_MAX, Format, leave_on_request, list_set_aside, with_line};
use crate::{
    config::{self, Config, ConfigError, Layers},
    failure::{Exit, Failure},
    reach,
};
use clap::{Args, Subcommand};
use muster_coordinator::{Clock, SystemClock};
use muster_worker_kit::{
    call::millis,
    process::{Guards, wait_for_earlier_life},
};
use muster_workers::pool::{
    KeyFile, Server,
    core::{Counts, Over},
    execute::{Exec, Handler},
    runtime::{Options, Report, Worker},
    wire::Introduction,
};
use serde_json::{Map, Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
pub(crate) struct PoolWorker {
    /// The server's address; several, given again or with commas, are tried in turn [default: $MUSTER_SERVER, else http://127.0.0.1:7400]
    #[arg(long, value_name = "URL")]
    server: Vec<String>,
    /// The owner's name; the password comes from $MUSTER_PASSWORD or --password-file, or a token from $MUSTER_TOKEN
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A file that holds the owner's password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// What the worker is called, such as worker-a
    #[arg(long, value_name = "NAME", required = true, value_parser = words::name)]
    name: Option<String>,
    /// The file with the key that results are signed with; made if there is none
    #[arg(long, value_name = "FILE", required = true)]
    key: Option<PathBuf>,
    /// Have the key replaced by a new one before any work is taken
    #[arg(long)]
    rotate_key: bool,
    /// How many assignments are executed at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    slots: u32,
    /// Where the worker is, for jobs that name a region
    #[arg(long, value_name = "TEXT", value_parser = words::region)]
    region: Option<String>,
    /// What the worker can do, for jobs that require it; may be given more than once
    #[arg(long = "spec", value_name = "KEY=JSON", value_parser = words::spec)]
    specs: Vec<(String, Value)>,
    /// Where results are kept until the server has them
    #[arg(long, value_name = "DIR", default_value = "./muster-pool-worker")]
    spool: PathBuf,
    /// How long what runs may take to end by itself when the worker is asked to stop
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = words::seconds)]
    grace: Duration,
    /// How long a program of --exec may take
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = words::seconds)]
    timeout: Duration,
    /// How often the worker says that it lives
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = words::seconds)]
    heartbeat: Duration,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
    /// Run this once per assignment, instead of the built-in handler; everything after it is part of it
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true)]
    exec: Vec<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show results that a server refused for good
    Aside(Aside),
}

// Results that a server refused for good (P16).
#[derive(Debug, Args)]
struct Aside {
    /// The spool's directory
    #[arg(long, value_name = "DIR", default_value = "./muster-pool-worker")]
    spool: PathBuf,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl PoolWorker {
    pub(crate) fn run(self: Box<Self>) -> Result<Exit, Failure> {
        if let Some(Command::Aside(aside)) = &self.command {
            return list_set_aside(&aside.spool, "result", "assignment_id", aside.json);
        }
        let format = self.log_format;
        worker_program::run(format, FILE_THREADS_MAX, async |shows_line| self.work(shows_line).await)
    }

    async fn work(self: Box<Self>, shows_line: bool) -> Result<Exit, Failure> {
        let leave =
            leave_on_request("leaving: nothing more is taken, what runs may end; once more ends at once")?;
        let worker = tokio::select! {
            opened = self.open() => opened?,
            () = leave.cancelled() => return Ok(Exit::Fine),
        };
        let over = with_line(shows_line, worker.watch(), line, worker.run(leave)).await;
        Ok(self.say(&over))
    }

    async fn open(&self) -> Result<Worker, Failure> {
        let (name, key) = (self.name.as_deref(), self.key.as_deref());
        let (name, key) = (name.expect("clap asks for it"), key.expect("clap asks for it"));
        let servers = reach::servers(&self.server, |name| std::env::var(name).ok())?;
        let credentials = credentials::find(self.user.as_deref(), self.password_file.as_deref(), |name| {
            std::env::var(name).ok()
        })?;
        let reads_old_name = reads_old_name(&config::gather(None, Vec::new())?)?;
        let server = Server::new(servers.client().no_proxy().build()?, servers, credentials);
        let server = server.reading_last_heartbeat_at(reads_old_name);
        // Programs run in directories of their own and must find it from there.
        let spool = std::path::absolute(&self.spool)?;
        let handler = self.handler(name, &spool)?;
        let is_exec = matches!(handler, Handler::Exec(_));
        let keys = || KeyFile::open(key, self.rotate_key, rand::random);
        let worker = Worker::open(self.options(name, spool.clone()), server, keys, handler)?;
        if is_exec {
            // The spool is this worker's from here on: whatever still runs is of an earlier one.
            wait_for_earlier_life(&Options::guard_lock(&spool), "worker").await?;
            clear(&Options::scratch(&spool))?;
        }
        Ok(worker)
    }

    fn options(&self, name: &str, spool: PathBuf) -> Options {
        let clock = SystemClock::start();
        let mut specs: Map<String, Value> = self.specs.iter().cloned().collect();
        specs.insert("slots".to_owned(), json!(self.slots));
        Options {
            who: Introduction { name: name.into(), region: self.region.as_deref().map(Into::into), specs },
            slots: self.slots,
            heartbeat: millis(self.heartbeat),
            grace: millis(self.grace),
            spool,
            now: Arc::new(move || clock.now()),
        }
    }

    fn handler(&self, name: &str, spool: &Path) -> Result<Handler, Failure> {
        if self.exec.is_empty() {
            return Ok(Handler::BuiltIn);
        }
        Ok(Handler::Exec(Exec {
            argv: words::program(&self.exec, std::env::var_os("PATH").as_deref())?,
            guards: Guards::of_own_binary(Options::guard_lock(spool)),
            scratch: Options::scratch(spool),
            timeout: self.timeout,
            worker: name.to_owned(),
        }))
    }

    /// Says why it is over, and what to do about it.
    fn say(&self, over: &Over) -> Exit {
        let name = self.name.as_deref().unwrap_or_default();
        match over {
            Over::Left => {
                tracing::info!("left");
                return Exit::Fine;
            }
            Over::NotAdmitted(refusal) => tracing::error!(status = refusal.status, detail = %refusal.detail,
                "not let in: check --user and its password, or the token"),
            Over::Refused(refusal) => tracing::error!(status = refusal.status, detail = %refusal.detail,
                "the server will have none of this worker; what it owes is kept in --spool"),
            Over::NameTaken => tracing::error!(name, "the name is another owner's: choose another --name"),
            Over::OtherKey { key } => tracing::error!(name, theirs = %key,
                "the server knows this worker with another key: name that one with --key, or another --name"),
            Over::TooLong => tracing::error!(
                "what this worker has started is longer than all its slots could hold, and cannot be read; \
                 others get it when its lease is over: lower server.body_limit_bytes, and start the worker again then"
            ),
            Over::OtherSpool { worker } => tracing::error!(
                worker,
                "the spool holds results of another worker: start that one to submit them, or choose another --spool"
            ),
        }
        Exit::Refused
    }
}

/// P12: whether `last_heartbeat_at` is still read, as the settings in the environment have it.
fn reads_old_name(layers: &Layers) -> Result<bool, ConfigError> {
    Ok(Config::parse(layers)?.pool.read_last_heartbeat_at)
}

/// What programs of an earlier life left is nothing to anybody.
fn clear(scratch: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The status of a worker, in one line.
fn line(report: &Report) -> String {
    let Report { name, state, running, slots, spooled, counts } = report;
    let Counts { completed, failed, aside, .. } = counts;
    format!(
        "{name}  {state}  running {running}/{slots}  spool {spooled}  done {completed}  failed {failed}  aside {aside}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        worker: PoolWorker,
    }

    fn parse(line: &str) -> Result<PoolWorker, clap::Error> {
        Line::try_parse_from(line.split(' ')).map(|line| line.worker)
    }

    /// I11: whatever follows --exec is the program's.
    #[test]
    fn a_program_keeps_its_arguments() {
        let worker = parse("w --name n --key f --slots 3 --exec sh -c run --slots 7 -- x").unwrap();
        assert_eq!((worker.slots, worker.exec.join(" ").as_str()), (3, "sh -c run --slots 7 -- x"));
        assert!(parse("w --name n --key f --exec").is_err());
        assert!(parse("w --name n").is_err() && parse("w --key f").is_err());
    }

    /// I6: no secret is taken from the command line.
    #[test]
    fn no_flag_takes_a_secret() {
        for flag in ["--password x", "--token x", "--secret x"] {
            assert!(parse(&format!("w --name n --key f {flag}")).is_err(), "{flag}");
        }
    }

    /// P12: the old name is read until a setting says no.
    #[test]
    fn the_old_name_can_be_switched_off() {
        let mut layers = Layers::defaults();
        assert!(reads_old_name(&layers).unwrap());
        let off = ("MUSTER_POOL__READ_LAST_HEARTBEAT_AT".to_owned(), "false".to_owned());
        layers.add_environment([off]).unwrap();
        assert!(!reads_old_name(&layers).unwrap());
    }

    /// P3: slots and specs stand in specs_json.
    #[test]
    fn specs_and_slots_are_told() {
        let worker = parse("w --name n --key f --slots 3 --spec gpu=true --spec ram=64 --region eu").unwrap();
        let who = worker.options("n", PathBuf::new()).who;
        assert_eq!(Value::Object(who.specs), json!({"gpu": true, "ram": 64, "slots": 3}));
        assert_eq!((&*who.name, who.region.as_deref()), ("n", Some("eu")));
    }

    /// P16: state, slots, spool and what became of results, in one line.
    #[test]
    fn the_line_says_how_the_worker_is() {
        let counts = Counts { completed: 12, failed: 2, repeated: 1, aside: 3 };
        let report =
            Report { name: "worker-a".into(), state: "online", running: 1, slots: 4, spooled: 5, counts };
        assert_eq!(line(&report), "worker-a  online  running 1/4  spool 5  done 12  failed 2  aside 3");
    }
}
