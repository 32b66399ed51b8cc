//! Executing assignments: with the built-in handler, or with any program (P16).

use super::core::{End, Outcome, Work};
use muster_proof::{
    json::{Kind, Value, parse},
    sha256_hex,
};
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

/// A handler of assignments.
#[derive(Debug)]
pub enum Handler {
    /// The built-in one: small things that come out the same everywhere, so that redundancy agrees (P15).
    BuiltIn,
    /// A program, run once per assignment.
    Exec(Exec),
}

/// Reason why there is no output, and whose fault that is.
enum Fault {
    /// The assignment fails.
    Job(String),
    /// Somewhere else, or later, it may be executed well.
    Machine(String),
}

impl Handler {
    /// Executes an assignment. Returns when nothing of it runs any more.
    pub(super) async fn run(&self, work: &Work, cancel: &CancellationToken) -> End {
        let outcome = match self {
            Self::BuiltIn => tokio::select! {
                biased;
                () = cancel.cancelled() => return End::Stopped,
                outcome = run_built_in(&work.assignment.job) => outcome.map_err(Fault::Job),
            },
            Self::Exec(exec) => exec.run(work, cancel).await,
        };
        match outcome {
            // Errors of a program that is being killed do not count.
            Err(_) if cancel.is_cancelled() => End::Stopped,
            Ok(output) => End::Done(Outcome::Output(output)),
            Err(Fault::Job(error)) => End::Done(Outcome::Error(error.into())),
            Err(Fault::Machine(why)) => End::Unable(why.into()),
        }
    }
}

