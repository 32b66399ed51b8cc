//! What the demo will do, told beforehand: the fleet, the runs, and every failure in them.
//!
//! Nothing here is drawn while the demo runs. So the closing check can compare each row of the server's tables
//! with what was planned for it, and two runs of the demo fail the same devices for the same reasons.

use serde_json::{Map, Value, json};
use std::ops::Range;

/// The demo's script; the same seed gives the same one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
}

/// One run of the script.
#[derive(Debug)]
pub(super) struct RunPlan {
    pub(super) title: &'static str,
    pub(super) queue: &'static str,
    pub(super) scope: Scope,
    pub(super) twist: Twist,
}

/// Which devices a run is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope {
    All,
    Pc(&'static str),
    RackB,
    Kiosks,
    /// Those that wear out.
    Worn,
}

/// What is special about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twist {
    None,
    /// It is cancelled on its way.
    Withdrawn,
    /// On one device per PC every attempt fails.
    WearsOut,
    /// The agent of this PC is killed on its way. No attempt is meant to fail, so that each that does was interrupted.
    AgentKilled(&'static str),
    /// The agent of this PC is cut off from the server on its way, and let through again.
    CutOff(&'static str),
    /// Its devices take their time.
    Unhurried,
}

/// How a device fails in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// In this step.
    pub(super) step: &'static str,
    /// For this reason, one of the contract's words (N13).
    pub(super) reason: &'static str,
    /// So many times, from the first attempt on.
    pub(super) attempts: u16,
}

/// A simulated device; its number counts from 1 over the whole fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Device(pub(super) usize);

impl Device {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (1..=PCS.len() * DEVICES_PER_PC).map(Self)
    }

    pub(super) fn of_pc(pc: &str) -> impl Iterator<Item = Self> {
        Self::numbers_of_pc(pc).map(Self)
    }

    /// The numbers of a PC's devices.
    pub(super) fn numbers_of_pc(pc: &str) -> Range<usize> {
        let place = PCS.iter().position(|name| *name == pc).unwrap_or(PCS.len());
        let first = 1 + place * DEVICES_PER_PC;
        first..first + DEVICES_PER_PC
    }

    pub(super) fn named(id: &str) -> Option<Self> {
        let number: usize = id.strip_prefix("sim-")?.parse().ok()?;
        (1..=PCS.len() * DEVICES_PER_PC).contains(&number).then_some(Self(number))
    }

    pub(super) fn id(self) -> String {
        format!("sim-{:04}", self.0)
    }

    pub(super) fn pc(self) -> &'static str {
        PCS[(self.0 - 1) / DEVICES_PER_PC]
    }

    pub(super) fn labels(self) -> Value {
        let rack = if self.is_in_rack_b() { "b" } else { "a" };
        let tier = if self.is_kiosk() { "kiosk" } else { "phone" };
        json!({"rack": rack, "tier": tier})
    }

    const fn is_in_rack_b(self) -> bool {
        self.0.is_multiple_of(2)
    }

    const fn is_kiosk(self) -> bool {
        self.0.is_multiple_of(5)
    }

    /// One per PC, and none of them a kiosk: kiosks run in a queue of their own, beside the run that wears these out.
    const fn is_worn(self) -> bool {
        self.0 % DEVICES_PER_PC == 42
    }
}

impl Scope {
    pub(super) fn contains(self, device: Device) -> bool {
        match self {
            Self::All => true,
            Self::Pc(pc) => device.pc() == pc,
            Self::RackB => device.is_in_rack_b(),
            Self::Kiosks => device.is_kiosk(),
            Self::Worn => device.is_worn(),
        }
    }

    pub(super) fn devices(self) -> impl Iterator<Item = Device> {
        Device::all().filter(move |device| self.contains(*device))
    }

    /// In the words of Q15; nothing for all devices.
    fn wire(self) -> Option<Value> {
        match self {
            Self::All => None,
            Self::Pc(pc) => Some(json!({"pcs": [pc]})),
            Self::RackB => Some(json!({"labels": {"rack": "b"}})),
            Self::Kiosks => Some(json!({"labels": {"tier": "kiosk"}})),
            Self::Worn => Some(json!({"devices": self.devices().map(Device::id).collect::<Vec<_>>()})),
        }
    }
}

