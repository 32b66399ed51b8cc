//! The runs of a round, and every failure in them.

use muster_contract_operations::{RunRequest, Scope as WireScope};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One run of the plan.
#[derive(Debug)]
pub(super) struct RunPlan {
    pub(super) title: &'static str,
    queue: &'static str,
    pub(super) scope: Scope,
    pub(super) twist: Twist,
}

/// The devices of a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope {
    All,
    Pc(&'static str),
    Kiosks,
    /// Those that use up their attempts.
    Worn,
}

/// Peculiarity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twist {
    None,
    /// It is cancelled under way.
    Cancelled,
    /// On one device per PC every attempt fails.
    WearsOut,
    /// The agent of this PC is killed under way. No attempt is planned to fail, so each that does was interrupted.
    AgentKilled(&'static str),
}

impl Scope {
    pub(super) fn devices(self) -> impl Iterator<Item = usize> {
        devices().filter(move |device| match self {
            Self::All => true,
            Self::Pc(pc) => pc_of(*device) == pc,
            Self::Kiosks => device.is_multiple_of(5),
            Self::Worn => is_worn(*device),
        })
    }

    /// In the words of Q15; none for all devices.
    fn wire(self) -> Option<WireScope> {
        match self {
            Self::All => None,
            Self::Pc(pc) => Some(WireScope::Pcs(vec![pc.to_owned()])),
            Self::Kiosks | Self::Worn => Some(WireScope::Devices(self.devices().map(device_id).collect())),
        }
    }
}

impl RunPlan {
    /// The body of `POST /api/runs`. The parameter that steers simulated devices tells them when to fail (N23).
    pub(super) fn submission(&self) -> RunRequest {
        let steering = |device: usize| {
            let (step, reason) = FAULTS[device % FAULTS.len()];
            let attempts = self.failures(device);
            let fault = json!({"fail_step": step, "failure_reason": reason, "fail_attempts": attempts});
            (attempts > 0).then(|| (device_id(device), fault))
        };
        let devices: Map<String, Value> = self.scope.devices().filter_map(steering).collect();
        // Longer where an agent is killed at work; the screenshots of kiosks are for the dashboard.
        let step_ms = if matches!(self.twist, Twist::AgentKilled(_)) { 2 * STEP_MS } else { STEP_MS };
        let pictures = matches!(self.scope, Scope::Kiosks);
        let params = json!({"simulate": {"step_ms": step_ms, "devices": devices, "pictures": pictures}});
        RunRequest {
            workflow_id: WORKFLOW.to_owned(),
            params: (&params).into(),
            scope: self.scope.wire(),
            queue: Some(self.queue.to_owned()),
            timeout_ms: None,
            max_attempts: Some(ATTEMPTS_MAX),
            title: Some(self.title.to_owned()),
        }
    }

    /// Compares the rows of a finished run, by device, with the plan.
    pub(super) fn differences(&self, rows: &BTreeMap<String, (String, u16)>) -> Vec<String> {
        let mut planned = BTreeMap::new();
        for device in self.scope.devices() {
            let (status, attempts) = self.ending(device);
            planned.insert(device_id(device), (status.to_owned(), attempts));
        }
        let all = planned.keys().chain(rows.keys().filter(|device| !planned.contains_key(*device)));
        let wrong = all.filter(|device| planned.get(*device) != rows.get(*device));
        let words = |device: &String| {
            format!("{device} in {}: {:?}, planned {:?}", self.title, rows.get(device), planned.get(device))
        };
        wrong.map(words).collect()
    }

    /// Planned status of a device's row and its number of attempts (Q10, Q11).
    fn ending(&self, device: usize) -> (&'static str, u16) {
        match self.failures(device) {
            ATTEMPTS_MAX => ("failed", ATTEMPTS_MAX),
            failures => ("completed", failures + 1),
        }
    }

    /// Number of attempts of a device that fail.
    fn failures(&self, device: usize) -> u16 {
        match (self.twist, device % 40) {
            (Twist::WearsOut, _) if is_worn(device) => ATTEMPTS_MAX,
            (Twist::AgentKilled(_), _) => 0,
            (_, 3) => 2,
            (_, 11 | 29) => 1,
            _ => 0,
        }
    }
}

/// The numbers of all devices.
pub(super) fn devices() -> std::ops::RangeInclusive<usize> {
    1..=PCS.len() * DEVICES_PER_PC
}

pub(in super::super) fn device_id(device: usize) -> String {
    format!("sim-{device:04}")
}

pub(super) fn pc_of(device: usize) -> &'static str {
    PCS[(device - 1) / DEVICES_PER_PC]
}

/// One per PC, and none of them a kiosk: kiosks run in a queue of their own, beside the run that wears these out.
const fn is_worn(device: usize) -> bool {
    device % DEVICES_PER_PC == 42
}

