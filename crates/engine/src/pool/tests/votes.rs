use super::*;
use alloc::vec;

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
            let handout = world.poll(honest).unwrap();
            assert!(world.hand_in(honest, handout, "right").is_ok());
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
        let handout = world.poll(*worker).unwrap();
        assert!(world.hand_in(*worker, handout, hash).is_ok());
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
        let handout = world.poll(honest).unwrap();
        assert!(world.hand_in(honest, handout, "right").is_ok());
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
        let handout = world.poll(*worker).unwrap();
        assert!(world.hand_in(*worker, handout, hash).is_ok());
    }
    assert_eq!(world.end(id), None, "two of four");
    let handout = world.poll(workers[4]).unwrap();
    assert!(world.hand_in(workers[4], handout, "a").is_ok());
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
        let handout = world.poll(honest).unwrap();
        assert!(world.hand_in(honest, handout, "h").is_ok());
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
