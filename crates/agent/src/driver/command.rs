//! Any program, one per step (N23): for devices that nothing else reaches.

mod device_file;

pub use device_file::DeviceFile;

use super::{Cause, ProducedFile, StepCall, StepFailure, StepOutput};
use crate::Job;
use muster_worker_kit::process::{Ending, Guards, ProcessEnd, Program, base_environment};
use std::{ffi::OsString, path::Path};

/// Runs programs.
#[derive(Clone, Debug)]
pub struct CommandDriver {
    /// What ends them.
    pub guards: Guards,
}

impl CommandDriver {
    /// Runs a step's program in the task's directory, and takes what it prints and the file it leaves there.
    ///
    /// # Errors
    /// It could not be started, or ended with another code than 0.
    pub async fn perform(&self, call: &StepCall<'_>, job: &Job) -> Result<StepOutput, StepFailure> {
        let argv = &call.step.command;
        let environment = environment(call, job);
        let params = call.scratch.join("params.json");
        let written = tokio::fs::write(&params, job.params.as_bytes()).await;
        written.map_err(|error| StepFailure::other(format!("{}: {error}", params.display())))?;
        let program = Program { argv, directory: call.scratch, environment };
        let end = self.guards.run(&program, call.cancel).await;
        let end = end.map_err(|error| StepFailure::other(format!("cannot start {}: {error}", name(argv))))?;
        match end.ending {
            Ending::Exited(0) => {
                Ok(StepOutput { text: Some(text(&end.stdout)), file: produced(call.scratch) })
            }
            Ending::Exited(code) => Err(StepFailure::other(complaint(name(argv), code, &end))),
            Ending::Cancelled => Err(StepFailure { cause: Cause::Cancelled, message: last_lines(&end) }),
        }
    }
}

/// A clean environment, and what the program must know of its task.
fn environment(call: &StepCall<'_>, job: &Job) -> Vec<(OsString, OsString)> {
    let mut environment = base_environment();
    let attempt = call.attempt.to_string();
    let mut own = vec![
        ("MUSTER_DEVICE_ID", call.device),
        ("MUSTER_RUNTIME_HANDLE", call.handle),
        ("MUSTER_RUN_ID", &job.run),
        ("MUSTER_TASK_ID", &job.task),
        ("MUSTER_ATTEMPT", &attempt),
    ];
    if job.params.len() <= PARAMS_BYTES_MAX {
        own.push(("MUSTER_PARAMS", &job.params));
    }
    environment.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
    environment.push(("MUSTER_SCRATCH".into(), call.scratch.into()));
    environment
}

/// The first of the files that a program may leave for the upload.
fn produced(scratch: &Path) -> Option<ProducedFile> {
    ARTIFACTS.iter().find_map(|(file, kind, content_type)| {
        let path = scratch.join(file);
        // A link could make the agent upload what is not the task's.
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let produced =
            || ProducedFile { path, kind: (*kind).to_owned(), content_type: (*content_type).to_owned() };
        is_file.then(produced)
    })
}

/// Names the program and no word more: the others may be what a run's parameters keep secret.
fn complaint(name: &str, code: i32, end: &ProcessEnd) -> String {
    let said = last_lines(end);
    if said.is_empty() {
        format!("{name} ended with {code}")
    } else {
        format!("{name} ended with {code}: {said}")
    }
}

fn last_lines(end: &ProcessEnd) -> String {
    let (stderr, stdout) = (text(&end.stderr), text(&end.stdout));
    let said = if stderr.is_empty() { stdout } else { stderr };
    let lines: Vec<&str> = said.lines().rev().take(COMPLAINT_LINES_MAX).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn name(argv: &[String]) -> &str {
    argv.first().map_or("", String::as_str)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Linux takes no longer text in an environment than 128 KiB.
const PARAMS_BYTES_MAX: usize = 100 << 10;
const COMPLAINT_LINES_MAX: usize = 5;
const ARTIFACTS: &[(&str, &str, &str)] = &[
    ("artifact.png", "screenshot", "image/png"),
    ("artifact.jpg", "screenshot", "image/jpeg"),
    ("artifact.json", "result", "application/json"),
    ("artifact.txt", "log", "text/plain"),
];
