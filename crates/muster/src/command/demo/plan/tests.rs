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
        let failed = PLAN.fault(run, device).map_or(0, |fault| fault.attempts);
        let wears_out = Plan::run(run).twist == Twist::WearsOut && device.is_worn();
        assert_eq!(status == "failed", wears_out);
        assert_eq!(failed, attempts - u16::from(!wears_out), "{run} {device:?}");
    }
}

/// N23: a run tells the agents of each device that is to fail in it, and of no other.
#[test]
fn a_submission_carries_the_faults() {
    for number in 0..runs() {
        let run = Plan::run(number);
        let submission = PLAN.submission(number);
        let told = submission["params"]["simulate"]["devices"].as_object().unwrap();
        let failing = run.scope.devices().filter(|device| PLAN.fault(number, *device).is_some());
        assert_eq!(told.keys().cloned().collect::<Vec<_>>(), failing.map(Device::id).collect::<Vec<_>>());
        assert!(run.killed_pc().is_none() || told.is_empty());
    }
    let worn = (0..runs()).find(|number| Plan::run(*number).twist == Twist::WearsOut).unwrap();
    assert_eq!(PLAN.submission(worn)["params"]["simulate"]["devices"]["sim-0142"]["fail_attempts"], 3);
}

/// What runs beside a run in which an agent is killed must have nothing for that PC.
#[test]
fn one_run_alone_is_interrupted() {
    let mut kills = 0;
    for act in ROUND {
        for killed in act.iter().filter(|run| run.killed_pc().is_some()) {
            kills += 1;
            let is_there = |device: Device| Some(device.pc()) == killed.killed_pc();
            let beside = act.iter().filter(|run| run.queue != killed.queue);
            assert!(killed.scope.devices().any(is_there));
            assert!(!beside.flat_map(|run| run.scope.devices()).any(is_there));
        }
    }
    assert_eq!(kills, 1);
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
    let counts = [Scope::All, Scope::Pc("PC-02"), Scope::RackB, Scope::Kiosks].map(|s| s.devices().count());
    assert_eq!(counts, [300, 100, 150, 60]);
    assert_eq!(Device::named("sim-0101").map(Device::pc), Some("PC-02"));
    assert!(PCS.iter().all(|pc| Device::of_pc(pc).all(|device| device.pc() == *pc)));
    assert_eq!(Device::named("sim-0301").or(Device::named("x")), None);
    assert!(FAULTS.iter().all(|(step, _)| STEPS.contains(step)));
}
