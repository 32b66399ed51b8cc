//! What the jobs of the pool came to, and what each of its workers did.

use super::{
    super::{
        ledger::pool::{Assignment, PoolLedger},
        pool::{Job, Kind, Member, Pool},
    },
    empty_table, millis, number, times,
};
use comfy_table::Cell;
use serde_json::{Value, json};
use std::time::Duration;

/// What there is to tell of the pool.
#[derive(Clone, Copy)]
pub(in super::super) struct PoolSummary<'a> {
    pub(in super::super) pool: &'a Pool,
    pub(in super::super) ledger: &'a PoolLedger,
}

/// What became of jobs of a sort.
#[derive(Debug, PartialEq, Eq)]
struct JobCounts {
    title: &'static str,
    jobs: u64,
    completed: u64,
    failed: u64,
    cancelled: u64,
    assignments: u64,
}

/// What a sort of jobs is called, and which they are.
type Sort = (&'static str, fn(Kind) -> bool);

/// What one worker did.
struct MemberCounts {
    name: &'static str,
    owner: &'static str,
    completed: u64,
    failed: u64,
    late: u64,
    dissents: u64,
    is_banned: bool,
    starts: u64,
}

impl PoolSummary<'_> {
    pub(super) fn job_table(&self, is_terminal: bool) -> String {
        let mut table = empty_table(is_terminal);
        table.set_header(["JOBS OF THE POOL", "JOBS", "DONE", "FAILED", "CANCELLED", "ASSIGNMENTS"]);
        for JobCounts { title, jobs, completed, failed, cancelled, assignments } in self.job_counts() {
            let counts = [jobs, completed, failed, cancelled, assignments].map(number);
            table.add_row([Cell::new(title)].into_iter().chain(counts));
        }
        table.trim_fmt()
    }

    pub(super) fn worker_table(&self, is_terminal: bool) -> String {
        let mut table = empty_table(is_terminal);
        table.set_header([
            "POOL WORKER",
            "OWNER",
            "STATUS",
            "RESULTS",
            "ERRORS",
            "TOO LATE",
            "DISSENTS",
            "STARTED",
        ]);
        for member in self.pool.members().iter().map(|member| self.member_counts(member)) {
            let status = if member.is_banned { "banned" } else { "in good standing" };
            let words = [member.name, member.owner, status].map(Cell::new);
            let counts = [member.completed, member.failed, member.late, member.dissents].map(number);
            table.add_row(words.into_iter().chain(counts).chain([times(member.starts)]));
        }
        table.trim_fmt()
    }

    pub(super) fn document(&self) -> Value {
        let jobs = self.job_counts().into_iter().map(|counts| {
            let JobCounts { title, jobs, completed, failed, cancelled, assignments } = counts;
            json!({"title": title, "jobs": jobs, "completed": completed, "failed": failed, "cancelled": cancelled,
                "assignments": assignments})
        });
        let workers = self.pool.members().iter().map(|member| {
            let counts = self.member_counts(member);
            json!({"name": counts.name, "owner": counts.owner, "completed": counts.completed,
                "failed": counts.failed, "revoked": counts.late, "dissents": counts.dissents,
                "banned": counts.is_banned, "starts": counts.starts})
        });
        let receipts = self.pool.jobs().iter().filter(|job| job.receipt.is_some()).count();
        let took: Vec<Option<f64>> =
            self.pool.rounds().iter().map(|round| round.took.map(|took: Duration| millis(took))).collect();
        json!({"jobs": jobs.collect::<Vec<_>>(), "workers": workers.collect::<Vec<_>>(), "receipts": receipts,
            "killed": self.pool.losses().len(), "durations_ms": took})
    }

    fn job_counts(&self) -> Vec<JobCounts> {
        SORTS
            .iter()
            .map(|(title, is_it)| job_counts((title, *is_it), self.pool.jobs(), self.ledger))
            .collect()
    }

    fn member_counts(&self, member: &Member) -> MemberCounts {
        let own = self.ledger.assignments.iter().filter(|assignment| assignment.worker == member.id);
        let count = |state: &str| own.clone().filter(|assignment| assignment.state == state).count() as u64;
        let kept = self.ledger.workers.iter().find(|worker| worker.id == member.id);
        MemberCounts {
            name: member.plan.name,
            owner: member.plan.owner,
            completed: count("COMPLETED"),
            failed: count("FAILED"),
            late: count("REVOKED"),
            dissents: kept.map_or(0, |worker| worker.dissents),
            is_banned: kept.is_some_and(|worker| worker.status == "banned"),
            starts: member.starts(),
        }
    }
}

fn job_counts((title, is_it): Sort, jobs: &[Job], ledger: &PoolLedger) -> JobCounts {
    let jobs: Vec<&Job> = jobs.iter().filter(|job| is_it(job.plan.kind)).collect();
    let ended = |status: &str| {
        let is_so = |job: &&&Job| ledger.ends.get(&job.id).is_some_and(|end| end.status == status);
        jobs.iter().filter(is_so).count() as u64
    };
    let is_theirs = |assignment: &&Assignment| jobs.iter().any(|job| job.id == assignment.job());
    JobCounts {
        title,
        jobs: jobs.len() as u64,
        completed: ended("completed"),
        failed: ended("failed"),
        cancelled: ended("cancelled"),
        assignments: ledger.assignments.iter().filter(is_theirs).count() as u64,
    }
}

/// Sorts of jobs, as they are told of.
const SORTS: [Sort; 4] = [
    ("done by one worker", |kind| matches!(kind, Kind::Sum | Kind::Nap | Kind::LongNap | Kind::Prompt)),
    ("fail once, then work", |kind| kind == Kind::ColdStart),
    ("fail every time", |kind| matches!(kind, Kind::Fails(_))),
    ("voted on by three owners", |kind| kind == Kind::Vote),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::demo::{ledger::pool::JobEnd, pool::JobPlan};

    #[test]
    fn each_job_is_counted_among_its_sort() {
        let job = |id: u64, kind: Kind| Job::submitted(JobPlan { kind, number: id }, id, 0);
        let jobs = [job(1, Kind::Sum), job(2, Kind::Vote), job(3, Kind::Vote), job(4, Kind::Fails(2))];
        let end = |status: &str| JobEnd { status: status.to_owned(), assignment: None };
        let ledger = PoolLedger {
            ends: [(1, end("completed")), (2, end("completed")), (3, end("cancelled"))].into(),
            assignments: [65, 129, 130, 131, 193]
                .map(|id| Assignment { id, ..Assignment::default() })
                .into_iter()
                .collect(),
            ..PoolLedger::default()
        };
        let counts = SORTS.map(|sort| job_counts(sort, &jobs, &ledger));
        assert_eq!(counts.each_ref().map(|sort| sort.jobs), [1, 0, 1, 2]);
        let JobCounts { completed, failed, cancelled, assignments, .. } = counts[3];
        assert_eq!((completed, failed, cancelled, assignments), (1, 0, 1, 4));
    }
}
