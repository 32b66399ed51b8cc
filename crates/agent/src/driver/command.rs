//! Any program, one per step (N23): for devices that nothing else reaches.

use super::{Cause, ProducedFile, StepCall, StepFailure, StepOutput};
use crate::{
    Attached, Job, Text,
    workflow::{Fields, Place, Problem, Step, StepKind, WorkflowError, check_step, is_step_id, read_table},
};
use muster_model::Attachment;
use muster_worker_kit::process::{Ending, Guards, ProcessEnd, Program, base_environment};
use serde_json::Map;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use toml::{Table, Value};

/// Runs programs.
#[derive(Clone, Debug)]
pub struct CommandDriver {
    /// Guards that end them.
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

/// The file that lists the devices of the command driver, and may name a program per step.
///
/// It is read anew whenever it is asked, so that an edit counts at once. Its format stands in `docs/workflows.md`.
#[derive(Clone, Debug)]
pub struct DeviceFile {
    path: PathBuf,
}

/// Content of the file.
#[derive(Debug, PartialEq)]
struct Contents {
    devices: Vec<Attached>,
    programs: BTreeMap<String, Vec<String>>,
}

impl DeviceFile {
    /// Reads nothing yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Lists the devices.
    ///
    /// # Errors
    /// When the file cannot be read or has a mistake.
    pub fn devices(&self) -> Result<Vec<Attached>, StepFailure> {
        Ok(self.read()?.devices)
    }

    /// The step with this file's program for it, if it names one.
    ///
    /// # Errors
    /// When the file cannot be read or has a mistake.
    pub fn adapted<'a>(&self, step: &'a Step) -> Result<Cow<'a, Step>, StepFailure> {
        let program = self.read()?.programs.remove(&step.id);
        Ok(program.map_or(Cow::Borrowed(step), |command| {
            Cow::Owned(Step { kind: StepKind::Command, command, action: None, ..step.clone() })
        }))
    }

    fn read(&self) -> Result<Contents, StepFailure> {
        let file = self.path.display().to_string();
        let text =
            fs::read_to_string(&self.path).map_err(|error| StepFailure::other(format!("{file}: {error}")))?;
        parse(&file, &text).map_err(|error| StepFailure::other(error.to_string()))
    }
}

fn parse(file: &str, text: &str) -> Result<Contents, WorkflowError> {
    let table = read_table(file, text)?;
    let fields = Fields { place: Place::file(file), table: &table };
    fields.only(&["devices", "steps"])?;
    Ok(Contents { devices: devices(&fields)?, programs: programs(&fields)? })
}

fn devices(fields: &Fields<'_>) -> Result<Vec<Attached>, WorkflowError> {
    let Some(listed) = fields.table.get("devices") else { return Ok(Vec::new()) };
    let tables =
        listed.as_array().and_then(|items| items.iter().map(Value::as_table).collect::<Option<Vec<_>>>());
    let tables = tables.ok_or_else(|| fields.contradiction("devices must be [[devices]]"))?;
    let devices = tables.into_iter().map(|table| device(fields, table)).collect::<Result<Vec<_>, _>>()?;
    let mut known = BTreeSet::new();
    match devices.iter().find(|device| !known.insert(Text::clone(&device.device))) {
        Some(device) => Err(fields.contradiction(format!("{} is listed twice", device.device))),
        None => Ok(devices),
    }
}

fn device(fields: &Fields<'_>, table: &Table) -> Result<Attached, WorkflowError> {
    let fields = Fields { place: fields.place.clone(), table };
    fields.only(&["device_id", "runtime_handle", "status"])?;
    let device: Text = fields.required_text("device_id")?.into();
    let handle = fields.text("runtime_handle")?.map_or_else(|| device.clone(), Into::into);
    let attachment = fields.word("status", STATUSES)?.unwrap_or(Attachment::Online);
    Ok(Attached { device, handle, attachment })
}

fn programs(fields: &Fields<'_>) -> Result<BTreeMap<String, Vec<String>>, WorkflowError> {
    let Some(steps) = fields.table.get("steps") else { return Ok(BTreeMap::new()) };
    let table = steps.as_table().ok_or_else(|| fields.unfit("steps", "a table of programs by step id"))?;
    let steps = Fields { place: fields.place.clone(), table };
    table.keys().map(|id| Ok((id.clone(), program(&steps, id)?))).collect()
}

