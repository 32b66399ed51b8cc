//! Workflows of the `command` driver: a directory with devices and programs, what becomes of steps, and every reason a task can
//! fail for, each from its real cause (N13).

use crate::agent::{Backend, CALLBACK, SHIPPED, counts, ended, enrolled, job, submit};
use muster_tests::{
    AdbDevice, AdbServer, Agent, AgentSetup, FAILURE_REASONS, Server, VendorReply, VendorServer, until,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
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

    /// Content that a program wrote into a file there; empty if it has not.
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
        output.refused(2, complaint);
        output.refused(2, "wrong_v1.toml");
    }
    let setup = AgentSetup::new("http://127.0.0.1:1", "PC-01").args(&["--workflows", "/nonexistent"]);
    setup.output().refused(2, "/nonexistent");
}

/// A failed task: what is expected to be its reason and part of its error, and what was told of it.
struct Failed {
    reason: &'static str,
    error: &'static str,
    told: Value,
}

/// N13: each reason has a cause that brings it about, and the error says what happened.
#[test]
fn every_reason_has_a_cause() {
    let failed = [on_phones(), without_adb(), at_the_vendors(), in_programs(), with_reports_refused()];
    let mut seen = BTreeSet::new();
    for Failed { reason, error, told } in failed.into_iter().flatten() {
        assert_eq!((&told["status"], &told["failure_reason"]), (&json!("failed"), &json!(reason)), "{told}");
        let message = told["error_message"].as_str().unwrap();
        assert!(message.contains(error), "{reason}: {message}");
        assert_eq!(told.get("artifact"), None);
        seen.insert(reason);
    }
    assert_eq!(seen, FAILURE_REASONS.into());
}

fn on_phones() -> Vec<Failed> {
    let backend = Backend::start();
    let adb = AdbServer::start();
    let (locked, gone, asleep) =
        (AdbDevice::locked("LOCKED"), AdbDevice::start("GONE"), AdbDevice::start("ASLEEP"));
    let (blind, good, silent) = (AdbDevice::start("BLIND"), AdbDevice::start("GOOD"), AdbDevice::silent());
    let handles = [&locked, &gone, &blind, &good].map(|device| adb.connect(device));
    blind.set_screen(b"no picture");
    gone.vanish();
    let [off, booting] = [&silent, &asleep].map(|device| adb.connect_emulator(device));
    for (handle, state) in [
        (&handles[0], "unauthorized"),
        (&handles[1], "offline"),
        (&handles[2], "device"),
        (&handles[3], "device"),
        (&off, "offline"),
        (&booting, "device"),
    ] {
        adb.wait_for(handle, state);
    }
    let setup = AgentSetup::new(&backend.url(), "PC-01").devices("adb");
    let _agent = setup.env("ANDROID_ADB_SERVER_PORT", &adb.port().to_string()).start();
    let cases = [
        ("needs_usb_authorization", &*handles[0], "PREFLIGHT: 127.0.0.1:"),
        ("adb_offline", &handles[1], "is offline"),
        ("screenshot_error", "BLIND", "SCREENSHOT: screencap gave no PNG: it begins with \"no picture\""),
        ("upload_error", "GOOD", "UPLOAD: the request for an address was answered 404: nothing is here"),
        ("emulator_not_online", &off, "is offline"),
        ("emulator_not_booted", &booting, "has not finished booting"),
    ];
    execute(&backend, &cases.map(|(reason, device, error)| (reason, job(reason, device, SHIPPED), error)))
}

fn without_adb() -> Vec<Failed> {
    let backend = Backend::start();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let setup = AgentSetup::new(&backend.url(), "PC-02").devices("adb").env("PATH", "/nonexistent");
    let _agent = setup.env("ANDROID_ADB_SERVER_PORT", &free.to_string()).start();
    execute(&backend, &[("adb_missing", job("adb_missing", "SER1", SHIPPED), "adb cannot be run")])
}

