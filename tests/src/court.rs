//! `muster court` on a directory of its own, whole or role by role, kill -9 included.

use crate::{
    Ended, Process, muster_command,
    process::{run, run_with},
    until,
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    thread,
};
use tempfile::TempDir;

/// A court; its processes end with the value.
#[derive(Debug)]
pub struct Court {
    // Ended before their directory goes.
    roles: Vec<Role>,
    directory: TempDir,
    env: Vec<(String, String)>,
}

/// One process of a court.
#[derive(Debug)]
struct Role {
    args: Vec<String>,
    process: Process,
}

impl Court {
    /// Makes one with this `court.toml` and no general.
    #[must_use]
    pub fn with(settings: &str) -> Self {
        let court = Self::nowhere();
        court.write("court.toml", settings);
        court
    }

    /// The court that `muster court init` makes.
    #[must_use]
    pub fn as_shipped() -> Self {
        let court = Self::nowhere();
        court.output(&["init"]).done();
        court
    }

    /// With more lines in a section of its `court.toml`, such as `("king", "obey_health = true")`.
    #[must_use]
    pub fn section(self, name: &str, lines: &str) -> Self {
        let path = self.path("court.toml");
        let text = fs::read_to_string(&path).unwrap();
        let more = text.replacen(&format!("[{name}]\n"), &format!("[{name}]\n{lines}\n"), 1);
        assert_ne!(more, text, "it has no section {name}");
        fs::write(path, more).unwrap();
        self
    }

    /// A place for one, without anything in it.
    #[must_use]
    pub fn nowhere() -> Self {
        Self { roles: Vec::new(), directory: tempfile::tempdir().unwrap(), env: Vec::new() }
    }

