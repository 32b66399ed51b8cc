//! The reason why a job is not done yet, in words (P14, P15).

use muster_contract_pool::Explained;
use muster_model::{Cause, Explanation, PoolCause, PoolJobId, Subject, Timestamp};

/// Says what a job waits for, in a word and in a sentence, and what to do.
pub(crate) fn explain(job: PoolJobId, cause: PoolCause, now: Timestamp) -> Explained {
    let word = word(&cause);
    let why = muster_explain::show(
        &Explanation {
            subject: Subject::PoolJob(job),
            cause: Cause::Pool(cause),
            heartbeat_late_since: None,
        },
        now,
    );
    let advice = muster_explain::advice(&why.code).unwrap_or_default();
    let explanation = format!("{} {advice}", why.sentence);
    Explained { job_id: job.0, cause: word.into(), code: why.code, rule: why.rule, explanation }
}

/// Beside its job a cause needs not say what it is about.
const fn word(cause: &PoolCause) -> &'static str {
    match cause {
        PoolCause::Ended { .. } => "ended",
        PoolCause::Running { .. } => "running",
        _ => cause.rule_and_code().1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::PoolJobStatus;

    /// P15, P13: every cause has a word and one sentence with its figures.
    #[test]
    fn every_cause_has_a_sentence() {
        for (cause, word, part) in [
            (PoolCause::Ended { status: PoolJobStatus::Failed }, "ended", "failed"),
            (PoolCause::Running { assignments: 1 }, "running", "running on 1 worker"),
            (PoolCause::NoWorkers, "no_workers", "/workers/register"),
            (PoolCause::NoWorkerInRegion { region: "mars".into() }, "no_worker_in_region", "\"mars\""),
            (PoolCause::RequirementsUnmet, "requirements_unmet", "specs_json"),
            (PoolCause::WorkersAway { offline: 3, draining: 0, banned: 1 }, "workers_away", "3 offline"),
            (
                PoolCause::WorkersBusy { workers: 2 },
                "workers_busy",
                "2 workers that could do it have their slots full",
            ),
            (PoolCause::TooFewOwners { owners: 1, needed: 3 }, "too_few_owners", "3 different owners"),
            (
                PoolCause::WaitingForPoll { workers: 1 },
                "waiting_for_poll",
                "1 worker that could do it has not",
            ),
        ] {
            let explained = explain(PoolJobId(7), cause.clone(), Timestamp(0));
            assert_eq!((explained.job_id, &*explained.cause), (7, word));
            assert_eq!((&*explained.rule, &*explained.code), cause.rule_and_code());
            assert!(
                explained.explanation.contains(part) && explained.explanation.ends_with('.'),
                "{explained:?}"
            );
        }
    }
}
