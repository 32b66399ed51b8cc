//! Workflows, devices and programs of a test, in a directory of its own.

use muster_tests::{AgentSetup, until};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A directory with everything that an agent with the `command` driver needs.
pub(crate) struct Workshop {
    directory: TempDir,
}

impl Workshop {
    /// One with devices of these names, and no workflow yet.
    pub(crate) fn new(devices: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("workflows")).unwrap();
        let listed = devices.iter().map(|name| format!("[[devices]]\ndevice_id = '{name}'\n"));
        fs::write(directory.path().join("devices.toml"), listed.collect::<String>()).unwrap();
        Self { directory }
    }

    /// Adds a workflow with steps, each `ID = [program, …]` with some more keys, and half a minute for all of them.
    pub(crate) fn workflow(self, id: &str, steps: &str) -> Self {
        let text = format!("timeoutMs = 30000\n{}", steps.replace("@/", self.path("").to_str().unwrap()));
        fs::write(self.workflows().join(format!("{id}.toml")), text).unwrap();
        self
    }

    /// A file in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn workflows(&self) -> PathBuf {
        self.path("workflows")
    }

    /// Writes a file there.
    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    /// What a program wrote into a file there; nothing if it has not.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Waits until a program has written a line into a file there, and gives the lines.
    pub(crate) fn lines(&self, name: &str, count: usize) -> Vec<String> {
        until(&format!("{count} lines in {name}"), || {
            let text = self.read(name);
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            (lines.len() >= count && text.ends_with('\n')).then_some(lines)
        })
    }

    /// An agent's setup with the devices and workflows here.
    pub(crate) fn equip(&self, setup: AgentSetup) -> AgentSetup {
        let devices = format!("command:{}", self.path("devices.toml").display());
        setup.devices(&devices).args(&["--workflows", text(&self.workflows())])
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A step that runs a program, with half a minute of time.
pub(crate) fn step(id: &str, command: &[&str]) -> String {
    step_with(id, command, "timeoutMs = 30000")
}

/// A step that runs a program, with more keys.
pub(crate) fn step_with(id: &str, command: &[&str], keys: &str) -> String {
    format!("[[steps]]\nid = '{id}'\nkind = 'command'\ncommand = {command:?}\n{keys}\n")
}
