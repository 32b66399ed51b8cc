//! `muster pool-worker`: the reference worker of the pool (I11, P16).

use super::worker_program::{self, FILE_THREADS_MAX, leave_on_request, list_set_aside, with_line};
use crate::{
    config::{self, Config, ConfigError, Layers, LogFormat},
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
    Credentials, KeyFile, Secret, Server,
    core::{Counts, Over},
    execute::{Exec, Handler},
    runtime::{Options, Report, Worker},
    wire::Introduction,
};
use serde_json::{Map, Value, json};
use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf, absolute},
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
    /// Name of the worker, such as worker-a
    #[arg(long, value_name = "NAME", required = true, value_parser = name)]
    name: Option<String>,
    /// The file with the key that results are signed with; made if there is none
    #[arg(long, value_name = "FILE", required = true)]
    key: Option<PathBuf>,
    /// Have the key replaced by a new one before any work is taken
    #[arg(long)]
    rotate_key: bool,
    /// Number of assignments executed at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    slots: u32,
    /// Region of the worker, for jobs that name one
    #[arg(long, value_name = "TEXT", value_parser = region)]
    region: Option<String>,
    /// Capability of the worker, for jobs that require it; may be given more than once
    #[arg(long = "spec", value_name = "KEY=JSON", value_parser = spec)]
    specs: Vec<(String, Value)>,
    /// Directory for results until the server has them
    #[arg(long, value_name = "DIR", default_value = "./muster-pool-worker")]
    spool: PathBuf,
    /// Time that running jobs get to end by themselves when the worker is asked to stop
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    grace: Duration,
    /// Time limit of a program of --exec
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    timeout: Duration,
    /// Interval between heartbeats
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    heartbeat: Duration,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
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
        let credentials =
            find(self.user.as_deref(), self.password_file.as_deref(), |name| std::env::var(name).ok())?;
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
            argv: program(&self.exec, std::env::var_os("PATH").as_deref())?,
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

/// Removes what programs of an earlier life left.
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

/// P3: what a worker may be called.
fn name(text: &str) -> Result<String, String> {
    within(text, 1..=120).ok_or_else(|| "a worker's name has 1 to 120 characters".to_owned())
}

/// P3: what a region may be called.
fn region(text: &str) -> Result<String, String> {
    within(text, 1..=64).ok_or_else(|| "a region has 1 to 64 characters".to_owned())
}

/// P3: something that a worker can do.
fn spec(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("write it KEY=JSON")?;
    if key == "slots" {
        return Err("slots are told with --slots".to_owned());
    }
    let value = serde_json::from_str(value)
        .map_err(|error| format!("{value} is no JSON ({error}); a text needs quotes: {key}='\"…\"'"))?;
    Ok((key.to_owned(), value))
}

/// A span, of which fractions are allowed.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=SECONDS_MAX).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("write seconds from 0.05 to {SECONDS_MAX}"))
}

