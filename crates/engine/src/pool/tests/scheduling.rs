use super::*;
use crate::Waiter;
use alloc::vec;
use muster_model::{PoolCause, Subject};

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
    let handout = world.poll(worker).unwrap();
    assert!(world.hand_in(worker, handout, "h").is_ok());
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
    let handout = world.poll(worker).unwrap();
    assert!(world.hand_in(worker, handout, "h").is_ok());
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
