use super::*;
use crate::command::demo::{ledger::pool::JobEnd, pool::JobPlan};
use muster_proof::{KeyPair, Receipt, encode_base64url, signed_bytes};

/// A round in which a worker was killed, another lied, and everything ended as it should.
struct Story {
    jobs: Vec<Job>,
    losses: Vec<PoolLoss>,
    ledger: PoolLedger,
    rest: PoolRest,
}

impl Story {
    fn told() -> Self {
        let workers = (1..).zip(&MEMBERS);
        let workers = workers.map(|(id, plan)| PoolWorker {
            id,
            name: plan.name.to_owned(),
            status: "online".to_owned(),
            ..PoolWorker::default()
        });
        let ledger = PoolLedger { workers: workers.collect(), ..PoolLedger::default() };
        let keys = (1..=4).map(|worker| (worker, keys_of(worker).public_text())).collect();
        let rest = PoolRest { keys, set_aside: vec![7 * 64 + 3], ..PoolRest::default() };
        let losses = vec![PoolLoss { round: 0, worker: "anna-2", held: vec![4 * 64 + 1], spooled: 0 }];
        let mut story = Self { jobs: Vec::new(), losses, ledger, rest };
        story.add(Kind::Sum, &[(1, "COMPLETED")]);
        story.add(Kind::Fails(2), &[(1, "FAILED"), (2, "FAILED")]);
        story.add(Kind::ColdStart, &[(3, "FAILED"), (3, "COMPLETED")]);
        story.add(Kind::LongNap, &[(2, "COMPLETED")]);
        for _ in 0..2 {
            story.add(Kind::Vote, &[(LIAR, "COMPLETED"), (1, "COMPLETED"), (3, "COMPLETED")]);
        }
        story.add(Kind::Vote, &[(1, "COMPLETED"), (3, "COMPLETED"), (LIAR, "REVOKED")]);
        story.add(Kind::Vote, &[(LIAR, "COMPLETED"), (2, "COMPLETED"), (3, "COMPLETED")]);
        for (worker, (agreements, dissents)) in [(1, (3, 0)), (2, (1, 0)), (3, (4, 0)), (LIAR, (0, 3))] {
            let worker = story.worker(worker);
            (worker.agreements, worker.dissents) = (agreements, dissents);
        }
        "banned".clone_into(&mut story.worker(LIAR).status);
        story
    }

    /// Adds a job that ended as planned, with assignments of these workers.
    fn add(&mut self, kind: Kind, assignments: &[(u64, &str)]) {
        let id = self.jobs.len() as u64 + 1;
        let mut job = Job::submitted(JobPlan { kind, number: id }, id, 0);
        job.ending().clone_into(&mut job.status);
        for (place, (worker, state)) in (1..).zip(assignments) {
            let hash = if *worker == LIAR { Some("lie".to_owned()) } else { job.plan.output_hash() };
            let is_signed = *state != "REVOKED";
            self.ledger.assignments.push(Assignment {
                id: id * 64 + place,
                worker: *worker,
                owner: *worker,
                state: (*state).to_owned(),
                granted_at: 1000 - i64::try_from(job.plan.priority()).unwrap(),
                nonce: vec![u8::try_from(id).unwrap(), u8::try_from(place).unwrap()],
                output_hash: hash.filter(|_| *state == "COMPLETED"),
                is_signed,
            });
        }
        let is_right = |row: &&Assignment| row.state == "COMPLETED" && row.worker != LIAR;
        let accepted = self.ledger.assignments_of(id).find(is_right).cloned();
        job.receipt = accepted.as_ref().map(receipt_of);
        let end = JobEnd { status: job.status.clone(), assignment: accepted.map(|row| row.id) };
        self.ledger.ends.insert(id, end);
        self.ledger.jobs += 1;
        self.jobs.push(job);
    }

    fn worker(&mut self, id: u64) -> &mut PoolWorker {
        self.ledger.workers.iter_mut().find(|worker| worker.id == id).unwrap()
    }

    fn assignment(&mut self, id: u64) -> &mut Assignment {
        self.ledger.assignments.iter_mut().find(|assignment| assignment.id == id).unwrap()
    }

    fn findings(&self) -> Vec<Finding> {
        let Self { jobs, losses, ledger, rest } = self;
        PoolEvidence { jobs, losses, ledger, rest, others: 0 }.findings()
    }

    /// What is wrong after something was changed.
    fn wrong(change: fn(&mut Self)) -> Vec<String> {
        let mut story = Self::told();
        change(&mut story);
        story.findings().into_iter().filter(|finding| !finding.is_good).map(|found| found.says).collect()
    }
}

fn keys_of(worker: u64) -> KeyPair {
    KeyPair::from_seed(&[u8::try_from(worker).unwrap(); 32])
}

fn receipt_of(assignment: &Assignment) -> Receipt {
    let signed = signed_bytes(assignment.id, "a nonce", assignment.output_hash.as_deref());
    let keys = keys_of(assignment.worker);
    Receipt {
        assignment_id: assignment.id,
        job_id: assignment.job(),
        worker_id: assignment.worker,
        public_key: keys.public_text(),
        signature: keys.sign(&signed).to_text(),
        signed_bytes: encode_base64url(&signed),
        output_hash: assignment.output_hash.clone(),
        finished_at: "2026-02-08T12:30:45.123000Z".to_owned(),
    }
}

