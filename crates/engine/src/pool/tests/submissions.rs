//! P7, P8, P11, P13, P15, P18, P19: results and jobs as they are handed in, and votes.

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
    let demanding = |n: u32| {
        let requires = amount("x", f64::from(n));
        PoolJobDraft { demand: Demand { region: None, requires }, ..job() }
    };
    let refused = world.submit_as(CLIENT, None, (0..1001).map(demanding).collect());
    assert!(matches!(refused, Err(PoolRejection::TooManyDemands { .. })));
    assert_eq!(world.counters().next_job, first.0 + 100, "none was taken");
    let fits: Vec<PoolJobDraft> = (0..1000).map(demanding).collect();
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

/// P15: different owners do the same job; it completes when a majority agree, and those still at it are too late.
#[test]
fn a_majority_completes() {
    let mut world = World::new();
    let (a, same, b, c) = (world.worker(1, 1), world.worker(1, 1), world.worker(2, 1), world.worker(3, 1));
    let id = world.submit(vec![redundant(3)]);
    let one = world.poll(a).unwrap();
    assert_eq!(world.poll(same), None, "the same owner's other worker does not get it");
    let (two, three) = (world.poll(b).unwrap(), world.poll(c).unwrap());
    assert!(world.hand_in(a, one, "right").is_ok());
    assert_eq!(world.end(id), None);
    assert_eq!(world.poll(same), None, "its owner has voted");
    assert!(world.hand_in(b, two, "right").is_ok());
    assert_eq!(world.end(id), Some(PoolJobStatus::Completed));
    assert_eq!(world.hand_in(c, three, "right"), Err(PoolRejection::NotSubmittable));
    assert_eq!(world.record(c).dissents, 0, "whoever was late is not judged");
}

/// P15: a dissenter's reputation falls; three dissents ban it; what it holds goes back.
#[test]
fn three_dissents_ban() {
    let mut world = World::new();
    let (a, b, liar) = (world.worker(1, 1), world.worker(2, 1), world.worker(3, 2));
    for round in 1..=3 {
        let id = world.submit(vec![redundant(3)]);
        let lie = world.poll(liar).unwrap();
        assert!(world.hand_in(liar, lie, "wrong").is_ok());
        for honest in [a, b] {
            world.finish(honest, "right");
        }
        assert_eq!(world.end(id), Some(PoolJobStatus::Completed));
        assert_eq!(world.record(liar).dissents, round);
        assert!(world.record(liar).reputation() < world.record(a).reputation());
    }
    assert_eq!(world.record(liar).status.as_str(), "banned");
    assert_eq!((world.record(a).dissents, world.record(a).agreements), (0, 3));
    world.restart();
    world.submit(vec![job()]);
    assert_eq!(world.poll(liar), None);
}

/// P15: without a majority one more worker is asked, up to `max_attempts`; then the job fails and nobody is blamed.
#[test]
fn no_majority_asks_one_more() {
    let mut world = World::new();
    let workers: Vec<Worker> = (1..=4).map(|owner| world.worker(owner, 1)).collect();
    let id = world.submit(vec![PoolJobDraft { max_attempts: Some(3), ..redundant(2) }]);
    let (one, two) = (world.poll(workers[0]).unwrap(), world.poll(workers[1]).unwrap());
    assert_eq!(world.poll(workers[2]), None);
    assert!(world.hand_in(workers[0], one, "x").is_ok());
    assert!(world.hand_in(workers[1], two, "yy").is_ok());
    world.restart();
    let three = world.poll(workers[2]).unwrap();
    assert_eq!(world.poll(workers[3]), None, "one after the other");
    assert!(world.hand_in(workers[2], three, "zzz").is_ok());
    assert_eq!(world.end(id), Some(PoolJobStatus::Failed));
    assert!(workers.iter().all(|worker| world.record(*worker).dissents == 0));
    let id = world.submit(vec![redundant(2)]);
    for (worker, hash) in workers.iter().zip(["x", "yy", "yy"]) {
        world.finish(*worker, hash);
    }
    assert_eq!(world.end(id), Some(PoolJobStatus::Completed));
    assert_eq!(world.record(workers[0]).dissents, 1);
}

