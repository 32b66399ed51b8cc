//! The agent's side of a guard.

use super::{force, tail::tail};
use std::os::{
    fd::OwnedFd,
    unix::{net::UnixStream, process::ExitStatusExt},
};
use std::process::{ExitStatus, Stdio};
use std::{ffi::OsString, io, io::Read, path::Path, path::PathBuf, time::Duration};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// How guards are started.
#[derive(Clone, Debug)]
pub struct Guards {
    /// The binary whose process calls [`super::guard()`].
    pub program: PathBuf,
    /// What makes it do so; `--lock FILE -- PROGRAM ARGUMENT…` follows.
    pub args: Vec<OsString>,
    /// The file that all guards of this agent lock together.
    pub lock: PathBuf,
}

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// Its name and its arguments.
    pub argv: &'a [String],
    /// Where it runs.
    pub directory: &'a Path,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code; 128 and the signal if one ended it.
    Exited(i32),
    /// It was killed because somebody asked to cancel.
    Cancelled,
}

/// What is left of a program: neither it nor any child of it runs any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessEnd {
    /// How it ended.
    pub ending: Ending,
    /// The signal that ended it, where one did; a code above 128 may also be a program's own.
    pub signal: Option<i32>,
    /// The last 64 KiB that it printed.
    pub stdout: Vec<u8>,
    /// The last 64 KiB that it complained of.
    pub stderr: Vec<u8>,
}

impl ProcessEnd {
    /// Describes a failure: the name of the program, its exit code and the end of its error output. The other arguments
    /// are left out, because they may be secret.
    #[must_use]
    pub fn complaint(&self, argv: &[String], code: i32) -> String {
        let said = String::from_utf8_lossy(&self.stderr);
        let said = said.trim();
        let skipped = said.chars().count().saturating_sub(COMPLAINT_CHARS_MAX);
        let last: String = said.chars().skip(skipped).collect();
        format!("{} ended with {code}: {last}", program_name(argv)).trim_end_matches(": ").to_owned()
    }
}

/// The name of a program, without its arguments.
#[must_use]
pub fn program_name(argv: &[String]) -> &str {
    argv.first().map_or("", String::as_str)
}

impl Guards {
    /// Guards that are processes of the agent's own binary, started as `muster guard`.
    ///
    /// `/proc/self/exe` is the running binary even after an upgrade put another in its place.
    #[must_use]
    pub fn of_own_binary(lock: PathBuf) -> Self {
        Self { program: "/proc/self/exe".into(), args: vec!["guard".into()], lock }
    }

    /// Runs a program to its end, or until somebody asks to cancel. Returns when nothing of it runs any more; if the
    /// future is dropped, all of it is killed just as well.
    pub async fn run(&self, program: &Program<'_>, cancel: &CancellationToken) -> io::Result<ProcessEnd> {
        self.run_heard(program, cancel, &mut |_| {}).await
    }

    /// Does what [`Self::run`] does, and hands on what the program prints as it comes.
    pub async fn run_heard(
        &self,
        program: &Program<'_>,
        cancel: &CancellationToken,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> io::Result<ProcessEnd> {
        let (leash, end) = UnixStream::pair()?;
        leash.set_nonblocking(true)?;
        let mut guard = self.command(program).stdin(OwnedFd::from(end)).spawn()?;
        let (stdout, stderr) = (guard.stdout.take(), guard.stderr.take());
        let (stdout, stderr) = (stdout.expect("stdout is piped"), stderr.expect("stderr is piped"));
        let over = CancellationToken::new();
        let ending = async {
            let ending = end_of((guard, leash), cancel).await;
            over.cancel();
            ending
        };
        let mut ignore = |_: &[u8]| {};
        let (stdout, stderr) = (tail(stdout, &over, hear), tail(stderr, &over, &mut ignore));
        let (ending, stdout, stderr) = tokio::join!(ending, stdout, stderr);
        let (ending, signal) = ending?;
        Ok(ProcessEnd { ending, signal, stdout, stderr })
    }

    fn command(&self, program: &Program<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg("--lock").arg(&self.lock).arg("--").args(program.argv);
        command.current_dir(program.directory).env_clear().envs(program.environment.iter().cloned());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C at a terminal is for the agent, which ends its programs in its own order.
        command.arg0("muster").process_group(0);
        command
    }
}

async fn end_of(
    (mut guard, leash): (Child, UnixStream),
    cancel: &CancellationToken,
) -> io::Result<(Ending, Option<i32>)> {
    tokio::select! {
        biased;
        status = guard.wait() => {
            let status = status?;
            return Ok((Ending::Exited(code(status)), status.signal().or_else(|| told_signal(&leash))));
        }
        () = cancel.cancelled() => drop(leash),
    }
    match tokio::time::timeout(GRACE, guard.wait()).await {
        Ok(status) => drop(status?),
        Err(_late) => force::end(&mut guard).await?,
    }
    Ok((Ending::Cancelled, None))
}

/// The signal that the guard told of on its leash before it ended.
fn told_signal(mut leash: &UnixStream) -> Option<i32> {
    let mut told = [0; 1];
    leash.read_exact(&mut told).ok().map(|()| i32::from(told[0]))
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or_default()
}

/// Enough to see what went wrong.
const COMPLAINT_CHARS_MAX: usize = 2_000;
/// Far longer than a guard needs, far shorter than anybody's patience.
const GRACE: Duration = Duration::from_secs(5);
