//! The file that lists the devices of the command driver.

use crate::driver::StepFailure;
use crate::workflow::{
    Fields, Place, Problem, Step, StepKind, WorkflowError, check_step, is_step_id, read_table,
};
use crate::{Attached, Text};
use muster_model::Attachment;
use serde_json::Map;
use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet, fs, path::PathBuf, time::Duration};
use toml::{Table, Value};

/// The file that lists the devices of the command driver, and may name a program per step.
///
/// It is read anew whenever it is asked, so that an edit counts at once. Its format stands in `docs/workflows.md`.
#[derive(Clone, Debug)]
pub struct DeviceFile {
    path: PathBuf,
}

/// What stands in the file.
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
        let documented = include_str!("../../../../../docs/workflows.md");
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