impl RunPlan {
    /// The PC whose agent is killed in it, if any.
    pub(super) const fn killed_pc(&self) -> Option<&'static str> {
        match self.twist {
            Twist::AgentKilled(pc) => Some(pc),
            Twist::None | Twist::Withdrawn | Twist::WearsOut | Twist::CutOff(_) | Twist::Unhurried => None,
        }
    }

    /// The PC that is cut off in it, if any.
    pub(super) const fn cut_pc(&self) -> Option<&'static str> {
        match self.twist {
            Twist::CutOff(pc) => Some(pc),
            Twist::None | Twist::Withdrawn | Twist::WearsOut | Twist::AgentKilled(_) | Twist::Unhurried => {
                None
            }
        }
    }

    /// Whether its devices leave screenshots for the dashboard to show: those of kiosks are looked at.
    const fn has_pictures(&self) -> bool {
        matches!(self.scope, Scope::Kiosks)
    }

    /// How long a device takes for a step; longer where there must be time to do something to somebody in the middle of it
    /// all.
    const fn step_ms(&self) -> u64 {
        match self.twist {
            Twist::AgentKilled(_) | Twist::CutOff(_) => 2 * STEP_MS,
            Twist::Unhurried => 4 * STEP_MS,
            Twist::None | Twist::Withdrawn | Twist::WearsOut => STEP_MS,
        }
    }
}

impl Plan {
    /// The run with that number; rounds repeat the same runs with other failures.
    pub(super) fn run(number: usize) -> &'static RunPlan {
        let per_round = ROUND.iter().map(|act| act.len()).sum::<usize>();
        let place = number % per_round;
        ROUND.iter().copied().flatten().nth(place).expect("a place within the round")
    }

    /// Whether a PC is cut off in some run.
    pub(super) fn cuts_off(pc: &str) -> bool {
        ROUND.iter().copied().flatten().any(|run| run.cut_pc() == Some(pc))
    }

    /// The body of `POST /api/runs`; `number` counts runs over all rounds. What is to fail stands in the parameter that
    /// steers simulated devices (N23).
    pub(super) fn submission(&self, number: usize) -> Value {
        let run = Self::run(number);
        let steering = |device: Device| {
            let Fault { step, reason, attempts } = self.fault(number, device)?;
            let fault = json!({"fail_step": step, "failure_reason": reason, "fail_attempts": attempts});
            Some((device.id(), fault))
        };
        let devices: Map<String, Value> = run.scope.devices().filter_map(steering).collect();
        json!({
            "workflow_id": WORKFLOW,
            "params": {"simulate": {"step_ms": run.step_ms(), "devices": devices, "pictures": run.has_pictures()}},
            "scope": run.scope.wire(),
            "queue": run.queue,
            "max_attempts": ATTEMPTS_MAX,
            "title": run.title,
        })
    }

    /// How a device fails in a run, if it does.
    pub(super) fn fault(&self, run: usize, device: Device) -> Option<Fault> {
        let attempts = self.failures(run, device);
        let (step, reason) = FAULTS[self.roll([run, device.0, 1]) % FAULTS.len()];
        (attempts > 0).then_some(Fault { step, reason, attempts })
    }

    /// Where the row of a device must stand once its run has ended, and after how many attempts (Q10, Q11).
    pub(super) fn ending(&self, run: usize, device: Device) -> (&'static str, u16) {
        match self.failures(run, device) {
            failures if failures >= ATTEMPTS_MAX => ("failed", ATTEMPTS_MAX),
            failures => ("completed", failures + 1),
        }
    }

    /// How many attempts of a device fail in a run.
    fn failures(&self, run: usize, device: Device) -> u16 {
        match (Self::run(run).twist, self.roll([run, device.0, 0]) % 1000) {
            (Twist::WearsOut, _) if device.is_worn() => ATTEMPTS_MAX,
            (Twist::AgentKilled(_), _) => 0,
            (_, 0..8) => 2,
            (_, 8..50) => 1,
            _ => 0,
        }
    }

    /// A number that depends on the seed and the place alone (splitmix64).
    fn roll(&self, place: [usize; 3]) -> usize {
        let mut state = self.seed;
        for part in place {
            state = state.wrapping_add(part as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
            state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            state ^= state >> 31;
        }
        usize::try_from(state >> 33).expect("31 bits fit")
    }
}

