//! What a spec is played on: a server, and as much of a fleet as it needs.

use crate::play;
use muster_tests::{Agent, Court, PoolWorker, Server, ServerSetup, SimWorker, until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A server with users of every role, and what was added; all of it ends with the value.
pub(crate) struct Stage {
    // Ended in this order: what calls the server goes first.
    agents: Vec<Agent>,
    sim_workers: Vec<SimWorker>,
    pool_workers: Vec<PoolWorker>,
    court: Option<Court>,
    pub(crate) server: Server,
    directory: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
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
    pub(crate) fn court(self) -> Self {
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
    pub(crate) fn devices(mut self) -> Self {
        let kiosks = self.directory.path().join("kiosks.toml");
        let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/screen.png");
        std::fs::write(&kiosks, KIOSKS.replace("PICTURE", picture.to_str().unwrap())).unwrap();
        let kiosks = format!("command:{}", kiosks.display());
        for (node, devices) in [("PC-01", "simulated:24"), ("PC-02", "simulated:7@101"), ("PC-03", &kiosks)] {
            self.agents.push(Agent::start(&self.server, node, devices));
        }
        until("all devices are there", || {
            (self.count("/api/devices?limit=100", "devices") == 33).then_some(())
        });
        self
    }

    /// With a dozen PCs full of simulated devices.
    pub(crate) fn many_devices(mut self) -> Self {
        for number in 1..=12 {
            let devices = if number == 12 { 64 } else { 100 };
            let kind = format!("simulated:{devices}@{}", 100 * number + 1);
            self.agents.push(Agent::start(&self.server, &format!("PC-{number:02}"), &kind));
        }
        until("all PCs are there", || (self.count("/api/pcs", "pcs") == 12).then_some(()));
        self
    }

    /// With two simulation workers.
    pub(crate) fn frames(mut self) -> Self {
        for worker in ["W1", "W2"] {
            self.sim_workers.push(SimWorker::start(&self.server, worker, &["--fps", "60"]));
        }
        until("both have registered", || (self.count("/api/v1/workers", "workers") == 2).then_some(()));
        self
    }

    /// With two workers of the pool, both of the owner olga.
    pub(crate) fn pool(mut self) -> Self {
        let url = self.server.anonymous().url();
        for name in ["gpu-1", "gpu-2"] {
            self.pool_workers.push(PoolWorker::start(&url, self.directory.path(), name, &[]));
        }
        until("both have joined", || (self.count("/api/pool/workers", "workers") == 2).then_some(()));
        self
    }

    pub(crate) fn everything(self) -> Self {
        self.court().devices().frames().pool()
    }

    /// Has the court ask a question, and waits until it stands in the inbox.
    pub(crate) fn ask(&self) {
        let court = self.court.as_ref().unwrap();
        let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
        assert_eq!(court.finished(&event)["status"], "needs_human");
    }

    /// Plays a spec in all languages.
    pub(crate) fn play(self, spec: &str) {
        play::play(self, spec, None);
    }

    /// Plays a spec in one language.
    pub(crate) fn play_in(self, spec: &str, language: &str) {
        play::play(self, spec, Some(language));
    }

    /// Does what a spec cannot do itself.
    pub(crate) fn obey(&mut self, request: &str) {
        match request {
            "kill server" => self.server.kill9(),
            "start server" => self.server.restart(),
            "ask" => self.ask(),
            unknown => panic!("nobody knows how to {unknown:?}"),
        }
    }

    /// The court's directory, if there is one.
    pub(crate) fn court_home(&self) -> Option<PathBuf> {
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
