//! Workflows of the `command` driver: a directory with devices and programs, and what becomes of steps.

use crate::agent::{
    Backend, job,
    counts, ended, enrolled, submit, told,
};
use muster_tests::{AgentSetup, Server, until};
use serde_json::json;
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

/// N11, N22: each way to bear a failure, as programs and the server see it.
#[test]
fn failures_are_borne_as_the_workflow_says() {
    let keys = |policy: &str| format!("timeoutMs = 30000\nonFailure = {policy}");
    // Notes that it ran, and fails until it has so often.
    let script = "echo >>@/$1; [ $(wc -l <@/$1) -gt $2 ]";
    let flaky = |id: &str, failures: &str, policy: &str| {
        step_with(id, &["sh", "-c", script, "sh", id, failures], &keys(policy))
    };
    let steps = [
        flaky("SKIPPED", "1", "'continue'"),
        flaky("REPEATED", "2", "'retry'\nretryCount = 3"),
        flaky("FINE", "0", "'stop'"),
        flaky("LAST", "9", "'stop'"),
        flaky("NEVER", "0", "'stop'"),
    ];
    let workshop = Workshop::new(&["d1"]).workflow("policies_v1", &steps.concat());
    let server = Server::start();
    let _agent = workshop.equip(AgentSetup::of(&server, "PC-01")).start();
    enrolled(&server, "PC-01", 1);
    let run = server.submit(&json!({"workflow_id": "policies_v1", "max_attempts": 1}));
    assert_eq!(counts(&ended(&server, &run)), (0, 1));
    assert_eq!(
        told(&server, server.rows(&run)[0]["id"].as_str().unwrap()),
        [
            "task_started",
            "SKIPPED running",
            "SKIPPED done",
            "REPEATED running",
            "REPEATED done",
            "FINE running",
            "FINE done",
            "LAST running",
            "task_finished failed"
        ]
    );
    let ran = |id: &str| workshop.read(id).lines().count();
    assert_eq!(["SKIPPED", "REPEATED", "FINE", "LAST", "NEVER"].map(ran), [1, 3, 1, 1, 0]);
}

/// N22: a value of a run arrives in a program as it is, whatever a shell would make of it; nothing is read twice.
#[test]
fn values_arrive_as_they_are() {
    let words = ["sh", "-c", "printf '%s\\0' \"$@\" >@/words; env -0 >@/environment", "sh"];
    let values = ["{{TEXT}}", "a {{NUMBER}}{{TABLE}}", "{{device_id}}", "-{{EMPTY}}-"];
    let workshop =
        Workshop::new(&["d1"]).workflow("words_v1", &step("WORDS", &[&words[..], &values].concat()));
    let text = format!(
        "a  'b' \"c\" $(touch {0}) `touch {0}`; touch {0}\n\\ {{{{OTHER}}}} ünï",
        workshop.path("pwned").display()
    );
    let params = json!({"TEXT": text, "OTHER": "never", "NUMBER": 1.5, "TABLE": {"x": ["y"]}, "EMPTY": "",
        "device_id": "another"});
    let server = Server::start();
    let _agent = workshop.equip(AgentSetup::of(&server, "PC-01")).start();
    enrolled(&server, "PC-01", 1);
    let run = submit(&server, "words_v1", params.clone());
    assert_eq!(counts(&ended(&server, &run)), (1, 0));
    let expected = [&*text, "a 1.5{\"x\":[\"y\"]}", "d1", "--", ""];
    assert_eq!(workshop.read("words").split('\0').collect::<Vec<_>>(), expected);
    assert!(!workshop.path("pwned").exists());
    let environment = workshop.read("environment");
    let handed = environment.split('\0').find_map(|line| line.strip_prefix("MUSTER_PARAMS=")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(handed).unwrap(), params);
}

/// N22: what cannot be handed over is the task's failure, not the agent's.
#[test]
fn impossible_values_fail_the_step() {
    let workshop = Workshop::new(&["d1"]).workflow("words_v1", &step("WORDS", &["echo", "{{TEXT}}"]));
    let backend = Backend::start();
    let _agent = workshop.equip(AgentSetup::new(&backend.url(), "PC-01")).start();
    for (task, params, error) in [
        ("nul", json!({"TEXT": "a\0b"}), "WORDS: the parameter TEXT holds a zero byte"),
        ("missing", json!({"TEXTS": "a"}), "TEXT"),
        ("none", json!(null), "TEXT"),
        ("strange", json!(["TEXT"]), "TEXT"),
        ("long", json!({"TEXT": "x".repeat(200_000)}), "WORDS: cannot start echo: "),
        ("fine", json!({"TEXT": "x"}), ""),
    ] {
        let mut job = job(task, "d1", "words_v1");
        job["params"] = params;
        backend.offer(job);
        let told = backend.finished(task);
        let failed = (told["failure_reason"].as_str(), told["error_message"].as_str());
        match error {
            "" => assert_eq!(failed, (None, None), "{task}"),
            error => assert!(
                failed.0 == Some("unknown") && failed.1.unwrap().contains(error),
                "{task}: {failed:?}"
            ),
        }
    }
}

/// N22: a run of a workflow that is not here fails, and says what is.
#[test]
fn an_unknown_workflow_is_named() {
    let workshop = Workshop::new(&["d1"]).workflow("words_v1", &step("WORDS", &["true"]));
    let backend = Backend::start();
    let _agent = workshop.equip(AgentSetup::new(&backend.url(), "PC-01")).start();
    backend.offer(job("t1", "d1", "word_v1"));
    let told = backend.finished("t1");
    let error = "no workflow \"word_v1\" here; there is login_settings_screenshot_v1, words_v1";
    assert_eq!((&told["failure_reason"], &told["error_message"]), (&json!("unknown"), &json!(error)));
}

/// N22, I11: a mistake in a workflow stops the start, with the file, the step, the key and what was probably meant.
#[test]
fn a_mistake_stops_the_start() {
    let good = step("WORK", &["true"]);
    for (steps, complaint) in [
        (good.replace("timeoutMs", "timeoutMS"), "step WORK: unknown key timeoutMS; did you mean timeoutMs?"),
        (good.replace("'command'", "'comand'"), "step WORK: kind must be one of"),
        (format!("{good}onFailure = 'retry'\n"), "step WORK: "),
        (format!("{good}{good}"), "WORK"),
        (good.replace("\"true\"", "\"{{x\""), "step WORK: {{ without }}"),
        ("steps = 1".to_owned(), "steps"),
        ("[[steps]".to_owned(), "line 2"),
    ] {
        let workshop = Workshop::new(&["d1"]).workflow("wrong_v1", &steps);
        let output = workshop.equip(AgentSetup::new("http://127.0.0.1:1", "PC-01")).output();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("wrong_v1.toml") && said.contains(complaint),
            "{complaint:?} is not in: {said}"
        );
    }
    let setup = AgentSetup::new("http://127.0.0.1:1", "PC-01").args(&["--workflows", "/nonexistent"]);
    let output = setup.output();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("/nonexistent"));
}
