//! P3, P5, P6, P8, P14: workers and their leases, and whose turn it is.

use super::*;
use crate::Waiter;
use alloc::vec;
use muster_model::{PoolCause, Subject};

/// P3: a name is unique over all owners; a fresh worker is offline and was never seen.
#[test]
fn a_name_is_one_workers() {
    let mut world = World::new();
    let registration = |owner| PoolRegistration {
        owner: UserId(owner),
        name: "w".into(),
        region: None,
        specs: Specs::default(),
        specs_json: None,
        public_key: None,
        slots: 1,
    };
    let fresh = world.ask(PoolCommand::Register(registration(5).into()));
    assert!(matches!(fresh, Ok(PoolReply::Worker(record))
        if record.status.as_str() == "offline" && record.last_seen.is_none() && record.id.0 == 1));
    let again = world.ask(PoolCommand::Register(registration(6).into()));
    assert_eq!(again, Err(PoolRejection::NameTaken));
    world.restart();
    assert_eq!(world.ask(PoolCommand::Register(registration(6).into())), Err(PoolRejection::NameTaken));
}

/// P5: somebody else's worker does not exist for a caller.
#[test]
fn a_foreign_worker_is_unknown() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    let (id, thief) = (worker.id, UserId(6));
    for command in [
        PoolCommand::Beat { worker: id, owner: thief },
        PoolCommand::Poll { worker: id, owner: thief, start: false, supply: true },
        PoolCommand::Resume { worker: id, owner: thief },
        PoolCommand::SetKey { worker: id, owner: thief, public_key: "k".into() },
        PoolCommand::Drain { worker: id, owner: Some(thief), draining: true },
        work(Worker { id, owner: thief }, vec![], 1),
        PoolCommand::Beat { worker: PoolWorkerId(99), owner: thief },
    ] {
        assert_eq!(world.ask(command), Err(PoolRejection::WorkerUnknown));
    }
}

/// P5: silence makes a worker offline after 30 s; a heartbeat brings it back; a restart counts silence anew.
#[test]
fn silence_makes_offline() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    assert_eq!(world.record(worker).status.as_str(), "online");
    world.pass(29);
    assert_eq!(world.record(worker).status.as_str(), "online");
    world.restart();
    world.pass(29);
    assert_eq!(world.record(worker).status.as_str(), "online");
    world.pass(2);
    assert_eq!(world.record(worker).status.as_str(), "offline");
    world.beat(worker);
    assert_eq!(world.record(worker).status.as_str(), "online");
}

/// P6: the oldest ASSIGNED comes again until it is handed in or started; then the next one comes.
#[test]
fn the_same_assignment_comes_again() {
    let mut world = World::new();
    let worker = world.worker(5, 3);
    let first = world.submit(vec![job(), job(), job(), job()]);
    let one = world.poll(worker).unwrap();
    assert_eq!(one.assignment, nth(first, 1));
    assert_eq!(world.poll(worker), Some(one));
    world.restart();
    assert_eq!(world.poll(worker), Some(one));
    assert_eq!(world.poll_with(worker, true), Some(one), "it is moved to STARTED");
    let two = world.poll_with(worker, true).unwrap();
    assert_eq!(two.assignment, nth(PoolJobId(first.0 + 1), 1));
    let three = world.poll(worker).unwrap();
    assert_ne!(three, two);
    assert!(world.hand_in(worker, three, "h").is_ok());
    assert!(world.poll_with(worker, true).is_some());
    assert_eq!(world.poll(worker), None, "three slots are taken");
}

/// P6: after a crash a worker is told what it had started, and only that.
#[test]
fn what_was_started_is_told() {
    let mut world = World::new();
    let worker = world.worker(5, 3);
    world.submit(vec![job(), job()]);
    let (one, _) = (world.poll_with(worker, true).unwrap(), world.poll(worker).unwrap());
    world.restart();
    let resume = || PoolCommand::Resume { worker: worker.id, owner: worker.owner };
    for _ in 0..2 {
        world.pass(800);
        assert_eq!(world.ask(resume()), Ok(PoolReply::Assignments(vec![one])), "and it renews as any poll");
    }
}

/// P5: offline leases live on until their lease is over; then every attempt is a new assignment with a new nonce.
#[test]
fn a_lease_outlives_offline() {
    let mut world = World::new();
    let (silent, other) = (world.worker(5, 1), world.worker(6, 1));
    world.submit(vec![job()]);
    let first = world.poll(silent).unwrap();
    world.pass(60);
    assert_eq!(world.record(silent).status.as_str(), "offline");
    assert_eq!(world.poll(other), None);
    world.pass(839);
    assert_eq!(world.poll(other), None);
    world.pass(2);
    let second = world.poll(other).unwrap();
    assert_eq!((first.assignment.ordinal(), second.assignment.ordinal()), (1, 2));
    assert_ne!(first.fence, second.fence);
    assert_eq!(world.hand_in(silent, first, "h"), Err(PoolRejection::NotSubmittable));
    assert!(world.hand_in(other, second, "h").is_ok());
    assert_eq!(world.hand_in(silent, first, "h"), Err(PoolRejection::NotSubmittable));
}