#[test]
fn a_round_that_went_well_is_told_so() {
    let told = Story::told().findings();
    assert!(told.iter().all(|finding| finding.is_good), "{told:?}");
    let jobs =
        "8 jobs of the pool: 7 completed with the right result, 1 failed as planned, 0 cancelled on request";
    assert_eq!(told[0].says, jobs);
    assert!(told[3].says.contains("mallory-1 out 3 times"), "{}", told[3].says);
    assert!(told[5].says.contains("anna-2 was killed at work (kill -9): 1 job begun"), "{}", told[5].says);
}

/// I2, P8, P13: a job that is missing, open, tried too often, or ended in another way or with another result is found.
#[test]
fn no_job_is_missed() {
    for change in [
        (|story| story.ledger.jobs += 1) as fn(&mut Story),
        |story| drop(story.ledger.ends.remove(&2)),
        |story| story.ledger.ends.get_mut(&2).unwrap().status = "completed".to_owned(),
        |story| story.ledger.assignments.retain(|assignment| assignment.id != 2 * 64 + 2),
        |story| story.jobs[0].plan.number = 77,
        |story| story.ledger.ends.get_mut(&1).unwrap().assignment = None,
    ] {
        let wrong = Story::wrong(change);
        assert!(
            wrong.iter().any(|says| says.contains("of the pool") || says.contains("to the pool")),
            "{wrong:?}"
        );
    }
}

/// P5, P8: two results of a job, a nonce twice, a lease that ran out or is still held are found.
#[test]
fn no_result_is_taken_twice() {
    for change in [
        (|story| story.assignment(65).state = "STARTED".to_owned()) as fn(&mut Story),
        |story| story.assignment(3 * 64 + 1).state = "EXPIRED".to_owned(),
        |story| story.assignment(3 * 64 + 1).state = "REVOKED".to_owned(),
        |story| story.assignment(3 * 64 + 1).state = "COMPLETED".to_owned(),
        |story| story.assignment(5 * 64 + 2).owner = 3,
        |story| story.assignment(65).nonce = vec![2, 1],
        |story| story.assignment(65).is_signed = false,
    ] {
        let wrong = Story::wrong(change);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
    }
}

/// P14: who is more urgent comes first; whoever has the same moment may come in any order.
#[test]
fn the_order_is_that_of_priorities() {
    let order = |first: i64| {
        let mut story = Story::told();
        story.assignment(65).granted_at = first;
        story.findings()[2].is_good
    };
    assert!(!order(0), "priority 37 before 74");
    assert!(order(926) && order(2000));
}

/// P15: an honest worker that dissented, a liar that stayed, and a count that is not what the votes say are found.
#[test]
fn nobody_is_judged_wrongly() {
    for change in [
        (|story| story.worker(LIAR).status = "online".to_owned()) as fn(&mut Story),
        |story| story.worker(1).status = "banned".to_owned(),
        |story| story.worker(LIAR).dissents = 4,
        |story| story.worker(1).agreements = 2,
        |story| story.worker(LIAR).name = "anna-1".to_owned(),
        |story| story.assignment(5 * 64 + 3).output_hash = None,
        |story| {
            (story.jobs[6].round, story.losses[0].round) = (1, 1);
            story.losses.push(PoolLoss { round: 0, worker: "anna-2", held: vec![4 * 64 + 1], spooled: 0 });
        },
    ] {
        let wrong = Story::wrong(change);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
    }
}

/// P9, P17: a receipt that is missing, of another job, of a key that is not the worker's, or changed proves nothing.
#[test]
fn a_receipt_must_prove() {
    for change in [
        (|story| story.jobs[0].receipt = None) as fn(&mut Story),
        |story| story.jobs[0].receipt = story.jobs[2].receipt.clone(),
        |story| drop(story.rest.keys.insert(1, keys_of(2).public_text())),
        |story| drop(story.rest.keys.remove(&2)),
        |story| story.jobs[0].receipt.as_mut().unwrap().output_hash = None,
        |story| story.jobs[0].receipt.as_mut().unwrap().signature = keys_of(1).sign(b"else").to_text(),
    ] {
        let wrong = Story::wrong(change);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].starts_with("the receipt of job "), "{wrong:?}");
    }
}

/// P6, P16: what a killed worker held must have been handed in by it, and nothing may be left in a spool.
#[test]
fn a_loss_is_made_good() {
    assert_eq!(Story::wrong(|story| story.losses.clear()), ["no worker of the pool was killed at work"]);
    assert_eq!(Story::wrong(|story| story.losses[0].held.clear()).len(), 1);
    assert_eq!(Story::wrong(|story| story.losses[0].held.push(7 * 64 + 3)).len(), 1);
    assert_eq!(Story::wrong(|story| story.rest.spooled = 1).len(), 1);
    assert_eq!(
        Story::wrong(|story| story.rest.set_aside.push(65)),
        ["the result of assignment 65 was refused"]
    );
    assert_eq!(Story::wrong(|story| story.rest.unwell.push("x".to_owned())), ["x"]);
}

/// P13: whoever stops the demo early cancels what is open, and all is well with that.
#[test]
fn what_was_cancelled_on_request_is_no_fault() {
    let wrong = Story::wrong(|story| {
        let job = story.jobs.iter_mut().find(|job| job.id == 4).unwrap();
        (job.is_cancelled, job.receipt) = (true, None);
        story.ledger.ends.insert(4, JobEnd { status: "cancelled".to_owned(), assignment: None });
        let row = story.assignment(4 * 64 + 1);
        (row.state, row.is_signed, row.output_hash) = ("REVOKED".to_owned(), false, None);
        story.losses.clear();
    });
    assert_eq!(wrong, Vec::<String>::new());
}

/// The last of [`MEMBERS`].
const LIAR: u64 = 4;
