//! The binary under test as a process: signals, kill -9, restarts, and a log that must not tell of a panic; and commands that
//! end by themselves.

use crate::Place;
use serde_json::Value;
use std::{
    fs::{self, OpenOptions},
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
};

/// A process whose log goes to a file over all its starts; ended with the value.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    /// Text that its log must not contain.
    pub(crate) unlogged: Option<String>,
}

impl Process {
    /// Starts a program. Its stdout is the command's; its stderr goes to the log.
    #[must_use]
    pub fn start(name: &str, log: PathBuf, command: Command) -> Self {
        Self { name: name.to_owned(), child: spawn(command, &log), log, unlogged: None }
    }

    /// Starts it anew, once it has ended.
    pub fn start_again(&mut self, command: Command) {
        assert!(self.ended().is_some(), "{} still runs", self.name);
        self.child = spawn(command, &self.log);
    }

    /// Reads its first line, in which an address stands between two texts.
    pub(crate) fn wait_for_address(&mut self, before: &str, after: &str) -> SocketAddr {
        let mut line = String::new();
        BufReader::new(self.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim_end().strip_prefix(before).and_then(|rest| rest.strip_suffix(after)?.parse().ok());
        address
            .unwrap_or_else(|| panic!("{} said {line:?} instead of its address:\n{}", self.name, self.log()))
    }

    /// Ends it as no process can prevent.
    pub fn kill9(&mut self) {
        self.send_kill9();
        self.wait();
    }

    /// Kills it and does not wait for its end.
    pub(crate) fn send_kill9(&mut self) {
        self.child.kill().unwrap();
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

    /// The exit status, once it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything it logged, over all its starts.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if thread::panicking() {
            let from = log.char_indices().rev().nth(SHOWN_MAX).map_or(0, |(at, _)| at);
            eprintln!("the end of the log of {}:\n{}", self.name, &log[from..]);
            return;
        }
        assert!(!log.contains("panicked at"), "{log}");
        assert!(self.unlogged.as_ref().is_none_or(|secret| !log.contains(secret)), "{log}");
    }
}

/// Lets a type that holds a `process` be signalled, killed and waited for as one.
macro_rules! runs_as_a_process {
    ($($kind:ty),*) => {$(
        impl std::ops::Deref for $kind {
            type Target = Process;

            fn deref(&self) -> &Process {
                &self.process
            }
        }

        impl std::ops::DerefMut for $kind {
            fn deref_mut(&mut self) -> &mut Process {
                &mut self.process
            }
        }
    )*};
}

runs_as_a_process!(crate::Agent, crate::Gateway, crate::PoolWorker, crate::Server, crate::SimWorker);

/// Exit code and output of a command that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ended {
    Ended::of(&command.output().unwrap())
}

/// Runs a command to its end, with something to read.
pub fn run_with(command: &mut Command, input: &[u8]) -> Ended {
    Ended::of(&output_with(command, input))
}

/// Runs a command to its end, with something to read, and gives the bytes of its output as they are.
pub fn output_with(command: &mut Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that does not read to the end reports the reason itself.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

impl Ended {
    /// Reads the output of a process that no signal ended.
    #[must_use]
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or_else(|| panic!("{output:?}"));
        Self { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// The same, of a command that must have succeeded.
    ///
    /// # Panics
    /// When it has not.
    pub fn done(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self
    }

    /// The document that a command printed, which must have succeeded.
    #[must_use]
    pub fn json(self) -> Value {
        let done = self.done();
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", done.stdout))
    }

    /// Holds a refusal to its exit code and some of its words.
    ///
    /// # Panics
    /// When either is another.
    pub fn refused(&self, code: i32, words: &str) {
        assert!(self.code == code && self.stderr.contains(words), "not {code} with {words:?}: {self:?}");
    }
}

/// A number that an environment variable may set, such as how often to kill.
#[must_use]
pub fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// The binary under test: `MUSTER_BIN`, else the one built beside this test.
#[must_use]
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("MUSTER_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("muster");
    assert!(path.exists(), "{} is missing: run `cargo build -p muster` first", path.display());
    path
}

/// The binary with a clean environment: nothing of this machine's settings and secrets.
#[must_use]
pub fn muster_command() -> Command {
    muster_command_in(None)
}

/// The same in a place of a network.
pub(crate) fn muster_command_in(place: Option<&Place>) -> Command {
    let mut command = place.map_or_else(|| Command::new(binary()), |place| place.command(&binary()));
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| name.starts_with("MUSTER_") || name == "NODE_AGENT_SHARED_SECRET") {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

fn spawn(mut command: Command, log: &Path) -> Child {
    let log = OpenOptions::new().create(true).append(true).open(log).unwrap();
    command.stderr(log).spawn().unwrap()
}

/// Characters of a log that a failed test shows.
const SHOWN_MAX: usize = 4000;

/// The environment that `./test` installs: `MUSTER_VENV`, else `target/venv`.
#[must_use]
pub fn venv() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/venv");
    let environment = std::env::var_os("MUSTER_VENV").map_or_else(beside, PathBuf::from);
    assert!(
        environment.join("bin/python3").exists(),
        "{} is missing: ./test installs it",
        environment.display()
    );
    environment
}