/// P15: a result of a redundant job needs an output; the hash that is computed from it is the vote, declared or not; a
/// declared one that differs is refused. A failure is no vote and needs no output.
#[test]
fn a_vote_is_computed_from_the_output() {
    let mut world = World::new();
    let workers: Vec<Worker> = (1..=4).map(|owner| world.worker(owner, 1)).collect();
    let id = world.submit(vec![PoolJobDraft { max_attempts: Some(5), ..redundant(3) }]);
    let handouts: Vec<_> = workers[..3].iter().map(|worker| world.poll(*worker).unwrap()).collect();
    let bare = PoolResult { output_hash: Some("h".into()), ..result(handouts[0], "") };
    for (said, refused) in [
        (result(handouts[0], ""), PoolRejection::OutputRequired),
        (bare, PoolRejection::OutputRequired),
        (false_output(handouts[0], "h"), PoolRejection::HashMismatch),
        (PoolResult { nonce: None, ..result(handouts[0], "") }, PoolRejection::NonceInvalid),
    ] {
        assert_eq!(world.hand_in_result(workers[0], said), Err(refused));
    }
    let broken = PoolResult { error: Some("boom".into()), ..result(handouts[0], "") };
    assert_eq!(world.hand_in_result(workers[0], broken).unwrap().status, PoolJobStatus::Failed);
    let silent = PoolResult { output_hash: None, hash_matches: None, ..result(handouts[1], "h") };
    assert!(world.hand_in_result(workers[1], silent).is_ok(), "no hash is declared");
    world.restart();
    assert!(world.hand_in(workers[2], handouts[2], "h").is_ok());
    assert_eq!(world.end(id), Some(PoolJobStatus::Completed));
    assert_eq!(world.row(nth(id, 2)).output_hash, None, "what the worker signed stays as it is");
    assert_eq!((world.record(workers[1]).agreements, world.record(workers[0]).agreements), (1, 0));
}

/// P15: whoever declares the right hash with a false output and answers first is refused; the true output wins.
#[test]
fn a_right_hash_with_a_false_output_does_not_win() {
    let mut world = World::new();
    let (swindler, a, b) = (world.worker(1, 1), world.worker(2, 1), world.worker(3, 1));
    let id = world.submit(vec![redundant(3)]);
    let first = world.poll(swindler).unwrap();
    let refused = Err(PoolRejection::HashMismatch);
    assert_eq!(world.hand_in_result(swindler, false_output(first, "right")), refused);
    for honest in [a, b] {
        world.finish(honest, "right");
    }
    assert_eq!(world.winner(id), Some(nth(id, 2)), "the first honest result");
}

/// P15: what is voted on is output and artifact together, not the output's hash alone.
#[test]
fn another_artifact_is_another_vote() {
    let mut world = World::new();
    let workers: Vec<Worker> = (1..=3).map(|owner| world.worker(owner, 1)).collect();
    let id = world.submit(vec![redundant(3)]);
    for (worker, vote) in workers.iter().zip(["other-artifact", "artifact", "artifact"]) {
        let handout = world.poll(*worker).unwrap();
        let said = PoolResult { vote: Some(vote.into()), ..result(handout, "same-output") };
        assert!(world.hand_in_result(*worker, said).is_ok());
    }
    assert_eq!(world.winner(id), Some(nth(id, 2)));
    assert_eq!(workers.iter().map(|worker| world.record(*worker).dissents).collect::<Vec<_>>(), [1, 0, 0]);
}