fn program(steps: &Fields<'_>, id: &str) -> Result<Vec<String>, WorkflowError> {
    if !is_step_id(id) {
        return Err(steps.error(Problem::UnknownKey { key: format!("steps.{id}"), near: None }));
    }
    let command = steps.texts(id)?.unwrap_or_default();
    let place = Place { step: Some(id.to_owned()), ..steps.place.clone() };
    let step = Step {
        id: id.to_owned(),
        kind: StepKind::Command,
        command: command.clone(),
        action: None,
        params: Map::new(),
        timeout: Duration::ZERO,
        on_failure: crate::workflow::OnFailure::Stop,
        retries: 0,
    };
    check_step(&Fields { place, table: steps.table }, &step)?;
    Ok(command)
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
const STATUSES: &[(&str, Attachment)] = &[
    ("online", Attachment::Online),
    ("offline", Attachment::Offline),
    ("unauthorized", Attachment::Unauthorized),
    ("error", Attachment::Error),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// N23: devices and programs are read; handle and status have defaults.
    #[test]
    fn devices_and_programs_are_read() {
        let text = "
            [[devices]]
            device_id = 'kiosk-1'
            [[devices]]
            device_id = 'kiosk-2'
            runtime_handle = '10.0.0.7'
            status = 'unauthorized'
            [steps]
            PREFLIGHT = ['ping', '-c', '1', '{{runtime_handle}}']";
        let contents = parse("d.toml", text).unwrap();
        let listed =
            |device: &Attached| format!("{} {} {}", device.device, device.handle, device.attachment.as_str());
        let devices: Vec<_> = contents.devices.iter().map(listed).collect();
        assert_eq!(devices, ["kiosk-1 kiosk-1 online", "kiosk-2 10.0.0.7 unauthorized"]);
        assert_eq!(contents.programs["PREFLIGHT"], ["ping", "-c", "1", "{{runtime_handle}}"]);
    }

    /// N23: the example of the documentation is a device file, as it stands there.
    #[test]
    fn the_documented_example_is_a_device_file() {
        let documented = include_str!("../../../../docs/workflows.md");
        let example = documented.split("```toml").last().and_then(|rest| rest.split("```").next()).unwrap();
        let contents = parse("docs/workflows.md", example).unwrap();
        assert_eq!((contents.devices.len(), contents.programs.len()), (2, 4));
    }

    /// N23: mistakes are named.
    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("device = 1", "d.toml: unknown key device; did you mean devices?"),
            ("devices = 1", "d.toml: devices must be [[devices]]"),
            ("[[devices]]\ndeviceid = 1", "d.toml: unknown key deviceid; did you mean device_id?"),
            ("[[devices]]\nstatus = 'online'", "d.toml: device_id is missing"),
            ("[[devices]]\ndevice_id = 'a'\n[[devices]]\ndevice_id = 'a'", "d.toml: a is listed twice"),
            (
                "[[devices]]\ndevice_id = 'a'\nstatus = 'onlin'",
                "d.toml: status must be one of online, offline, unauthorized, error, not \"onlin\"; did you mean online?",
            ),
            ("[steps]\nlogin = ['x']", "d.toml: unknown key steps.login"),
            (
                "[steps]\nLOGIN = 'x'",
                "d.toml: LOGIN must be a list of texts, such as [\"get-state\"], not \"x\"",
            ),
            ("[steps]\nLOGIN = ['{{x']", "d.toml, step LOGIN: {{ without }} in \"{{x\""),
        ] {
            assert_eq!(parse("d.toml", text).unwrap_err().to_string(), expected);
        }
    }

    /// N23: an edit of the file counts at once, and a file that is gone is no empty one.
    #[test]
    fn the_file_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let file = DeviceFile::new(directory.path().join("d.toml"));
        assert!(file.devices().unwrap_err().message.contains("No such file"));
        for names in [&["a"][..], &["a", "b"], &[]] {
            let text: String =
                names.iter().map(|name| format!("[[devices]]\ndevice_id = '{name}'\n")).collect();
            fs::write(&file.path, text).unwrap();
            let found: Vec<_> =
                file.devices().unwrap().iter().map(|device| device.device.to_string()).collect();
            assert_eq!(found, names);
        }
    }
}
