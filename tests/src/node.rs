//! A node that exists only here: it pulls, claims to execute, and reports.

use crate::{Answer, Client, Event};
use serde_json::{Value, json};

/// A node and the devices it says are attached.
#[derive(Clone, Debug)]
pub struct FakeNode {
    /// Its name.
    pub name: String,
    /// Its devices' serials.
    pub devices: Vec<String>,
    client: Client,
}

impl FakeNode {
    /// A node with `count` devices `<name>-d1`, `<name>-d2`, …, that has said nothing yet.
    #[must_use]
    pub fn new(client: Client, name: &str, count: usize) -> Self {
        let devices = (1..=count).map(|n| format!("{name}-d{n}")).collect();
        Self { name: name.to_owned(), devices, client }
    }

    /// The same, and it has reported its devices.
    #[must_use]
    pub fn enrolled(client: Client, name: &str, count: usize) -> Self {
        let node = Self::new(client, name, count);
        let _ = node.report();
        node
    }

    /// Reports its devices and asks for nothing.
    #[must_use]
    pub fn report(&self) -> Value {
        self.ask(&json!({"node_id": self.name, "max_jobs": 0, "devices": self.listed()})).expect(200)
    }

    /// Asks for work without a report of its devices.
    #[must_use]
    pub fn pull(&self, max: u64) -> Value {
        self.ask(&json!({"node_id": self.name, "max_jobs": max})).expect(200)
    }

    /// Asks for work and waits for it.
    #[must_use]
    pub fn wait(&self, max: u64, wait_ms: u64) -> Value {
        self.ask(&json!({"node_id": self.name, "max_jobs": max, "wait_ms": wait_ms})).expect(200)
    }

    /// The jobs of a pull.
    #[must_use]
    pub fn jobs(&self, max: u64) -> Vec<Value> {
        self.pull(max)["jobs"].as_array().unwrap().clone()
    }

    /// The one job of a pull.
    ///
    /// # Panics
    /// When there is none, or more.
    #[must_use]
    pub fn job(&self) -> Value {
        let mut jobs = self.jobs(1);
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs.remove(0)
    }

    /// Sends the body of a pull.
    #[must_use]
    pub fn ask(&self, body: &Value) -> Answer {
        self.client.post("/api/nodes/pull", body)
    }

    /// Sends an event that must be taken, and says the answer.
    pub fn tell(&self, event: &Event) -> Value {
        self.send(&event.nested()).expect(200)
    }

    /// Sends the body of a callback.
    #[must_use]
    pub fn send(&self, body: &Value) -> Answer {
        self.client.post("/api/nodes/callback", body)
    }

    /// Reports that a job began and ended well.
    pub fn succeed(&self, job: &Value) {
        self.tell(&Event::started(&self.name, job));
        assert_eq!(self.tell(&Event::succeeded(&self.name, job)), json!({"ok": true}));
    }

    /// Reports that a job began and failed.
    pub fn fail(&self, job: &Value) {
        self.tell(&Event::started(&self.name, job));
        assert_eq!(self.tell(&Event::failed(&self.name, job, "adb_offline")), json!({"ok": true}));
    }

    /// Its devices as a pull lists them, all online.
    #[must_use]
    pub fn listed(&self) -> Value {
        listed(&self.devices, "online")
    }

    /// Who it calls.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }
}

fn listed(devices: &[String], status: &str) -> Value {
    let device =
        |id: &String| json!({"device_id": id, "runtime_handle": format!("usb:{id}"), "status": status});
    devices.iter().map(device).collect()
}