/// P5: each heartbeat and each poll renews a worker's leases; nothing renews what is over.
#[test]
fn heartbeats_renew() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    world.submit(vec![job()]);
    let handout = world.poll_with(worker, true).unwrap();
    for _ in 0..3 {
        world.pass(800);
        world.beat(worker);
    }
    world.pass(800);
    assert!(world.poll(worker).is_none());
    world.pass(899);
    assert!(world.hand_in(worker, handout, "h").is_ok());
    world.submit(vec![job()]);
    let late = world.poll(worker).unwrap();
    world.stage.now = world.stage.now + seconds(900);
    world.beat(worker);
    assert_eq!(world.hand_in(worker, late, "h"), Err(PoolRejection::NotSubmittable));
}

/// P5: a job's own limit counts from the grant and is not renewed.
#[test]
fn a_jobs_own_limit_is_not_renewed() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    let first = world.submit(vec![PoolJobDraft { timeout: Some(seconds(100)), ..job() }]);
    let handout = world.poll(worker).unwrap();
    world.pass(60);
    world.beat(worker);
    world.pass(39);
    world.beat(worker);
    world.pass(2);
    assert_eq!(world.hand_in(worker, handout, "h"), Err(PoolRejection::NotSubmittable));
    assert_eq!(world.poll(worker).map(|next| next.assignment), Some(nth(first, 2)));
}

/// P8: attempts are bounded; leases that ran out count.
#[test]
fn attempts_are_bounded() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    let first = world.submit(vec![PoolJobDraft { max_attempts: Some(2), ..job() }]);
    for _ in 0..2 {
        assert!(world.poll(worker).is_some());
        world.pass(901);
    }
    assert_eq!(world.end(first), Some(PoolJobStatus::Failed));
    assert_eq!(world.poll(worker), None);
}

/// P14: a banned worker loses what it holds, which costs the job no attempt; it stays banned, and is let in again.
#[test]
fn a_banned_worker_holds_nothing() {
    let mut world = World::new();
    let (bad, good) = (world.worker(5, 1), world.worker(6, 1));
    let first = world.submit(vec![PoolJobDraft { max_attempts: Some(1), ..job() }]);
    let lost = world.poll(bad).unwrap();
    let ban = PoolCommand::Ban { worker: bad.id, reason: "cheats".into() };
    assert!(matches!(world.ask(ban), Ok(PoolReply::Worker(record)) if record.status.as_str() == "banned"));
    world.beat(bad);
    assert_eq!(world.record(bad).status.as_str(), "banned");
    assert_eq!(world.poll(bad), None);
    assert_eq!(world.hand_in(bad, lost, "h"), Err(PoolRejection::NotSubmittable));
    world.restart();
    let next = world.poll(good).unwrap();
    assert_eq!(next.assignment, nth(first, 2));
    assert!(world.hand_in(good, next, "h").is_ok());
    assert!(world.ask(PoolCommand::Unban { worker: bad.id, reason: "talked".into() }).is_ok());
    world.beat(bad);
    assert_eq!(world.record(bad).status.as_str(), "online");
}

/// P14: a draining worker finishes what it has and gets nothing more.
#[test]
fn a_draining_worker_finishes() {
    let mut world = World::new();
    let worker = world.worker(5, 2);
    world.submit(vec![job(), job()]);
    let has = world.poll(worker).unwrap();
    let drain = |draining| PoolCommand::Drain { worker: worker.id, owner: Some(worker.owner), draining };
    assert!(world.ask(drain(true)).is_ok());
    assert_eq!(world.poll_with(worker, true), Some(has));
    assert_eq!(world.poll(worker), None);
    assert!(world.hand_in(worker, has, "h").is_ok());
    assert_eq!(world.poll(worker), None);
    assert!(world.ask(drain(false)).is_ok());
    assert!(world.poll(worker).is_some());
}

fn order(world: &mut World, worker: Worker) -> Vec<u64> {
    let mut order = Vec::new();
    while let Some(handout) = world.poll(worker) {
        assert!(world.hand_in(worker, handout, "h").is_ok());
        order.push(handout.assignment.job().0);
    }
    order
}