    /// With a variable in the environment of all its processes.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.set_env(name, value);
        self
    }

    /// With a general.
    #[must_use]
    pub fn general(self, name: &str, manifest: &str) -> Self {
        self.write(&format!("generals/{name}.toml"), manifest);
        self
    }

    /// With a script of a soldier, `soldiers/NAME.sh`.
    #[must_use]
    pub fn soldier(self, name: &str, script: &str) -> Self {
        self.write(&format!("soldiers/{name}.sh"), script);
        self
    }

    /// Sets a variable for processes that start from now on.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Writes a file below the home, and its directory.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The court's directory.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("court")
    }

    /// A file or directory below the home.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.home().join(path)
    }

    /// Starts `muster court ARGS`, such as `["run"]` or `["general", "tests"]`, and waits until it has its roles.
    pub fn start(&mut self, args: &[&str]) {
        let mut process = self.spawn(args);
        let said = self.stdout_path(args);
        let begun = until("a role begins", || {
            let has_said = fs::read(&said).unwrap().starts_with(b"court at ");
            has_said.then_some(true).or_else(|| process.ended().map(|_| false))
        });
        assert!(begun, "court {args:?} ended: {}", self.log());
        self.roles.push(Role { args: args.iter().map(|&arg| arg.to_owned()).collect(), process });
    }

    /// Starts it and ends it again before it is ready, or soon after.
    pub fn start_cut_short(&mut self, args: &[&str], after: std::time::Duration) {
        let mut process = self.spawn(args);
        thread::sleep(after);
        process.kill9();
    }

    /// Ends processes as none can prevent: those with these arguments, or all.
    ///
    /// All are killed before the end of any is waited for, so that none works on without the others.
    pub fn kill9(&mut self, args: Option<&[&str]>) {
        let is_meant = |role: &Role| args.is_none_or(|args| role.args == args);
        let (mut killed, kept): (Vec<Role>, Vec<Role>) = self.roles.drain(..).partition(is_meant);
        self.roles = kept;
        killed.iter_mut().for_each(|role| role.process.send_kill9());
        for role in &mut killed {
            role.process.wait();
        }
    }

    /// Asks all to end and waits until they have.
    pub fn terminate(&mut self) -> Vec<ExitStatus> {
        self.roles.iter().for_each(|role| role.process.signal("TERM"));
        self.roles.drain(..).map(|mut role| role.process.wait()).collect()
    }

    /// True if all its processes are there.
    pub fn is_alive(&mut self) -> bool {
        self.roles.iter_mut().all(|role| role.process.ended().is_none())
    }

    /// `muster court ARGS` for this court.
    #[must_use]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = muster_command();
        for name in ["SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "SLACK_DEFAULT_CHANNEL", "GITHUB_TOKEN"] {
            command.env_remove(name);
        }
        command.env_remove("JIRA_EMAIL").env_remove("JIRA_API_TOKEN");
        command.args(["court", "--home"]).arg(self.home()).args(args);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub fn output(&self, args: &[&str]) -> Ended {
        run(&mut self.command(args))
    }

    /// Runs a command to its end, with something to read.
    pub fn output_with(&self, args: &[&str], input: &[u8]) -> Ended {
        run_with(&mut self.command(args), input)
    }

    /// Hands an event in; gives its id.
    #[must_use]
    pub fn emit(&self, event: &Value) -> String {
        self.output_with(&["emit"], event.to_string().as_bytes()).done().stdout.trim_end().to_owned()
    }

    /// Puts a file there in one move, as any program may (C4).
    pub fn hand_in(&self, place: &str, name: &str, bytes: &[u8]) {
        let directory = self.path(place);
        let temporary = directory.join(format!(".tmp-{}-{name}", std::process::id()));
        fs::write(&temporary, bytes).unwrap();
        fs::rename(temporary, directory.join(name)).unwrap();
    }

    /// The names of what lies in a directory, temporary files included; none where it is not there.
    #[must_use]
    pub fn names(&self, place: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(place)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Number of files in a directory.
    #[must_use]
    pub fn count(&self, place: &str) -> usize {
        self.names(place).len()
    }

    /// Every file of a directory, by id.
    #[must_use]
    pub fn files(&self, place: &str) -> Vec<(String, Value)> {
        let ids =
            self.names(place).into_iter().filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()));
        ids.filter_map(|id| Some((id.clone(), self.file(place, &id)?))).collect()
    }

    /// One file, if it is there.
    #[must_use]
    pub fn file(&self, place: &str, id: &str) -> Option<Value> {
        let bytes = fs::read(self.path(place).join(format!("{id}.json"))).ok()?;
        Some(serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{place}/{id}: {error}")))
    }

    /// The task that became of an event, once it is over.
    #[must_use]
    pub fn finished(&self, event: &str) -> Value {
        until(&format!("the end of {event}"), || {
            let event = self.file("queue/events/completed", event)?;
            self.file("queue/tasks/completed", event["dispatch"]["task_id"].as_str()?)
        })
    }

    /// Result of a task.
    #[must_use]
    pub fn result(&self, task: &Value) -> Value {
        self.file("state/results", task["id"].as_str().unwrap()).unwrap()
    }

    /// Everything its processes logged, over all their starts.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log_path()).unwrap_or_default()).into_owned()
    }

    /// Output of a process since its last start.
    #[must_use]
    pub fn stdout(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&fs::read(self.stdout_path(args)).unwrap_or_default()).into_owned()
    }

    /// Processes that soldiers of this court left behind, recognised by their environment.
    #[must_use]
    pub fn soldiers(&self) -> Vec<String> {
        let mark = format!("MUSTER_TASK_PATH={}", self.home().display());
        let is_ours = |path: &Path| {
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|window| window == mark.as_bytes())
        };
        let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
        let ours = all.filter(|path| is_ours(path));
        ours.map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default()).collect()
    }

    fn spawn(&self, args: &[&str]) -> Process {
        let mut command = self.command(args);
        command.stdout(fs::File::create(self.stdout_path(args)).unwrap());
        Process::start("the court", self.log_path(), command)
    }

    fn log_path(&self) -> PathBuf {
        self.directory.path().join("court.log")
    }

    fn stdout_path(&self, args: &[&str]) -> PathBuf {
        self.directory.path().join(format!("{}.out", args.join("-")))
    }
}
