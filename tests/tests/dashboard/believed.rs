//! A fleet as a page believes it to be: a snapshot, and every entry of the feed since.

use muster_tests::FeedEvent;
use serde_json::Value;
use std::collections::BTreeMap;

/// Nodes and devices by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Believed {
    nodes: BTreeMap<String, Node>,
    devices: BTreeMap<String, Device>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    is_online: bool,
    is_draining: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Device {
    node: String,
    is_attached: bool,
    is_failed: bool,
    task: Option<String>,
}

impl Believed {
    /// What a snapshot says.
    pub(crate) fn of(snapshot: &Value) -> Self {
        let (mut nodes, mut devices) = (BTreeMap::new(), BTreeMap::new());
        for node in snapshot["nodes"].as_array().unwrap() {
            let (id, is_online) = (text(&node["node_id"]), node["status"] == "online");
            for device in node["devices"].as_array().unwrap() {
                let state = device[1].as_str().unwrap();
                let device_of = Device {
                    node: id.clone(),
                    is_attached: device[3].as_bool().unwrap(),
                    is_failed: state == "error",
                    task: device[2].as_str().map(str::to_owned),
                };
                devices.insert(text(&device[0]), device_of);
            }
            nodes.insert(id, Node { is_online, is_draining: node["draining"].as_bool().unwrap() });
        }
        Self { nodes, devices }
    }

    /// Takes an entry of the feed; one that it knows of changes nothing.
    pub(crate) fn apply(&mut self, event: &FeedEvent) {
        let body: Value = serde_json::from_str(&event.data).unwrap();
        match event.kind.as_str() {
            "worker_enrolled" | "worker_online" | "worker_resumed" | "worker_offline" | "worker_draining" => {
                self.change_node(&event.kind, &text(&body["worker"]));
            }
            "device_attached" => {
                let device = self.devices.entry(text(&body["device"])).or_insert_with(Device::nobodys);
                device.node = text(&body["worker"]);
                device.is_attached = body["online"] == true;
            }
            "device_online" | "device_offline" | "device_error" | "device_returned" | "task_leased" => {
                let device = self.devices.get_mut(body["device"].as_str().unwrap()).unwrap();
                device.change(&event.kind, &body);
            }
            "attempt_ended" => {
                let task = body["task"].as_str();
                let ran = self.devices.values_mut().filter(|device| device.task.as_deref() == task);
                ran.for_each(|device| device.task = None);
            }
            _ => {}
        }
    }

    fn change_node(&mut self, kind: &str, id: &str) {
        let node = self.nodes.entry(id.to_owned()).or_insert(Node { is_online: true, is_draining: false });
        match kind {
            "worker_online" => node.is_online = true,
            "worker_offline" => node.is_online = false,
            "worker_draining" => node.is_draining = true,
            "worker_resumed" => node.is_draining = false,
            _ => {}
        }
    }
}

impl Device {
    fn nobodys() -> Self {
        Self { node: String::new(), is_attached: false, is_failed: false, task: None }
    }

    fn change(&mut self, kind: &str, body: &Value) {
        match kind {
            "device_online" => self.is_attached = true,
            "device_offline" => self.is_attached = false,
            "device_error" => self.is_failed = true,
            "device_returned" => self.is_failed = false,
            _ => self.task = Some(text(&body["task"])),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