/// One round: acts one after the other, the runs of an act submitted together.
///
/// The run that wears devices out is the last of its queue in its act, so that every other run finds them in service;
/// they are returned before the next act. When an agent is killed, the other queue has nothing for its PC, so that one
/// run alone is interrupted.
pub(super) const ROUND: &[&[RunPlan]] = &[
    &[
        run("Login and screenshot, everywhere", MAIN, Scope::All),
        RunPlan { twist: Twist::Cancelled, ..run("Withdrawn on its way", MAIN, Scope::All) },
        run("PC-02, after its new hub", MAIN, Scope::Pc("PC-02")),
        RunPlan { twist: Twist::WearsOut, ..run("Three devices wear out", MAIN, Scope::All) },
        run("Kiosks, first night", NIGHTLY, Scope::Kiosks),
    ],
    &[
        run("The three, back in service", MAIN, Scope::Worn),
        RunPlan {
            twist: Twist::AgentKilled("PC-02"),
            ..run("An agent is killed on its way", MAIN, Scope::All)
        },
        run("Login and screenshot, once more", MAIN, Scope::All),
        run("PC-01, second night", NIGHTLY, Scope::Pc("PC-01")),
    ],
];

const fn run(title: &'static str, queue: &'static str, scope: Scope) -> RunPlan {
    RunPlan { title, queue, scope, twist: Twist::None }
}

pub(super) const PCS: [&str; 3] = ["PC-01", "PC-02", "PC-03"];
pub(super) const DEVICES_PER_PC: usize = 100;
const ATTEMPTS_MAX: u16 = 3;
/// Agents have something to do at all times, and a small machine is not busy with nothing but callbacks.
const STEP_MS: u64 = 40;
pub(in super::super) const WORKFLOW: &str = "login_settings_screenshot_v1";
const MAIN: &str = "default";
const NIGHTLY: &str = "nightly";

/// Steps whose failure ends a task, with reasons for it.
const FAULTS: [(&str, &str); 7] = [
    ("PREFLIGHT", "adb_offline"),
    ("PREFLIGHT", "needs_usb_authorization"),
    ("PREFLIGHT", "vendor_ws_error"),
    ("LOGIN_FLOW", "login_flow_timeout"),
    ("LOGIN_FLOW", "vendor_command_error"),
    ("SCREENSHOT", "screenshot_error"),
    ("UPLOAD", "upload_error"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> impl Iterator<Item = &'static RunPlan> {
        ROUND.iter().copied().flatten()
    }

    fn params(run: &RunRequest) -> Value {
        serde_json::from_str(run.params.as_str()).unwrap()
    }

    /// N23, Q10, Q11: a run tells the agents of each device that is to fail in it, and its rows end accordingly.
    #[test]
    fn a_submission_carries_the_faults() {
        for run in runs() {
            let params = params(&run.submission());
            let steered = params["simulate"]["devices"].as_object().unwrap();
            let failing = run.scope.devices().filter(|device| run.ending(*device) != ("completed", 1));
            assert_eq!(
                steered.keys().cloned().collect::<Vec<_>>(),
                failing.map(device_id).collect::<Vec<_>>()
            );
        }
        let worn = runs().find(|run| run.twist == Twist::WearsOut).unwrap();
        assert_eq!(params(&worn.submission())["simulate"]["devices"]["sim-0142"]["fail_attempts"], 3);
        assert_eq!(worn.ending(142), ("failed", 3));
    }

    /// A run beside the one in which an agent is killed has nothing for that PC; a run beside or after the one that wears
    /// devices out, in its act, does not need them.
    #[test]
    fn runs_do_not_disturb_each_other() {
        for act in ROUND {
            for (place, run) in act.iter().enumerate() {
                let beside = || act.iter().filter(|other| other.queue != run.queue);
                let after = act.iter().skip(place + 1).filter(|other| other.queue == run.queue);
                if let Twist::AgentKilled(pc) = run.twist {
                    assert!(
                        !beside().flat_map(|other| other.scope.devices()).any(|device| pc_of(device) == pc)
                    );
                }
                if run.twist == Twist::WearsOut {
                    assert!(!beside().chain(after).flat_map(|other| other.scope.devices()).any(is_worn));
                }
            }
        }
        assert_eq!(Scope::Worn.devices().map(pc_of).collect::<Vec<_>>(), PCS);
    }

    /// I2: a row that is missing, of a stranger, or ended in another way is found.
    #[test]
    fn differences_are_found() {
        let run = &ROUND[0][2];
        let mut rows = BTreeMap::new();
        for device in run.scope.devices() {
            let (status, attempts) = run.ending(device);
            rows.insert(device_id(device), (status.to_owned(), attempts));
        }
        assert_eq!(run.differences(&rows), Vec::<String>::new());
        rows.remove("sim-0101");
        rows.insert("sim-0001".to_owned(), ("completed".to_owned(), 1));
        rows.insert("sim-0102".to_owned(), ("completed".to_owned(), 2));
        rows.insert("sim-0104".to_owned(), ("failed".to_owned(), 1));
        assert_eq!(run.differences(&rows).len(), 4);
    }
}
