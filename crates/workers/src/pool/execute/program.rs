//! Any program, once per assignment (P16).

use super::{super::core::Work, Fault, output};
use muster_worker_kit::{
    Text,
    process::{Ending, Guards, ProcessEnd, Program, base_environment, program_name as name},
};
use std::{
    ffi::OsString,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
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
    pub(super) async fn run(&self, work: &Work, cancel: &CancellationToken) -> Result<Text, Fault> {
        let place = Place::of(work, &self.scratch);
        let (prepared, job) = (place.clone(), work.assignment.job.clone());
        let no_place =
            |error: io::Error| Fault::Machine(format!("no directory for {}: {error}", name(&self.argv)));
        blocking(move || prepared.prepare(&job)).await.map_err(no_place)?;
        let ran = self.run_in(&place, work, cancel).await;
        let has_begun = place.has_begun();
        if let Err(error) = blocking(move || place.remove()).await {
            tracing::warn!(%error, "what a program left could not be removed");
        }
        let no_guard = |error| Fault::Machine(format!("cannot start {}: {error}", name(&self.argv)));
        let ran = ran.map_err(no_guard)?;
        match ran.end.ending {
            Ending::Exited(code) if code != 0 && !has_begun => {
                let why = ran.end.complaint(&self.argv, code);
                Err(Fault::Machine(format!("cannot start {}: {why}", name(&self.argv))))
            }
            _ => self.judge(ran).map_err(Fault::Job),
        }
    }

    async fn run_in(&self, place: &Place, work: &Work, cancel: &CancellationToken) -> io::Result<Ran> {
        let (directory, argv) = (place.directory.as_path(), place.with_input(&self.argv));
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
            Ending::Exited(code) => Err(ran.end.complaint(&self.argv, code)),
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

/// Where a program runs, and what tells whether it ever did.
#[derive(Clone, Debug)]
struct Place {
    directory: PathBuf,
    /// Empty as long as the program was not started: neither its exit code nor what it prints could tell for certain.
    begun: PathBuf,
}

impl Place {
    fn of(work: &Work, scratch: &Path) -> Self {
        let id = work.assignment.id;
        Self { directory: scratch.join(id.to_string()), begun: scratch.join(format!("{id}.begun")) }
    }

    /// A directory with nothing but the payload in it, for nobody else. An earlier life may have left one.
    fn prepare(&self, job: &str) -> io::Result<()> {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let write = |path: &Path, content: &str| {
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
            file.and_then(|mut file| file.write_all(content.as_bytes()))
        };
        write(&self.begun, "")?;
        write(&self.directory.join(PAYLOAD_FILE), job)
    }

    fn has_begun(&self) -> bool {
        fs::metadata(&self.begun).is_ok_and(|metadata| metadata.len() > 0)
    }

    fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.directory)?;
        fs::remove_file(&self.begun)
    }

    /// The program with the payload as its standard input: the guard's own is its leash and cannot be that.
    ///
    /// The shell marks that the program begins, and takes the mark back if `exec` returns: some shells end then, which
    /// the trap sees; others must be told not to.
    fn with_input(&self, argv: &[String]) -> Vec<String> {
        let script = format!(
            r#"shopt -s execfail 2> /dev/null; trap ': > "$0"' EXIT; echo . > "$0" || exit; exec "$@" < "${PAYLOAD}""#
        );
        let mark = self.begun.to_string_lossy().into_owned();
        let shell = ["sh".to_owned(), "-c".to_owned(), script, mark];
        shell.into_iter().chain(argv.iter().cloned()).collect()
    }
}

/// Does what waits for the disk where nobody else waits.
async fn blocking(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// P16: what a program may print.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
const PAYLOAD: &str = "MUSTER_PAYLOAD_FILE";
const PAYLOAD_FILE: &str = "payload.json";
