//! What the demo will do, told beforehand: the fleet, the runs, and every failure in them.
//!
//! Nothing here is drawn while the demo runs. So the closing check can compare each row of the server's tables
//! with what was planned for it, and two runs of the demo fail the same devices for the same reasons.

use serde_json::{Value, json};

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
}

/// One attempt, by its place in the script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Try {
    /// The run's number, over all rounds.
    pub(super) run: usize,
    pub(super) device: Device,
    pub(super) attempt: u16,
}

/// How an attempt fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The place of the step in [`STEPS`].
    pub(super) step: usize,
    /// One of the contract's words (N13).
    pub(super) reason: &'static str,
}

/// A simulated device; its number counts from 1 over the whole fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Device(pub(super) usize);

impl Device {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (1..=PCS.len() * DEVICES_PER_PC).map(Self)
    }

    pub(super) fn of_pc(pc: &str) -> impl Iterator<Item = Self> + '_ {
        Self::all().filter(move |device| device.pc() == pc)
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
    /// The body of `POST /api/runs`; `number` counts runs over all rounds and tells the nodes what to simulate.
    pub(super) fn submission(&self, number: usize) -> Value {
        json!({
            "workflow_id": WORKFLOW,
            "params": {"demo_run": number},
            "scope": self.scope.wire(),
            "queue": self.queue,
            "max_attempts": ATTEMPTS_MAX,
            "title": self.title,
        })
    }
}

impl Plan {
    /// The run with that number; rounds repeat the same runs with other failures.
    pub(super) fn run(number: usize) -> &'static RunPlan {
        let per_round = ROUND.iter().map(|act| act.len()).sum::<usize>();
        let place = number % per_round;
        ROUND.iter().copied().flatten().nth(place).expect("a place within the round")
    }

    /// How an attempt fails, if it does.
    pub(super) fn fault(&self, at: Try) -> Option<Fault> {
        let die = self.roll([at.run, at.device.0, usize::from(at.attempt), 1]);
        (at.attempt <= self.failures(at.run, at.device)).then(|| FAULTS[die % FAULTS.len()])
    }

    /// Where the row of a device must stand once its run has ended, and after how many attempts (Q10, Q11).
    pub(super) fn ending(&self, run: usize, device: Device) -> (&'static str, u16) {
        match self.failures(run, device) {
            failures if failures >= ATTEMPTS_MAX => ("failed", ATTEMPTS_MAX),
            failures => ("completed", failures + 1),
        }
    }

    /// Whether the answer to a report is lost on its way back; `place` tells the reports of one attempt apart.
    pub(super) fn loses_answer(&self, at: Try, place: usize) -> bool {
        self.roll([at.run, at.device.0, usize::from(at.attempt), 100 + place]).is_multiple_of(150)
    }

    /// Whether the answer to a node's nth pull that brought jobs is lost. Never with a job of a run that will be
    /// cancelled: a node cannot end what it never heard of, and only the lease would.
    pub(super) fn loses_pull(nth: u64, mut runs: impl Iterator<Item = usize>) -> bool {
        nth % 120 == 30 && runs.all(|run| Self::run(run).twist != Twist::Withdrawn)
    }

    /// How many attempts of a device fail in a run.
    fn failures(&self, run: usize, device: Device) -> u16 {
        if Self::run(run).twist == Twist::WearsOut && device.is_worn() {
            return ATTEMPTS_MAX;
        }
        match self.roll([run, device.0, 0, 0]) % 1000 {
            0..8 => 2,
            8..50 => 1,
            _ => 0,
        }
    }

    /// A number that depends on the seed and the place alone (splitmix64).
    fn roll(&self, place: [usize; 4]) -> usize {
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
/// they are returned to it before the next act.
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
        run("PC-01, for comparison", MAIN, Scope::Pc("PC-01")),
        run("Rack B, no wallpaper", MAIN, Scope::RackB),
        run("Bootstrap, for the record", MAIN, Scope::All),
        run("Login and screenshot, at last", MAIN, Scope::All),
        run("Kiosks, third night", NIGHTLY, Scope::Kiosks),
        run("PC-02, third night", NIGHTLY, Scope::Pc("PC-02")),
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

const WORKFLOW: &str = "login_settings_screenshot_v1";
const MAIN: &str = "default";
const NIGHTLY: &str = "nightly";

const FAULTS: [Fault; 7] = [
    Fault { step: 0, reason: "adb_offline" },
    Fault { step: 0, reason: "needs_usb_authorization" },
    Fault { step: 1, reason: "bootstrap_critical_failed" },
    Fault { step: 1, reason: "vendor_ws_error" },
    Fault { step: 2, reason: "login_flow_timeout" },
    Fault { step: 3, reason: "screenshot_error" },
    Fault { step: 4, reason: "upload_error" },
];

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan { seed: 7 };

    fn runs() -> usize {
        ROUND.iter().map(|act| act.len()).sum()
    }

    #[test]
    fn the_same_seed_gives_the_same_failures() {
        let endings = |plan: Plan| {
            let runs = (0..2 * runs()).flat_map(|run| Device::all().map(move |device| (run, device)));
            runs.map(|(run, device)| plan.ending(run, device)).collect::<Vec<_>>()
        };
        assert_eq!(endings(PLAN), endings(PLAN));
        assert_ne!(endings(PLAN), endings(Plan { seed: 8 }));
        let retried = endings(PLAN).iter().filter(|(_, attempts)| *attempts > 1).count();
        assert!(retried > runs() && retried < 100 * runs(), "{retried} of {} rows", 600 * runs());
    }

    /// Q10, Q11: attempts fail exactly as often as the ending says, and only worn devices use all of them up.
    #[test]
    fn every_ending_is_made_of_its_attempts() {
        for (run, device) in (0..runs()).flat_map(|run| Device::all().map(move |device| (run, device))) {
            let (status, attempts) = PLAN.ending(run, device);
            let failed = (1..=attempts)
                .filter(|attempt| PLAN.fault(Try { run, device, attempt: *attempt }).is_some())
                .count();
            let wears_out = Plan::run(run).twist == Twist::WearsOut && device.is_worn();
            assert_eq!(status == "failed", wears_out);
            assert_eq!(failed, usize::from(attempts) - usize::from(!wears_out), "{run} {device:?}");
        }
    }

    /// A device out of service is no target: whoever wears out must not be needed beside or after that, in its act.
    #[test]
    fn worn_devices_are_missed_by_nobody() {
        for act in ROUND {
            let Some(place) = act.iter().position(|run| run.twist == Twist::WearsOut) else { continue };
            let queue = act[place].queue;
            let clashes = |(other, run): (usize, &RunPlan)| {
                let after = run.queue == queue && other > place;
                let beside = run.queue != queue;
                (after || beside) && run.scope.devices().any(Device::is_worn)
            };
            assert!(!act.iter().enumerate().any(clashes));
        }
        assert_eq!(Scope::Worn.devices().map(Device::pc).collect::<Vec<_>>(), PCS);
    }

    #[test]
    fn scopes_hold_what_they_say() {
        let counts =
            [Scope::All, Scope::Pc("PC-02"), Scope::RackB, Scope::Kiosks].map(|s| s.devices().count());
        assert_eq!(counts, [300, 100, 150, 60]);
        assert_eq!(Device::named("sim-0101").map(Device::pc), Some("PC-02"));
        assert_eq!(Device::named("sim-0301").or(Device::named("x")), None);
        assert!(FAULTS.iter().all(|fault| fault.step < STEPS.len()));
    }
}
