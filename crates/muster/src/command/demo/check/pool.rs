//! Compares what the pool's tables say with what was submitted, with what became of the workers, and with what anybody can
//! prove without asking: every job ended once and as planned, and whoever lied was shut out.

use super::{
    super::{
        ledger::pool::{Assignment, PoolLedger, PoolWorker},
        paint::grouped,
        pool::{Job, Kind, LIES_UNTIL_BANNED, MEMBERS, PoolLoss, PoolRest},
    },
    Finding, bad, counted, good,
};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// What is compared.
#[derive(Clone, Copy)]
pub(in super::super) struct PoolEvidence<'a> {
    pub(in super::super) jobs: &'a [Job],
    pub(in super::super) losses: &'a [PoolLoss],
    pub(in super::super) ledger: &'a PoolLedger,
    pub(in super::super) rest: &'a PoolRest,
    /// How many jobs others submitted.
    pub(in super::super) others: u64,
}

impl PoolEvidence<'_> {
    pub(super) fn findings(&self) -> Vec<Finding> {
        let checks = [
            self.jobs_as_planned(),
            self.results_taken_once(),
            self.urgent_first(),
            self.liar_shut_out(),
            self.receipts_prove(),
            self.losses_made_good(),
            self.workers_at_rest(),
        ];
        checks.into_iter().map(|check| check.map_or_else(bad, good)).collect()
    }

    /// P8, P13, P18: each job ended as planned, after as many attempts, with the right result.
    fn jobs_as_planned(&self) -> Result<String, String> {
        let (submitted, kept) = (self.jobs.len() as u64, self.ledger.jobs.saturating_sub(self.others));
        if submitted != kept || self.ledger.jobs != self.ledger.ends.len() as u64 {
            return Err(format!(
                "{submitted} jobs submitted to the pool, {kept} kept, {} ended",
                self.ledger.ends.len()
            ));
        }
        let wrong: Vec<String> = self.jobs.iter().filter_map(|job| self.wrong_with(job)).collect();
        if let Some(first) = wrong.first() {
            return Err(format!("{} jobs of the pool are not as planned; the first: {first}", wrong.len()));
        }
        let count = |ending: &str| self.jobs.iter().filter(|job| job.ending() == ending).count();
        Ok(format!(
            "{} of the pool: {} completed with the right result, {} failed as planned, {} cancelled on request",
            counted(submitted, "job", "jobs"),
            count("completed"),
            count("failed"),
            count("cancelled")
        ))
    }

    fn wrong_with(&self, job: &Job) -> Option<String> {
        let Some(end) = self.ledger.ends.get(&job.id) else {
            return Some(format!("{} has not ended", job.id));
        };
        if end.status != job.ending() {
            return Some(format!("{} ended {}, not {}", job.id, end.status, job.ending()));
        }
        let attempts = self.ledger.assignments_of(job.id).count();
        if job.is_cancelled || job.plan.attempts().is_some_and(|planned| planned != attempts) {
            return (!job.is_cancelled).then(|| format!("{} was tried {attempts} times", job.id));
        }
        let hash = self.accepted(job).and_then(|assignment| assignment.output_hash.clone());
        (hash != job.plan.output_hash()).then(|| format!("{} came to another result", job.id))
    }

    /// P5, P8, P15: nothing is still out, no lease ran out, no result was taken twice or of the same owner twice.
    fn results_taken_once(&self) -> Result<String, String> {
        let assignments = &self.ledger.assignments;
        let nonces: BTreeSet<&[u8]> = assignments.iter().map(|assignment| &*assignment.nonce).collect();
        if nonces.len() != assignments.len() {
            return Err(format!("{} assignments have {} nonces", assignments.len(), nonces.len()));
        }
        for assignment in assignments {
            let has_result = matches!(assignment.state.as_str(), "COMPLETED" | "FAILED");
            let may_be_revoked =
                self.job(assignment).is_some_and(|job| job.plan.kind == Kind::Vote || job.is_cancelled);
            if has_result != assignment.is_signed
                || !(has_result || assignment.state == "REVOKED" && may_be_revoked)
            {
                return Err(format!("assignment {} is {}", assignment.id, assignment.state));
            }
        }
        for job in self.jobs {
            let done =
                self.ledger.assignments_of(job.id).filter(|assignment| assignment.state == "COMPLETED");
            let owners: Vec<u64> = done.map(|assignment| assignment.owner).collect();
            let distinct: BTreeSet<&u64> = owners.iter().collect();
            let most = if job.plan.kind == Kind::Vote { distinct.len() } else { 1 };
            if owners.len() > most {
                return Err(format!("job {} has {} results", job.id, owners.len()));
            }
        }
        let signed = assignments.iter().filter(|assignment| assignment.is_signed).count();
        Ok(format!(
            "{} assignments, each with a nonce of its own: {} signed results taken, each once, no lease ran out",
            grouped(assignments.len() as u64),
            grouped(signed as u64)
        ))
    }

    /// P14: of the jobs that one worker does, those with a higher priority were given out first, region by region.
    fn urgent_first(&self) -> Result<String, String> {
        let mut lines: BTreeMap<(usize, &str), Vec<(i64, u64)>> = BTreeMap::new();
        // The long ones are for one worker only, and so wait for another thing than the rest.
        for job in self.jobs.iter().filter(|job| job.plan.kind != Kind::LongNap) {
            let first = self.ledger.assignments_of(job.id).find(|assignment| assignment.is_first());
            if let Some((region, first)) = job.plan.region().zip(first) {
                let line = lines.entry((job.round, region)).or_default();
                line.push((first.granted_at, 100 - job.plan.priority()));
            }
        }
        for line in lines.values_mut() {
            line.sort_unstable();
            if let Some(pair) = line.windows(2).find(|pair| pair[0].1 > pair[1].1) {
                return Err(format!(
                    "a job of priority {} was given out before one of {}",
                    100 - pair[0].1,
                    100 - pair[1].1
                ));
            }
        }
        Ok("the pool's urgent jobs were given out first".to_owned())
    }

    /// P15: everybody was judged by the majority, and who disagreed with it too often was shut out; nobody else was.
    fn liar_shut_out(&self) -> Result<String, String> {
        let (mut out, votes) = (Vec::new(), self.votes());
        for worker in &self.ledger.workers {
            let PoolWorker { name, agreements, dissents, .. } = worker;
            let (agreed, dissented) = votes.get(&worker.id).copied().unwrap_or_default();
            if (agreed, dissented) != (*agreements, *dissents) {
                return Err(format!(
                    "{name} agreed {agreed} times and dissented {dissented} times, and was judged {agreements} and {dissents}"
                ));
            }
            let is_banned = worker.status == "banned";
            if is_banned != (dissented >= LIES_UNTIL_BANNED) {
                return Err(format!("{name} dissented {dissented} times and is {}", worker.status));
            }
            let is_liar = MEMBERS.iter().any(|plan| plan.name == *name && plan.is_liar());
            if !is_liar && dissented > 0 {
                return Err(format!("{name} is honest and dissented"));
            }
            if is_banned && self.got_later_work(worker.id) {
                return Err(format!("{name} was given work after it was shut out"));
            }
            out.extend(is_banned.then_some((name, dissented)));
        }
        let is_voted = self.jobs.iter().any(|job| job.plan.kind == Kind::Vote && !job.is_cancelled);
        match out.as_slice() {
            [(name, dissents)] => Ok(format!(
                "the majority found {name} out {dissents} times: it was shut out, nobody else dissented"
            )),
            [] if !is_voted => Ok("there was no vote this time".to_owned()),
            [] if self.jobs.iter().any(|job| job.is_cancelled) => {
                Ok("the vote was cancelled before anybody was shut out".to_owned())
            }
            _ => Err(format!("{} workers were shut out, not one", out.len())),
        }
    }

    /// Whether a worker was given work in another round than the first, at whose end it was shut out.
    fn got_later_work(&self, worker: u64) -> bool {
        let mut own = self.ledger.assignments.iter().filter(|assignment| assignment.worker == worker);
        own.any(|assignment| self.job(assignment).is_some_and(|job| job.round > 0))
    }

    /// How often each worker agreed with a majority, and how often it did not.
    fn votes(&self) -> BTreeMap<u64, (u64, u64)> {
        let mut votes: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for job in self.jobs.iter().filter(|job| job.plan.kind == Kind::Vote) {
            let Some(winner) = self.accepted(job) else { continue };
            let cast =
                self.ledger.assignments_of(job.id).filter(|assignment| assignment.state == "COMPLETED");
            for assignment in cast {
                let (agreed, dissented) = votes.entry(assignment.worker).or_default();
                let is_same = assignment.output_hash == winner.output_hash;
                *(if is_same { agreed } else { dissented }) += 1;
            }
        }
        votes
    }

    /// P9, P17: each completed job has a receipt that proves, without asking anybody, who stands for the right result.
    fn receipts_prove(&self) -> Result<String, String> {
        let completed = self.jobs.iter().filter(|job| job.ending() == "completed");
        let mut proven = 0;
        for job in completed {
            self.proves(job).map_err(|fault| format!("the receipt of job {}: {fault}", job.id))?;
            proven += 1;
        }
        Ok(format!(
            "{} verify offline, against the workers' own keys",
            counted(proven, "receipt", "receipts")
        ))
    }

    fn proves(&self, job: &Job) -> Result<(), String> {
        let receipt = job.receipt.as_ref().ok_or("there is none")?;
        let key = self.rest.keys.get(&receipt.worker_id).ok_or("it names no worker of the demo")?;
        receipt.check(Some(key)).map_err(|fault| fault.to_string())?;
        let accepted = self.accepted(job).map(|assignment| assignment.id);
        if receipt.job_id != job.id || Some(receipt.assignment_id) != accepted {
            return Err("it is about something else".to_owned());
        }
        if receipt.output_hash != job.plan.output_hash() {
            return Err("it proves another result".to_owned());
        }
        Ok(())
    }

    /// P6, P16: what a killed worker was at was done under the same assignments after its restart.
    fn losses_made_good(&self) -> Result<String, String> {
        let rounds: BTreeSet<usize> = self.jobs.iter().map(|job| job.round).collect();
        for round in rounds {
            let is_cancelled = self.jobs.iter().any(|job| job.round == round && job.is_cancelled);
            let is_killed = self.losses.iter().any(|loss| loss.round == round && loss.is_midway());
            if !is_cancelled && !is_killed {
                return Err("no worker of the pool was killed at work".to_owned());
            }
        }
        let held: Vec<u64> = self.losses.iter().flat_map(|loss| &loss.held).copied().collect();
        for assignment in self.ledger.assignments.iter().filter(|assignment| held.contains(&assignment.id)) {
            let is_cancelled = self.job(assignment).is_some_and(|job| job.is_cancelled);
            if !assignment.is_signed && !is_cancelled {
                return Err(format!(
                    "assignment {} of a killed worker is {}",
                    assignment.id, assignment.state
                ));
            }
        }
        let spooled: usize = self.losses.iter().map(|loss| loss.spooled).sum();
        Ok(match self.losses {
            [] => "no worker of the pool was killed this time".to_owned(),
            [loss] => format!(
                "the pool worker {} was killed at work (kill -9): {} begun and {spooled} in its spool were handed in \
                 after the restart, each once",
                loss.worker,
                counted((held.len() - spooled) as u64, "job", "jobs"),
            ),
            more => format!(
                "workers of the pool were killed at work (kill -9) {} times: what they had begun was handed in after \
                 the restart, each once",
                more.len()
            ),
        })
    }

    /// P16: workers that are asked to leave hand in everything first. What was refused for good came too late for a vote,
    /// or for a job that was cancelled.
    fn workers_at_rest(&self) -> Result<String, String> {
        let PoolRest { spooled, unwell, set_aside, .. } = self.rest;
        if let Some(first) = unwell.first() {
            return Err(first.clone());
        }
        if *spooled > 0 {
            return Err(format!("{spooled} results are left in the spools of the pool's workers"));
        }
        let is_late = |id: &u64| {
            let mut assignments = self.ledger.assignments.iter();
            assignments.any(|assignment| assignment.id == *id && assignment.state == "REVOKED")
        };
        match set_aside.iter().find(|id| !is_late(id)) {
            Some(id) => Err(format!("the result of assignment {id} was refused")),
            None => Ok(format!(
                "the pool's workers left on request, their spools empty; {} came too late and were kept",
                counted(set_aside.len() as u64, "result", "results")
            )),
        }
    }

    fn job(&self, assignment: &Assignment) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id == assignment.job())
    }

    /// Whose result was taken for the job's; nothing where it did not complete.
    fn accepted(&self, job: &Job) -> Option<&Assignment> {
        let end = self.ledger.ends.get(&job.id).filter(|end| end.status == "completed")?;
        self.ledger.assignments_of(job.id).find(|assignment| Some(assignment.id) == end.assignment)
    }
}