/// P14: the highest priority first; within it clients take turns; within a client the oldest first.
#[test]
fn clients_take_turns() {
    let mut world = World::new();
    let of = |priority| PoolJobDraft { priority, ..job() };
    for (client, priorities) in [(1, vec![1, 1, 1]), (2, vec![1, 5]), (3, vec![1])] {
        let jobs = priorities.into_iter().map(of).collect();
        world.submit_as(UserId(client), None, jobs).unwrap();
    }
    let worker = world.worker(5, 1);
    assert_eq!(order(&mut world, worker), [5, 1, 4, 6, 2, 3]);
}

/// P14: who hands in one job after the other does not pass those who wait.
#[test]
fn a_trickle_is_no_shortcut() {
    let mut world = World::new();
    for client in 1..=3 {
        world.submit_as(UserId(client), None, vec![job(), job()]).unwrap();
    }
    let worker = world.worker(5, 1);
    let mut order = Vec::new();
    for _ in 0..8 {
        let handout = world.poll(worker).unwrap();
        let id = handout.assignment.job().0;
        order.push(if id > 6 { 9 } else { (id - 1) / 2 + 1 });
        assert!(world.hand_in(worker, handout, "h").is_ok());
        world.submit_as(UserId(9), None, vec![job()]).unwrap();
    }
    assert_eq!(order, [1, 2, 3, 9, 1, 2, 3, 9]);
}

/// P14: the region is equal where a job names one; what it requires is there, numbers at least.
#[test]
fn a_worker_must_match() {
    let mut world = World::new();
    let here = world.worker_with(5, 9, Machine { region: Some("sa"), specs: amount("vram", 24.0) });
    let there = world.worker_with(6, 9, Machine { region: Some("eu"), specs: amount("vram", 8.0) });
    let plain = world.worker(7, 9);
    let asking = |region: Option<&str>, vram: Option<f64>| {
        let requires = vram.map(|least| amount("vram", least)).unwrap_or_default();
        PoolJobDraft { demand: Demand { region: region.map(Box::from), requires }, ..job() }
    };
    world.submit(vec![
        asking(Some("eu"), None),
        asking(None, Some(16.0)),
        asking(Some("eu"), Some(16.0)),
        asking(Some("sa"), Some(8.0)),
    ]);
    assert_eq!(order(&mut world, plain), [0u64; 0]);
    assert_eq!(order(&mut world, there), [1]);
    assert_eq!(order(&mut world, here), [2, 4]);
    world.submit(vec![job()]);
    assert_eq!(order(&mut world, plain), [5]);
}

/// P14: a job lands on a waiting poll at once; as many are woken as there are jobs for them, first come first.
#[test]
fn a_job_wakes_whoever_waits() {
    let mut world = World::new();
    let (a, b) = (world.worker(5, 1), world.worker(6, 1));
    let gpu = world.worker_with(7, 1, Machine { region: None, specs: amount("vram", 24.0) });
    for worker in [a, b, gpu] {
        assert_eq!(world.poll(worker), None);
        world.stage.engine.begin_waiting(&Waiter::Member(worker.id));
    }
    let _ = world.stage.engine.take_woken();
    let demand = Demand { region: None, requires: amount("vram", 1.0) };
    world.submit(vec![PoolJobDraft { demand, ..job() }]);
    assert_eq!(world.stage.engine.take_woken().workers, [Waiter::Member(gpu.id)]);
    world.submit(vec![job()]);
    assert_eq!(world.stage.engine.take_woken().workers, [Waiter::Member(a.id)]);
    // It went away without an answer: the job is another's.
    world.stage.engine.end_waiting(&Waiter::Member(a.id), world.stage.now);
    assert_eq!(world.stage.engine.take_woken().workers, [Waiter::Member(b.id)]);
}

/// P5: an open request is a sign of life for as long as it is open.
#[test]
fn whoever_waits_is_there() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    assert_eq!(world.poll(worker), None);
    world.stage.engine.begin_waiting(&Waiter::Member(worker.id));
    world.pass(300);
    assert_eq!(world.record(worker).status.as_str(), "online");
    world.stage.engine.end_waiting(&Waiter::Member(worker.id), world.stage.now);
    world.pass(31);
    assert_eq!(world.record(worker).status.as_str(), "offline");
}

