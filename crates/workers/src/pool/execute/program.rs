//! Any program, once per assignment (P16).

use super::{super::core::Work, output};
use crate::complaint::{complaint, name};
use muster_agent::{
    Text,
    process::{Ending, Guards, ProcessEnd, Program, base_environment},
};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// A program that executes: it reads the payload from its standard input, and prints an output.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Its name and its arguments.
    pub argv: Vec<String>,
    /// What ends it, with all its children.
    pub guards: Guards,
    /// Where it runs, in a directory of its own that is removed afterwards.
    pub scratch: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// What the worker is called.
    pub worker: String,
}

/// How a program ended, and what it printed.
struct Ran {
    end: ProcessEnd,
    printed: Vec<u8>,
    is_late: bool,
}

impl Exec {
    pub(super) async fn run(&self, work: &Work, cancel: &CancellationToken) -> Result<Text, String> {
        let directory = self.scratch.join(work.assignment.id.to_string());
        let job = work.assignment.job.clone();
        let prepared = directory.clone();
        let no_place = |error: io::Error| format!("no directory for {}: {error}", name(&self.argv));
        blocking(move || prepare(&prepared, &job)).await.map_err(no_place)?;
        let ran = self.run_in(&directory, work, cancel).await;
        if let Err(error) = blocking(move || fs::remove_dir_all(directory)).await {
            tracing::warn!(%error, "what a program left could not be removed");
        }
        self.judge(ran.map_err(|error| format!("cannot start {}: {error}", name(&self.argv)))?)
    }

    async fn run_in(&self, directory: &Path, work: &Work, cancel: &CancellationToken) -> io::Result<Ran> {
        let argv = with_input(&self.argv);
        let program = Program { argv: &argv, directory, environment: self.environment(directory, work) };
        let stop = cancel.child_token();
        let mut printed = Vec::new();
        let mut hear = |bytes: &[u8]| {
            if printed.len() <= OUTPUT_BYTES_MAX {
                printed.extend_from_slice(bytes);
            } else {
                // Nothing that it could still print would be taken.
                stop.cancel();
            }
        };
        let (end, is_late) = {
            let mut run = pin!(self.guards.run_heard(&program, &stop, &mut hear));
            tokio::select! {
                end = &mut run => (end, false),
                () = tokio::time::sleep(self.timeout) => {
                    stop.cancel();
                    (run.await, true)
                }
            }
        };
        Ok(Ran { end: end?, printed, is_late })
    }

    fn judge(&self, ran: Ran) -> Result<Text, String> {
        let name = name(&self.argv);
        if ran.printed.len() > OUTPUT_BYTES_MAX {
            return Err(format!("{name} printed more than {OUTPUT_BYTES_MAX} bytes"));
        }
        match ran.end.ending {
            Ending::Exited(0) => output(&ran.printed).map_err(|error| format!("{name}: {error}")),
            Ending::Exited(code) => Err(complaint(&self.argv, code, &ran.end)),
            Ending::Cancelled if ran.is_late => {
                Err(format!("{name} took longer than {} s", self.timeout.as_secs_f64()))
            }
            Ending::Cancelled => Err("it was stopped".to_owned()),
        }
    }

    /// A clean environment, and what the program must know of its assignment.
    fn environment(&self, directory: &Path, work: &Work) -> Vec<(OsString, OsString)> {
        let mut environment = base_environment();
        let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
        set("MUSTER_ASSIGNMENT_ID", work.assignment.id.to_string().into());
        set("MUSTER_WORKER_ID", work.worker.to_string().into());
        set("MUSTER_WORKER_NAME", self.worker.as_str().into());
        set(PAYLOAD, directory.join(PAYLOAD_FILE).into());
        environment
    }
}

/// The program with the payload as its standard input: the guard's own is its leash and cannot be that.
fn with_input(argv: &[String]) -> Vec<String> {
    let redirected = format!(r#"exec "$@" < "${PAYLOAD}""#);
    let shell = ["sh".to_owned(), "-c".to_owned(), redirected, "sh".to_owned()];
    shell.into_iter().chain(argv.iter().cloned()).collect()
}

/// A directory with nothing but the payload in it. An earlier life may have left one.
fn prepare(directory: &Path, job: &str) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(directory)?;
    fs::write(directory.join(PAYLOAD_FILE), job)
}

/// Does what waits for the disk where nobody else waits.
async fn blocking(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// P16: what a program may print.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
const PAYLOAD: &str = "MUSTER_PAYLOAD_FILE";
const PAYLOAD_FILE: &str = "payload.json";
