use super::*;
use alloc::vec;

/// P8: the checks come in their order; the first that fails is told.
#[test]
fn checks_come_in_order() {
    let mut world = World::new();
    let (worker, other) = (world.worker(5, 2), world.worker(5, 1));
    world.submit(vec![job(), job()]);
    let handout = world.poll_with(worker, true).unwrap();
    let good = result(handout, "h");
    let with = |change: fn(&mut PoolResult)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    let cases = [
        (
            with(|r| (r.public_key, r.assignment) = ("old".into(), AssignmentId(1))),
            PoolRejection::KeyReplaced,
        ),
        (with(|r| (r.assignment, r.nonce) = (AssignmentId(9999), None)), PoolRejection::AssignmentUnknown),
        (with(|r| r.nonce = None), PoolRejection::NonceInvalid),
    ];
    for (bad, expected) in cases {
        assert_eq!(world.hand_in_result(worker, bad), Err(expected));
    }
    assert_eq!(world.hand_in_result(other, good.clone()), Err(PoolRejection::AssignmentUnknown));
    assert_eq!(world.hand_in_result(worker, good.clone()).unwrap().status, PoolJobStatus::Completed);
    let twice = |identical| Err(PoolRejection::AlreadySubmitted { identical });
    assert_eq!(world.hand_in_result(worker, good.clone()), twice(true));
    assert_eq!(world.hand_in_result(worker, with(|r| r.digest = [9; 32])), twice(false));
    assert_eq!(world.hand_in_result(worker, with(|r| r.nonce = None)), Err(PoolRejection::NonceInvalid));
    world.restart();
    assert_eq!(world.hand_in_result(worker, good), twice(true));
}

/// P11: the hash of an output is checked for the jobs that ask for it, after everything else.
#[test]
fn a_hash_is_checked_where_asked() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    for (verify, matches, taken) in
        [(false, Some(false), true), (true, Some(false), false), (true, Some(true), true), (true, None, true)]
    {
        world.submit(vec![PoolJobDraft { verify_output_hash: verify, ..job() }]);
        let handout = world.poll(worker).unwrap();
        let bad_nonce = PoolResult { nonce: None, hash_matches: Some(false), ..result(handout, "h") };
        assert_eq!(world.hand_in_result(worker, bad_nonce), Err(PoolRejection::NonceInvalid));
        let said = PoolResult { hash_matches: matches, ..result(handout, "h") };
        let expected = if taken { Ok(()) } else { Err(PoolRejection::HashMismatch) };
        assert_eq!(world.hand_in_result(worker, said).map(drop), expected);
        if !taken {
            assert!(world.hand_in(worker, handout, "h").is_ok(), "it can still be handed in");
        }
    }
}

/// P8: a non-empty error fails the assignment; while attempts are left the job is queued again.
#[test]
fn a_failed_assignment_is_tried_again() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    let first = world.submit(vec![job()]);
    for n in 1..=3 {
        assert_eq!(world.end(first), None);
        let handout = world.poll(worker).unwrap();
        assert_eq!(handout.assignment, nth(first, n));
        let failed = PoolResult { error: Some("boom".into()), ..result(handout, "") };
        assert_eq!(world.hand_in_result(worker, failed).unwrap().status, PoolJobStatus::Failed);
    }
    assert_eq!(world.end(first), Some(PoolJobStatus::Failed));
    let second = world.submit(vec![job()]);
    let handout = world.poll(worker).unwrap();
    let empty = PoolResult { error: Some("".into()), ..result(handout, "") };
    assert_eq!(world.hand_in_result(worker, empty).unwrap().status, PoolJobStatus::Completed);
    assert_eq!(world.end(second), Some(PoolJobStatus::Completed));
}

/// P13: a key gives the same jobs again; another body under it is a conflict; keys are the user's own.
#[test]
fn a_key_is_its_users() {
    let mut world = World::new();
    let first = world.submit_as(CLIENT, Some(("k", 1)), vec![job()]).unwrap().0;
    assert_eq!(world.submit_as(CLIENT, Some(("k", 1)), vec![job()]), Ok((first, true)));
    assert_eq!(world.submit_as(CLIENT, Some(("k", 2)), vec![job()]), Err(PoolRejection::KeyConflict));
    world.restart();
    assert_eq!(world.submit_as(CLIENT, Some(("k", 1)), vec![job()]), Ok((first, true)));
    let other = world.submit_as(UserId(2), Some(("k", 2)), vec![job()]).unwrap();
    assert_eq!(other, (PoolJobId(first.0 + 1), false));
}