/// Finds the program of `--exec` (P16), so that a word mistyped is told at once and not by every job. One that is named by a path is meant
/// from here: it runs in directories of its own.
fn program(argv: &[String], path: Option<&OsStr>) -> Result<Vec<String>, Failure> {
    let mut argv = argv.to_vec();
    let Some(name) = argv.first_mut() else { return Ok(argv) };
    let is_found = if name.contains('/') {
        *name = absolute(&*name)?.to_string_lossy().into_owned();
        is_program(Path::new(name))
    } else {
        let path = path.unwrap_or(OsStr::new(PATH_DEFAULT));
        std::env::split_paths(path).any(|directory| is_program(&directory.join(&*name)))
    };
    if is_found {
        return Ok(argv);
    }
    Err(Failure::Usage(format!("there is no program {name} that can be run: see --exec, and PATH")))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn within(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<String> {
    length.contains(&text.chars().count()).then(|| text.to_owned())
}

/// Search path of shells without PATH.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";
/// Thirty days.
const SECONDS_MAX: f64 = 2_592_000.0;

/// Finds a password, by file or by `MUSTER_PASSWORD`, else a token, by `MUSTER_TOKEN`.
fn find(
    user: Option<&str>,
    file: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Credentials, Failure> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let password = match file {
        Some(path) => Some(read(path)?),
        None => set("MUSTER_PASSWORD"),
    };
    match (password, set("MUSTER_TOKEN")) {
        (Some(password), _) => {
            let no_user = || Failure::Usage("a password needs the name of its owner: --user NAME".to_owned());
            let user = user.ok_or_else(no_user)?.to_owned();
            Ok(Credentials::Password { user, password: Secret::new(password) })
        }
        (None, Some(token)) if token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(Credentials::Token(Secret::new(token)))
        }
        (None, Some(_)) => {
            Err(Failure::Usage("MUSTER_TOKEN holds characters that do not fit in a header".to_owned()))
        }
        (None, None) => Err(Failure::Usage(
            "no password: set MUSTER_PASSWORD, or name its file with --password-file; or set MUSTER_TOKEN"
                .to_owned(),
        )),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| Failure::Usage(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    if path.metadata().map_err(unreadable)?.permissions().mode() & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others can read this password: chmod 600 it, and change it if they did");
    }
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(Failure::Usage(format!("{} holds no password", path.display())));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::parse_flags;
    use crate::failure::Exit;
    use serde_json::json;

    fn parse(line: &str) -> Result<PoolWorker, clap::Error> {
        parse_flags(line.split(' '))
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

    /// P3: lengths are counted in code points.
    #[test]
    fn names_are_the_contracts() {
        assert!(name(&"ö".repeat(120)).is_ok() && region(&"ö".repeat(64)).is_ok());
        assert!(name("").is_err() && name(&"ö".repeat(121)).is_err() && region(&"ö".repeat(65)).is_err());
    }

    /// P3: specs are JSON; slots have a flag of their own.
    #[test]
    fn specs_are_json() {
        assert_eq!(spec("a=b=1").unwrap_err().split(' ').next(), Some("b=1"));
        assert_eq!(spec("gpu={\"n\":2}").unwrap(), ("gpu".to_owned(), json!({"n": 2})));
        assert!(spec("slots=2").is_err() && spec("=1").is_err() && spec("x").is_err());
    }

    #[test]
    fn seconds_may_have_fractions() {
        assert_eq!(seconds("0.5").unwrap(), Duration::from_millis(500));
        for wrong in ["0", "-1", "NaN", "inf", "1e99", "x"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    /// I4, P16: a program that is not there, or is none, is a matter of usage.
    #[test]
    fn a_program_is_found_at_the_start() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("infer");
        std::fs::write(&file, "#!/bin/sh").unwrap();
        let path = file.to_str().unwrap();
        let find = |word: &str| program(&[word.to_owned(), "x".to_owned()], Some(place.path().as_os_str()));
        for word in [path, "infer", "no-such-program", "./no/such", place.path().to_str().unwrap()] {
            let failure = find(word).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.to_string().contains("--exec"), "{failure}");
        }
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(find(path).unwrap(), [path, "x"]);
        assert_eq!(find("infer").unwrap(), ["infer", "x"]);
    }

    fn variables<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn is_password(found: &Credentials, expected: &str) -> bool {
        matches!(found, Credentials::Password { password, .. } if *password == Secret::new(expected))
    }

    /// P16, I6: the file first, then MUSTER_PASSWORD, then MUSTER_TOKEN; none is ever shown.
    #[test]
    fn credentials_are_found_in_order() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("password");
        std::fs::write(&file, "hunter2 in a file \n").unwrap();
        let all = [("MUSTER_PASSWORD", "hunter2"), ("MUSTER_TOKEN", "hunter2-token")];
        assert!(is_password(&find(Some("u"), Some(&file), variables(&all)).unwrap(), "hunter2 in a file "));
        assert!(is_password(&find(Some("u"), None, variables(&all)).unwrap(), "hunter2"));
        let token = find(None, None, variables(&all[1..])).unwrap();
        assert!(matches!(&token, Credentials::Token(token) if *token == Secret::new("hunter2-token")));
        assert!(!format!("{token:?}").contains("hunter2"));
        std::fs::write(&file, "\n").unwrap();
        for wrong in [
            find(None, None, variables(&all)),
            find(Some("u"), None, variables(&[])),
            find(Some("u"), None, variables(&[("MUSTER_PASSWORD", ""), ("MUSTER_TOKEN", "")])),
            find(None, None, variables(&[("MUSTER_TOKEN", "hunter2\n")])),
            find(Some("u"), Some(&file), variables(&all)),
            find(Some("u"), Some(&place.path().join("none")), variables(&all)),
        ] {
            let error = wrong.unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
