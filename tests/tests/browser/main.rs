//! The dashboard as people use it: a real Chromium before a real server with a living fleet.
//!
//! One test for each spec of `tests/browser`, each with a stage of its own, so that none waits for another and no order
//! matters. Screenshots are kept in `target/screenshots`, or where `MUSTER_SHOTS` says.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use muster_tests::{Agent, Court, PoolWorker, Server, ServerSetup, SimWorker, wait_until};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// One test for each spec: its name, the stage it is played on, and the file if that goes by another name.
macro_rules! specs {
    ($($(#[$about:meta])* $name:ident on $stage:expr $(, as $spec:literal)?;)*) => {$(
        $(#[$about])*
        #[test]
        fn $name() {
            #[allow(unused_variables, reason = "most specs are named as their test is")]
            let spec = stringify!($name);
            $(let spec = $spec;)?
            $stage.play(spec);
        }
    )*};
}

specs! {
    audit on Stage::new();
    court on Stage::new().court();
    /// Without a court, the page says how to connect one.
    no_court on Stage::new(), as "court";
    fleet on Stage::new().devices();
    jobs on Stage::new().pool();
    login on Stage::new();
    overview on Stage::new().devices();
    /// The feed is followed without a gap over a kill -9 of the server.
    resume on Stage::new().devices();
    roles on Stage::new().everything();
    runs on Stage::new().devices();
    schedules on Stage::new();
    sessions on Stage::new().frames();
    settings on Stage::new();
    users on Stage::new();
    /// Q16: the page says the sentence, in three languages, and leads to what blocks.
    why on Stage::new().devices().pool();
    workers on Stage::new().frames().pool();
    /// Makes `docs/images` anew.
    #[ignore = "changes the documentation: run it when the pages look different"]
    pictures on Stage::new().many_devices().frames().pool();
}

/// Runs the JavaScript tests of code that needs no page: layouts, filters, receipts, texts.
#[test]
fn modules() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dashboard");
    let tests = std::fs::read_dir(directory.join("tests/js")).unwrap().map(|entry| entry.unwrap().path());
    let tests: Vec<_> = tests.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
    assert!(!tests.is_empty());
    let output = Command::new("node").arg("--test").args(&tests).current_dir(directory).output();
    let output = output.unwrap_or_else(|error| panic!("node cannot be run ({error}): ./test installs it"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Every page in every language. One test for each language, so that they are looked at side by side.
mod pages {
    use super::Stage;

    #[test]
    fn in_english() {
        Stage::new().everything().play_in("pages", "en");
    }

    #[test]
    fn in_korean() {
        Stage::new().everything().play_in("pages", "ko");
    }

    #[test]
    fn in_portuguese() {
        Stage::new().everything().play_in("pages", "pt");
    }
}

/// A server with users of every role, and what was added; all of it ends with the value.
struct Stage {
    // Ended in this order: what calls the server goes first.
    agents: Vec<Agent>,
    sim_workers: Vec<SimWorker>,
    pool_workers: Vec<PoolWorker>,
    court: Option<Court>,
    server: Server,
    directory: TempDir,
}

impl Stage {
    fn new() -> Self {
        Self::with_court(None)
    }

    fn with_court(court: Option<Court>) -> Self {
        let mut setup = ServerSetup::new(&[("MUSTER_OPERATIONS__SLOTS", "20")]).fixed_port();
        if let Some(court) = &court {
            setup = setup.args(&["--court", court.home().to_str().unwrap()]);
        }
        let server = setup.start();
        for (name, role) in USERS {
            server.add_user(name, role);
        }
        let directory = tempfile::tempdir().unwrap();
        Self { agents: vec![], sim_workers: vec![], pool_workers: vec![], court, server, directory }
    }

    /// With a court as it ships, in which questions are open.
    fn court(self) -> Self {
        assert!(
            self.agents.is_empty() && self.court.is_none(),
            "a server is told of its court when it starts"
        );
        let mut court = Court::as_shipped();
        court.start(&["run"]);
        let stage = Self::with_court(Some(court));
        stage.ask();
        stage
    }

    /// With two agents that have simulated devices, and one whose two devices leave pictures behind.
    fn devices(mut self) -> Self {
        let kiosks = self.directory.path().join("kiosks.toml");
        let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/screen.png");
        std::fs::write(&kiosks, KIOSKS.replace("PICTURE", picture.to_str().unwrap())).unwrap();
        let kiosks = format!("command:{}", kiosks.display());
        for (node, devices) in [("PC-01", "simulated:24"), ("PC-02", "simulated:7@101"), ("PC-03", &kiosks)] {
            self.agents.push(Agent::start(&self.server, node, devices));
        }
        wait_until("all devices are there", || self.count("/api/devices?limit=100", "devices") == 33);
        self
    }

    /// With a dozen PCs full of simulated devices.
    fn many_devices(mut self) -> Self {
        for number in 1..=12 {
            let devices = if number == 12 { 64 } else { 100 };
            let kind = format!("simulated:{devices}@{}", 100 * number + 1);
            self.agents.push(Agent::start(&self.server, &format!("PC-{number:02}"), &kind));
        }
        wait_until("all PCs are there", || self.count("/api/pcs", "pcs") == 12);
        self
    }

    /// With two simulation workers.
    fn frames(mut self) -> Self {
        for worker in ["W1", "W2"] {
            self.sim_workers.push(SimWorker::start(&self.server, worker, &["--fps", "60"]));
        }
        wait_until("both have registered", || self.count("/api/v1/workers", "workers") == 2);
        self
    }

    /// With two workers of the pool, both of the owner olga.
    fn pool(mut self) -> Self {
        let url = self.server.anonymous().url();
        for name in ["gpu-1", "gpu-2"] {
            self.pool_workers.push(PoolWorker::start(&url, self.directory.path(), name, &[]));
        }
        wait_until("both have joined", || self.count("/api/pool/workers", "workers") == 2);
        self
    }

    fn everything(self) -> Self {
        self.court().devices().frames().pool()
    }

    /// Has the court ask a question, and waits until it stands in the inbox.
    fn ask(&self) {
        let court = self.court.as_ref().unwrap();
        let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
        assert_eq!(court.finished(&event)["status"], "needs_human");
    }

    /// Plays a spec in all languages.
    fn play(self, spec: &str) {
        play(self, spec, None);
    }

    /// Plays a spec in one language.
    fn play_in(self, spec: &str, language: &str) {
        play(self, spec, Some(language));
    }

    /// Does what a spec cannot do itself.
    fn obey(&mut self, request: &str) {
        match request {
            "kill server" => self.server.kill9(),
            "start server" => self.server.restart(),
            "ask" => self.ask(),
            unknown => panic!("nobody knows how to {unknown:?}"),
        }
    }

    /// The court's directory, if there is one.
    fn court_home(&self) -> Option<PathBuf> {
        self.court.as_ref().map(Court::home)
    }

    fn count(&self, target: &str, list: &str) -> usize {
        let answer: Value = self.server.admin().get(target).expect(200);
        answer[list].as_array().unwrap().len()
    }
}

/// Users and their roles.
const USERS: [(&str, &[&str]); 6] = [
    ("vera", &["VIEWER"]),
    ("otto", &["OPERATOR"]),
    ("adam", &["ADMIN"]),
    ("carol", &["CLIENT"]),
    ("olga", &["WORKER_OWNER", "VIEWER"]),
    ("oscar", &["WORKER_OWNER"]),
];

/// Devices that do every step of the shipped workflow at once, and leave a picture behind.
const KIOSKS: &str = r#"
[[devices]]
device_id = "kiosk-01"
[[devices]]
device_id = "kiosk-02"
[steps]
PREFLIGHT = ["true"]
BOOTSTRAP = ["true"]
LOGIN_FLOW = ["true"]
SCREENSHOT = ["cp", "PICTURE", "artifact.png"]
"#;

/// Plays `tests/browser/SPEC.spec.mjs` and fails with all it said, unless it went well.
fn play(mut stage: Stage, spec: &str, language: Option<&str>) {
    let directory = specs();
    let mut command = Command::new("node");
    command.arg("run.mjs").arg(format!("{spec}.spec.mjs")).current_dir(&directory);
    command.env("MUSTER_URL", stage.server.anonymous().url()).env("MUSTER_TOKEN", stage.server.admin_token());
    command.env("MUSTER_ENROL_SECRET", stage.server.enrol_secret()).env("MUSTER_STAGE", "yes");
    command.env("MUSTER_SHOTS", shots()).env("MUSTER_CHROMIUM", chromium());
    if spec == "pictures" {
        command.env("MUSTER_PICTURES", Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images"));
    }
    command.envs(language.map(|language| ("MUSTER_LANGUAGES", language)));
    command.envs(stage.court_home().map(|home| ("MUSTER_COURT", home)));
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("node cannot be run ({error}): ./test installs it"));
    let said = serve(&mut stage, &mut child);
    assert!(child.wait().unwrap().success(), "{said}");
    println!("{said}");
}

/// Does what the spec asks for, until it has ended; gives what it said.
fn serve(stage: &mut Stage, child: &mut Child) -> String {
    let mut answers = child.stdin.take().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(request) = line.strip_prefix("stage: ") {
            stage.obey(request);
            answers.write_all(b"done\n").unwrap();
        } else {
            said.push_str(&line);
            said.push('\n');
        }
    }
    said
}

fn specs() -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    assert!(
        directory.join("node_modules/playwright-core").is_dir(),
        "playwright-core is not installed: run `npm --prefix tests/browser ci`"
    );
    directory
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("MUSTER_CHROMIUM").map_or_else(|| "/usr/bin/chromium".into(), PathBuf::from);
    assert!(
        path.exists(),
        "{} is missing: ./test installs it; or name one by MUSTER_CHROMIUM",
        path.display()
    );
    path
}

fn shots() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/screenshots");
    std::env::var_os("MUSTER_SHOTS").map_or_else(beside, PathBuf::from)
}