fn at_the_vendors() -> Vec<Failed> {
    let backend = Backend::start();
    let vendor = VendorServer::start(|request| match request["action"].as_str() {
        Some("list") => VendorReply::Text(json!({"code": 10000, "data": [{"serial": "SER1"}]}).to_string()),
        Some("hang up") => VendorReply::Crash,
        _ => VendorReply::Text(json!({"code": 10001, "message": "device is busy"}).to_string()),
    });
    let asks = |action: &str| {
        format!("[[steps]]\nid = 'ASK'\nkind = 'vendor'\naction = '{action}'\ntimeoutMs = 9000")
    };
    let workshop =
        Workshop::new(&[]).workflow("hang_up_v1", &asks("hang up")).workflow("refuse_v1", &asks("refuse"));
    let setup = AgentSetup::new(&backend.url(), "PC-03").devices(&format!("vendor:{}", vendor.url()));
    let _agent = setup.args(&["--workflows", workshop.workflows().to_str().unwrap()]).start();
    execute(
        &backend,
        &[
            ("vendor_ws_error", job("vendor_ws_error", "SER1", "hang_up_v1"), "lost before it answered"),
            (
                "vendor_command_error",
                job("vendor_command_error", "SER1", "refuse_v1"),
                "10001: device is busy",
            ),
        ],
    )
}

fn in_programs() -> Vec<Failed> {
    let backend = Backend::start();
    let critical = "timeoutMs = 9000\nonFailure = 'continue'\nparams = { critical = true }";
    let (_workshop, _agent) = programs(
        &backend,
        &[
            ("bootstrap_v1", step_with("BOOTSTRAP", &["false"], critical)),
            ("login_v1", step_with("LOGIN_FLOW", &["sleep", "60"], "timeoutMs = 300")),
            ("broken_v1", step("WORK", &["sh", "-c", "echo broken >&2; exit 3"])),
        ],
    );
    let case = |reason, workflow, error| (reason, job(reason, "d1", workflow), error);
    execute(
        &backend,
        &[
            case("bootstrap_critical_failed", "bootstrap_v1", "BOOTSTRAP: false ended with 1"),
            case("login_flow_timeout", "login_v1", "timeout: LOGIN_FLOW took longer than 300 ms"),
            case("unknown", "broken_v1", "WORK: sh ended with 3: broken"),
        ],
    )
}

fn with_reports_refused() -> Vec<Failed> {
    let backend = Backend::start();
    backend.rule(|path, body| {
        let told = &body["payload"];
        let is_it = path == CALLBACK && told["task_id"] == "callback_error" && told["step"] == "WORK";
        is_it.then(|| (422, json!({"title": "Unprocessable", "detail": "no such step"})))
    });
    let (_workshop, _agent) = programs(&backend, &[("long_v1", step("WORK", &["sleep", "60"]))]);
    let job = job("callback_error", "d1", "long_v1");
    execute(&backend, &[("callback_error", job, "the backend refused it with 422: no such step")])
}

/// An agent with one device and workflows of programs.
fn programs(backend: &Backend, workflows: &[(&str, String)]) -> (Workshop, Agent) {
    let empty = Workshop::new(&["d1"]);
    let workshop = workflows.iter().fold(empty, |workshop, (id, steps)| workshop.workflow(id, steps));
    let agent = workshop.equip(AgentSetup::new(&backend.url(), "PC-04")).start();
    (workshop, agent)
}

/// Hands out jobs whose task is named after the reason that is expected, and waits for their ends.
fn execute(backend: &Backend, cases: &[(&'static str, Value, &'static str)]) -> Vec<Failed> {
    cases.iter().for_each(|(_, job, _)| backend.offer(job.clone()));
    let ends =
        cases.iter().map(|(reason, _, error)| Failed { reason, error, told: backend.finished(reason) });
    ends.collect()
}
