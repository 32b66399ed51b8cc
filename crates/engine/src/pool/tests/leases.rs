use super::*;
use alloc::vec;

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