/// P15: votes that an earlier version stored stay as they are: for it the declared hash was the vote, and a result without
/// one was no vote. New results of such a job follow the new rule.
#[test]
fn stored_votes_of_an_earlier_version_stay() {
    let mut world = World::new();
    let workers: Vec<Worker> = (1..=3).map(|owner| world.worker(owner, 1)).collect();
    let id = world.submit(vec![PoolJobDraft { max_attempts: Some(4), ..redundant(3) }]);
    let handouts: Vec<_> = workers.iter().map(|worker| world.poll(*worker).unwrap()).collect();
    assert!(world.hand_in(workers[0], handouts[0], "h").is_ok());
    assert!(world.hand_in(workers[1], handouts[1], "x").is_ok());
    // As the earlier version wrote them: a declared hash, and none.
    world.row_mut(nth(id, 1)).vote = None;
    let null = world.row_mut(nth(id, 2));
    (null.vote, null.output_hash) = (None, None);
    world.restart();
    assert_eq!(
        world.hand_in_result(workers[2], false_output(handouts[2], "h")),
        Err(PoolRejection::HashMismatch)
    );
    assert!(world.hand_in(workers[2], handouts[2], "h").is_ok());
    assert_eq!(world.winner(id), Some(nth(id, 1)), "the stored vote and the new one agree");
    let dissents = workers.iter().map(|worker| world.record(*worker).dissents);
    assert_eq!(dissents.collect::<Vec<_>>(), [0, 0, 0], "no vote is no dissent");
}

/// P15: more than half of the votes cast must agree, not only as many as were asked for at first.
#[test]
fn a_majority_is_of_all_votes() {
    let mut world = World::new();
    let workers: Vec<Worker> = (1..=6).map(|owner| world.worker(owner, 1)).collect();
    let id = world.submit(vec![PoolJobDraft { max_attempts: Some(6), ..redundant(3) }]);
    for (worker, hash) in workers.iter().zip(["a", "bb", "ccc", "a"]) {
        world.finish(*worker, hash);
    }
    assert_eq!(world.end(id), None, "two of four");
    world.finish(workers[4], "a");
    assert_eq!(world.end(id), Some(PoolJobStatus::Completed), "three of five");
}

/// P15: no owner alone uses up the attempts of a redundant job: whoever failed at it, or let it lapse, does not get it
/// again, also after a restart; while no other owner is there it waits, and that is explained.
#[test]
fn one_owner_cannot_use_up_a_redundant_job() {
    let mut world = World::new();
    let (bad, lazy) = (world.worker(1, 2), world.worker(2, 1));
    let id = world.submit(vec![PoolJobDraft { max_attempts: Some(4), ..redundant(3) }]);
    let failed = world.poll(bad).unwrap();
    let failed = PoolResult { error: Some("boom".into()), ..result(failed, "") };
    assert!(world.hand_in_result(bad, failed).is_ok());
    assert_eq!(world.poll(bad), None);
    assert!(world.poll(lazy).is_some());
    world.pass(901);
    world.beat(lazy);
    world.restart();
    assert_eq!((world.poll(bad), world.poll(lazy)), (None, None));
    let why = world.stage.engine.explain_pool(id);
    assert_eq!(why, Some(muster_model::PoolCause::TooFewOwners { owners: 2, needed: 4 }));
    for owner in 3..=4 {
        let honest = world.worker(owner, 1);
        world.finish(honest, "h");
    }
    assert_eq!(world.end(id), Some(PoolJobStatus::Completed));
}

/// P15, P14: what was taken back from a banned worker does not bar its owner's other workers.
#[test]
fn a_revoked_assignment_bars_nobody() {
    let mut world = World::new();
    let (banned, other) = (world.worker(1, 1), world.worker(1, 1));
    world.submit(vec![redundant(2)]);
    assert!(world.poll(banned).is_some());
    assert_eq!(world.poll(other), None);
    assert!(world.ask(PoolCommand::Ban { worker: banned.id, reason: "x".into() }).is_ok());
    assert!(world.poll(other).is_some());
}

/// A result that declares a hash which its output does not have.
fn false_output(handout: PoolHandout, declared: &str) -> PoolResult {
    let computed = Some("hash of something else".into());
    PoolResult { hash_matches: Some(false), vote: computed, ..result(handout, declared) }
}