/// One round: acts one after the other, the runs of an act submitted together.
///
/// The run that wears devices out is the last of its queue in its act, so that every other run finds them in service;
/// they are returned to it before the next act. When an agent is killed, the other queue has nothing for its PC, so that
/// one run alone is interrupted. While a PC is cut off the others have something to do, so that none is silent for as long.
pub(super) const ROUND: &[&[RunPlan]] = &[
    &[
        run("Login and screenshot, everywhere", MAIN, Scope::All),
        run("PC-02, after its new hub", MAIN, Scope::Pc("PC-02")),
        run("Rack B, new wallpaper", MAIN, Scope::RackB),
        run("Login and screenshot, once more", MAIN, Scope::All),
        run("Kiosks, first night", NIGHTLY, Scope::Kiosks),
        run("PC-03, first night", NIGHTLY, Scope::Pc("PC-03")),
    ],
    &[
        run("Bootstrap, everywhere", MAIN, Scope::All),
        RunPlan { twist: Twist::Withdrawn, ..run("Withdrawn on its way", MAIN, Scope::All) },
        run("Bootstrap, once more", MAIN, Scope::All),
        run("Rack B, old wallpaper", MAIN, Scope::RackB),
        RunPlan { twist: Twist::WearsOut, ..run("Three devices wear out", MAIN, Scope::All) },
        run("Kiosks, second night", NIGHTLY, Scope::Kiosks),
    ],
    &[
        run("The three, back in service", MAIN, Scope::Worn),
        run("Login and screenshot, all again", MAIN, Scope::All),
        RunPlan {
            twist: Twist::AgentKilled("PC-02"),
            ..run("An agent is killed on its way", MAIN, Scope::All)
        },
        run("PC-01, for comparison", MAIN, Scope::Pc("PC-01")),
        run("Rack B, no wallpaper", MAIN, Scope::RackB),
        run("Login and screenshot, at last", MAIN, Scope::All),
        run("PC-01, third night", NIGHTLY, Scope::Pc("PC-01")),
        run("PC-03, third night", NIGHTLY, Scope::Pc("PC-03")),
    ],
    &[
        RunPlan {
            twist: Twist::CutOff("PC-03"),
            ..run("PC-03 is cut off on its way", NIGHTLY, Scope::Pc("PC-03"))
        },
        RunPlan { twist: Twist::Unhurried, ..run("PC-01, meanwhile", MAIN, Scope::Pc("PC-01")) },
        RunPlan { twist: Twist::Unhurried, ..run("PC-02, meanwhile", MAIN, Scope::Pc("PC-02")) },
        run("All three, together again", MAIN, Scope::All),
    ],
];

const fn run(title: &'static str, queue: &'static str, scope: Scope) -> RunPlan {
    RunPlan { title, queue, scope, twist: Twist::None }
}

pub(super) const PCS: [&str; 3] = ["PC-01", "PC-02", "PC-03"];
pub(super) const DEVICES_PER_PC: usize = 100;
pub(super) const ATTEMPTS_MAX: u16 = 3;
/// The steps of the workflow (N11).
pub(super) const STEPS: [&str; 5] = ["PREFLIGHT", "BOOTSTRAP", "LOGIN_FLOW", "SCREENSHOT", "UPLOAD"];

/// So that agents have something to do at all times, and a small machine is not busy with nothing but callbacks.
const STEP_MS: u64 = 40;
pub(super) const WORKFLOW: &str = "login_settings_screenshot_v1";
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
mod tests;