/// P15: why a job waits is told, for each cause.
#[test]
fn a_wait_is_explained() {
    let mut world = World::new();
    let asking = |region: Option<&str>, vram: f64| {
        let demand = Demand { region: region.map(Box::from), requires: amount("vram", vram) };
        PoolJobDraft { demand, ..job() }
    };
    let first = world.submit(vec![asking(Some("mars"), 1.0), asking(None, 99.0), redundant(2), job()]);
    let why = |world: &World, n: u64| world.stage.engine.explain_pool(PoolJobId(first.0 + n));
    assert_eq!(why(&world, 0), Some(PoolCause::NoWorkers));
    let worker = world.worker_with(5, 1, Machine { region: Some("sa"), specs: amount("vram", 8.0) });
    assert_eq!(why(&world, 0), Some(PoolCause::NoWorkerInRegion { region: "mars".into() }));
    assert_eq!(why(&world, 1), Some(PoolCause::RequirementsUnmet));
    assert_eq!(why(&world, 2), Some(PoolCause::WaitingForPoll { workers: 1 }));
    assert_eq!(why(&world, 3), Some(PoolCause::OlderJobFirst { job: PoolJobId(first.0 + 2) }));
    assert!(world.poll(worker).is_some());
    assert_eq!(why(&world, 2), Some(PoolCause::TooFewOwners { owners: 1, needed: 2 }));
    assert_eq!(why(&world, 3), Some(PoolCause::WorkersBusy { workers: 1 }));
    world.pass(40);
    assert_eq!(why(&world, 3), Some(PoolCause::WorkersAway { offline: 1, draining: 0, banned: 0 }));
    world.beat(worker);
    world.finish(worker, "h");
    assert!(world.poll(worker).is_some());
    assert_eq!(why(&world, 3), Some(PoolCause::Running { assignments: 1 }));
}

/// P14, Q16: whose job goes first is told: one of a higher priority, another client's, an older one.
#[test]
fn who_goes_first_is_told() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    let urgent = |priority| PoolJobDraft { priority, ..job() };
    let first = world.submit(vec![urgent(9), job(), job()]);
    world.submit_as(UserId(2), None, vec![job()]).unwrap();
    let id = |n: u64| PoolJobId(first.0 + n);
    let why = |world: &World, n: u64| world.stage.engine.explain_pool(id(n)).unwrap();
    assert_eq!(why(&world, 0), PoolCause::WaitingForPoll { workers: 1 });
    assert_eq!(why(&world, 1), PoolCause::HigherPriorityFirst { job: id(0), priority: 9 });
    world.finish(worker, "h");
    assert_eq!(why(&world, 1), PoolCause::WaitingForPoll { workers: 1 });
    assert_eq!(why(&world, 2), PoolCause::OlderJobFirst { job: id(1) });
    assert_eq!(why(&world, 3), PoolCause::ClientsTurn { job: id(1) });
}

/// P5, Q16: a job whose worker fell silent waits for the lease to be over, and says until when.
#[test]
fn a_silent_holder_is_told() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    let id = world.submit(vec![job()]);
    assert!(world.poll(worker).is_some());
    assert_eq!(world.stage.engine.explain_pool(id), Some(PoolCause::Running { assignments: 1 }));
    world.pass(31);
    let Some(PoolCause::LeaseOut { worker: who, until }) = world.stage.engine.explain_pool(id) else {
        panic!("{:?}", world.stage.engine.explain_pool(id))
    };
    assert_eq!(who, worker.id);
    assert!(until > world.stage.now);
    world.pass(900);
    let away = PoolCause::WorkersAway { offline: 1, draining: 0, banned: 0 };
    assert_eq!(world.stage.engine.explain_pool(id), Some(away));
}

/// P14, Q16: what a worker does or waits for is told, for each cause.
#[test]
fn a_worker_is_explained() {
    let mut world = World::new();
    let worker = world.worker(5, 2);
    let why = |world: &World| {
        let subject = Subject::Member(worker.id);
        let told = world.stage.engine.explain(subject, world.stage.now).unwrap();
        told.cause.rule_and_code().1
    };
    assert_eq!(why(&world), "no_jobs");
    let demand = Demand { region: Some("mars".into()), requires: Specs::default() };
    world.submit(vec![PoolJobDraft { demand, ..job() }]);
    assert_eq!(why(&world), "no_matching_job");
    world.submit(vec![job(), job()]);
    assert_eq!(why(&world), "pool_worker_idle");
    assert!(world.poll(worker).is_some());
    assert_eq!(why(&world), "pool_worker_running");
    world.ask(work(worker, Vec::new(), 9)).unwrap();
    assert_eq!(why(&world), "pool_worker_full");
    let drain = PoolCommand::Drain { worker: worker.id, owner: None, draining: true };
    world.ask(drain).unwrap();
    assert_eq!(why(&world), "pool_worker_draining");
    world.pass(31);
    assert_eq!(why(&world), "pool_worker_offline");
    world.ask(PoolCommand::Ban { worker: worker.id, reason: "it lied".into() }).unwrap();
    assert_eq!(why(&world), "pool_worker_banned");
    let nobody = Subject::Member(PoolWorkerId(99));
    assert!(world.stage.engine.explain(nobody, world.stage.now).is_none());
}
