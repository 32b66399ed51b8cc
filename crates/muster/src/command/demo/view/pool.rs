//! The pool, in one line.

use super::{
    super::{
        paint::Paint,
        pool::{Job, Member, Pool},
    },
    KILLED,
};

/// How far the jobs of the newest round are, and who of the workers is down or shut out.
pub(super) fn pool_line(paint: Paint, pool: &Pool) -> String {
    let mut line = format!("{}  {}", paint.strong("pool  "), pool_words(pool));
    for member in pool.members() {
        let Member { plan, standing, .. } = member;
        if member.down_since().is_some() {
            line.push_str(&format!("  {}", paint.bad(&format!("{} {KILLED}", plan.name))));
        } else if standing.is_banned() {
            line.push_str(&format!("  {}", paint.note(&format!("{} {BANNED}", plan.name))));
        } else if standing.dissents > 0 {
            line.push_str(&format!(
                "  {}",
                paint.note(&format!("{}: {} dissents", plan.name, standing.dissents))
            ));
        }
    }
    line
}

/// How far the newest round is, or how it ended.
pub(super) fn pool_words(pool: &Pool) -> String {
    let newest = pool.rounds().len().saturating_sub(1);
    let words = job_words(pool.jobs().iter().filter(|job| job.round == newest));
    match pool.rounds().last().and_then(|round| round.took) {
        Some(took) => format!("{words}, all over in {:.1} s", took.as_secs_f64()),
        None => words,
    }
}

fn job_words<'a>(jobs: impl Iterator<Item = &'a Job> + Clone) -> String {
    let count = |status: &str| jobs.clone().filter(|job| job.status == status).count();
    let (all, completed) = (jobs.clone().count(), count("completed"));
    format!(
        "{completed:>3}/{all} jobs done, {} at work, {} failed as planned",
        count("running"),
        count("failed")
    )
}

pub(super) const BANNED: &str = "lied and was shut out";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::demo::pool::{JobPlan, Kind};

    #[test]
    fn jobs_say_how_far_they_are() {
        let job = |status: &str| {
            let plan = JobPlan { kind: Kind::Sum, number: 1 };
            Job { status: status.to_owned(), ..Job::submitted(plan, 1, 0) }
        };
        let jobs = ["completed", "running", "failed", "queued", "completed"].map(job);
        assert_eq!(job_words(jobs.iter()), "  2/5 jobs done, 1 at work, 1 failed as planned");
    }
}