/// P13: a job is ended by its client or an admin, once; a foreign one is unknown; who is at it hears it at submit.
#[test]
fn a_job_is_cancelled_once() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    let job_id = world.submit(vec![job()]);
    let handout = world.poll(worker).unwrap();
    let cancel = |client: Option<u64>| PoolCommand::Cancel { job: job_id, client: client.map(UserId) };
    assert_eq!(world.ask(cancel(Some(2))), Err(PoolRejection::JobUnknown));
    assert!(matches!(world.ask(cancel(Some(1))), Ok(PoolReply::Cancelled(_))));
    assert_eq!(world.end(job_id), Some(PoolJobStatus::Cancelled));
    assert_eq!(world.ask(cancel(None)), Err(PoolRejection::JobFinished));
    assert_eq!(world.ask(cancel(Some(2))), Err(PoolRejection::JobUnknown));
    assert_eq!(world.hand_in(worker, handout, "h"), Err(PoolRejection::NotSubmittable));
    world.submit(vec![job()]);
    assert!(world.poll(worker).is_some(), "its slot is free");
}

/// P18: jobs of one call are numbered one after the other; too many at once are refused, all of them.
#[test]
fn a_batch_is_taken_whole() {
    let mut world = World::new();
    let first = world.submit((0..100).map(|_| job()).collect());
    assert_eq!(world.counters().next_job, first.0 + 100);
    let many: Vec<PoolJobDraft> = (0..1001u32)
        .map(|n| {
            let requires = amount("x", f64::from(n));
            PoolJobDraft { demand: Demand { region: None, requires }, ..job() }
        })
        .collect();
    let refused = world.submit_as(CLIENT, None, many);
    assert!(matches!(refused, Err(PoolRejection::TooManyDemands { .. })));
    assert_eq!(world.counters().next_job, first.0 + 100, "none was taken");
    let fits: Vec<PoolJobDraft> = (0..1000u32)
        .map(|n| {
            let requires = amount("x", f64::from(n));
            PoolJobDraft { demand: Demand { region: None, requires }, ..job() }
        })
        .collect();
    assert!(world.submit_as(CLIENT, None, fits.clone()).is_ok());
    assert!(world.submit_as(CLIENT, None, fits).is_ok(), "the same again asks for nothing new");
    assert!(world.submit_as(CLIENT, None, vec![job()]).is_ok(), "nor does a job that asks for nothing");
    let other = Demand { region: Some("eu".into()), ..Demand::default() };
    let other = || vec![PoolJobDraft { demand: other.clone(), ..job() }];
    assert!(world.submit_as(CLIENT, None, other()).is_err());
    assert!(world.submit_as(UserId(2), None, other()).is_ok(), "one client's plenty is not another's");
}

/// P19: results and the next leases in one call; a bad result does not stop the others.
#[test]
fn results_and_leases_in_one_call() {
    let mut world = World::new();
    let worker = world.worker(5, 3);
    let first = world.submit((0..6).map(|_| job()).collect());
    let Ok(PoolReply::Worked(PoolWorkReply { results, assignments })) = world.ask(work(worker, vec![], 10))
    else {
        panic!("answered");
    };
    assert_eq!((results.len(), assignments.len()), (0, 3), "as many as it has slots");
    let handed: Vec<PoolResult> = assignments.iter().map(|handout| result(*handout, "h")).collect();
    let wrong = PoolResult { nonce: None, ..handed[1].clone() };
    let said = vec![handed[0].clone(), wrong, handed[0].clone(), handed[2].clone()];
    let Ok(PoolReply::Worked(PoolWorkReply { results, assignments })) = world.ask(work(worker, said, 1))
    else {
        panic!("answered");
    };
    assert!(results[0].is_ok() && results[3].is_ok());
    assert_eq!(results[1], Err(PoolRejection::NonceInvalid));
    assert_eq!(results[2], Err(PoolRejection::AlreadySubmitted { identical: true }));
    assert_eq!(assignments.len(), 1);
    assert_eq!(assignments[0].assignment, nth(PoolJobId(first.0 + 3), 1));
}

/// P16: a key that was replaced verifies nothing any more.
#[test]
fn an_old_key_is_of_no_use() {
    let mut world = World::new();
    let worker = world.worker(5, 1);
    world.submit(vec![job()]);
    let handout = world.poll(worker).unwrap();
    let set = PoolCommand::SetKey { worker: worker.id, owner: worker.owner, public_key: "new".into() };
    assert!(world.ask(set).is_ok());
    assert_eq!(world.hand_in(worker, handout, "h"), Err(PoolRejection::KeyReplaced));
    let said = PoolResult { public_key: "new".into(), ..result(handout, "h") };
    assert!(world.hand_in_result(worker, said).is_ok());
}