/// The canonical form of an output, which must be an object (P7, P10).
fn output(text: &[u8]) -> Result<Text, String> {
    let value = parse(text).map_err(|refused| format!("the output is no JSON: {refused}"))?;
    if !matches!(value.kind, Kind::Object(_)) {
        return Err("the output is no JSON object".to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    value.write_canonical(&mut bytes);
    Ok(String::from_utf8(bytes).expect("canonical JSON is UTF-8").into())
}

/// Executes a payload with the built-in handler: what comes out depends on what goes in, and on nothing else.
///
/// | payload | output |
/// |---|---|
/// | `{"op":"echo","value":V}` | `{"value":V}` |
/// | `{"op":"sum","values":[1,2,…]}` | `{"sum":…}`, of integers that fit in 64 bits each |
/// | `{"op":"sha256","text":"…"}` | `{"sha256":"…"}`, lower-case hexadecimal, of the text in UTF-8 |
/// | `{"op":"sleep","ms":N}` | `{"slept_ms":N}` after so long, at most an hour |
/// | `{"op":"fail","message":"…"}` | none: the assignment fails with the message |
/// | anything else | `{"echo":PAYLOAD}` |
async fn run_built_in(job: &str) -> Result<Text, String> {
    match plan(job)? {
        Plan::Say(text) => output(text.as_bytes()),
        Plan::Sleep(ms) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            output(format!(r#"{{"slept_ms":{ms}}}"#).as_bytes())
        }
    }
}

/// Order of a payload. It holds nothing of the tree, which may not be carried through a wait.
enum Plan {
    Say(String),
    Sleep(u64),
}

fn plan(job: &str) -> Result<Plan, String> {
    let payload = parse(job.as_bytes()).map_err(|refused| format!("the payload is no JSON: {refused}"))?;
    let said = match payload.get("op").and_then(Value::as_str) {
        Some("echo") => format!(r#"{{"value":{}}}"#, field(&payload, "value")?.text()),
        Some("sum") => format!(r#"{{"sum":{}}}"#, sum(&payload)?),
        Some("sha256") => {
            let text = field(&payload, "text")?.as_str().ok_or("text: is no string")?;
            format!(r#"{{"sha256":"{}"}}"#, sha256_hex(text.as_bytes()))
        }
        Some("sleep") => {
            let ms = field(&payload, "ms")?.as_u64().filter(|ms| *ms <= SLEEP_MS_MAX);
            return ms.map(Plan::Sleep).ok_or(format!("ms: is no integer from 0 to {SLEEP_MS_MAX}"));
        }
        Some("fail") => {
            let message = payload.get("message").and_then(Value::as_str).filter(|text| !text.is_empty());
            return Err(message.unwrap_or("it was told to fail").to_owned());
        }
        _ => format!(r#"{{"echo":{job}}}"#),
    };
    Ok(Plan::Say(said))
}

fn sum(payload: &Value<'_>) -> Result<i128, String> {
    let values = field(payload, "values")?.as_array().ok_or("values: is no array")?;
    let number = |value: &Value<'_>| {
        value.as_i64().map(i128::from).ok_or(format!("values: {} is no integer of 64 bits", short(value)))
    };
    // So many of 64 bits do not fit in any request that their sum would not fit in 128.
    values.iter().map(number).sum()
}

fn field<'a, 'v>(payload: &'v Value<'a>, name: &str) -> Result<&'v Value<'a>, String> {
    payload.get(name).ok_or_else(|| format!("{name}: is missing"))
}

fn short(value: &Value<'_>) -> String {
    value.text().chars().take(SHOWN_CHARS_MAX).collect()
}

/// A program that executes: it reads the payload from its standard input, and prints an output.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Its name and its arguments.
    pub argv: Vec<String>,
    /// Guards that end it with all its children.
    pub guards: Guards,
    /// Parent of the directory that each run gets and that is removed afterwards.
    pub scratch: PathBuf,
    /// Its timeout.
    pub timeout: Duration,
    /// Name of the worker.
    pub worker: String,
}

/// End and output of a program.
struct Ran {
    end: ProcessEnd,
    printed: Vec<u8>,
    is_late: bool,
}

impl Exec {
    async fn run(&self, work: &Work, cancel: &CancellationToken) -> Result<Text, Fault> {
        let workspace = Workspace::of(work, &self.scratch);
        let (prepared, job) = (workspace.clone(), work.assignment.job.clone());
        let no_directory =
            |error: io::Error| Fault::Machine(format!("no directory for {}: {error}", name(&self.argv)));
        blocking(move || prepared.prepare(&job)).await.map_err(no_directory)?;
        let ran = self.run_in(&workspace, work, cancel).await;
        let has_begun = workspace.has_begun();
        if let Err(error) = blocking(move || workspace.remove()).await {
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

    async fn run_in(
        &self,
        workspace: &Workspace,
        work: &Work,
        cancel: &CancellationToken,
    ) -> io::Result<Ran> {
        let (directory, argv) = (workspace.directory.as_path(), workspace.with_input(&self.argv));
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

/// Directory of a program, and the mark that it was started.
#[derive(Clone, Debug)]
struct Workspace {
    directory: PathBuf,
    /// Empty as long as the program was not started: neither its exit code nor what it prints could tell for certain.
    begun: PathBuf,
}

impl Workspace {
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

const SLEEP_MS_MAX: u64 = 3_600_000;
const SHOWN_CHARS_MAX: usize = 40;
/// P16: what a program may print.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
const PAYLOAD: &str = "MUSTER_PAYLOAD_FILE";
const PAYLOAD_FILE: &str = "payload.json";

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: the table above; the same payload gives the same bytes, however it is written.
    #[tokio::test(start_paused = true)]
    async fn each_payload_has_its_output() {
        for (payload, expected) in [
            (r#"{"op":"echo","value":{"b":1.50,"a":[]}}"#, r#"{"value":{"a":[],"b":1.5}}"#),
            (r#"{ "value": 1e16, "op": "echo" }"#, r#"{"value":1e+16}"#),
            (
                r#"{"op":"sum","values":[1,-2,9223372036854775807,9223372036854775807]}"#,
                r#"{"sum":18446744073709551613}"#,
            ),
            (r#"{"op":"sum","values":[]}"#, r#"{"sum":0}"#),
            (
                r#"{"op":"sha256","text":"abc"}"#,
                r#"{"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}"#,
            ),
            (r#"{"op":"sleep","ms":3600000}"#, r#"{"slept_ms":3600000}"#),
            (r#"{"prompt":"hello"}"#, r#"{"echo":{"prompt":"hello"}}"#),
            (r#"{"op":"dance"}"#, r#"{"echo":{"op":"dance"}}"#),
            ("[1, 2]", r#"{"echo":[1,2]}"#),
        ] {
            assert_eq!(run_built_in(payload).await.as_deref(), Ok(expected), "{payload}");
        }
    }

    /// P7, P16: what cannot be done fails, in words.
    #[tokio::test]
    async fn what_cannot_be_done_fails() {
        for (payload, expected) in [
            (r#"{"op":"fail","message":"no"}"#, "no"),
            (r#"{"op":"fail","message":""}"#, "it was told to fail"),
            (r#"{"op":"fail"}"#, "it was told to fail"),
            (r#"{"op":"sum","values":[1.5]}"#, "values: 1.5 is no integer of 64 bits"),
            (r#"{"op":"sum"}"#, "values: is missing"),
            (r#"{"op":"sleep","ms":3600001}"#, "ms: is no integer from 0 to 3600000"),
            (r#"{"op":"sha256","text":1}"#, "text: is no string"),
        ] {
            assert_eq!(run_built_in(payload).await.unwrap_err(), expected, "{payload}");
        }
        assert!(run_built_in("nonsense").await.unwrap_err().starts_with("the payload is no JSON: "));
        let deep = format!("{}1{}", "[".repeat(128), "]".repeat(128));
        assert!(run_built_in(&deep).await.is_err(), "its echo would be too deep");
    }
}
