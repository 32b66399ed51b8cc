//! Why a job is not done yet, in words (P14, P15).

use crate::wire::Explained;
use muster_model::{PoolCause, PoolJobId};

/// Says what a job waits for, in a word and in a sentence that says what to do.
pub(crate) fn explain(job: PoolJobId, cause: &PoolCause) -> Explained {
    Explained { job_id: job.0, cause: word(cause), explanation: sentence(cause) }
}

const fn word(cause: &PoolCause) -> &'static str {
    match cause {
        PoolCause::Ended { .. } => "ended",
        PoolCause::Running { .. } => "running",
        PoolCause::NoWorkers => "no_workers",
        PoolCause::NoWorkerInRegion { .. } => "no_worker_in_region",
        PoolCause::RequirementsUnmet => "requirements_unmet",
        PoolCause::WorkersAway { .. } => "workers_away",
        PoolCause::WorkersBusy { .. } => "workers_busy",
        PoolCause::TooFewOwners { .. } => "too_few_owners",
        PoolCause::WaitingForPoll { .. } => "waiting_for_poll",
    }
}

fn sentence(cause: &PoolCause) -> String {
    match cause {
        PoolCause::Ended { status } => format!("The job is over; it is {}.", status.as_str()),
        PoolCause::Running { assignments } => {
            format!("{} at it; wait for the result.", counted(*assignments, "worker is", "workers are"))
        }
        PoolCause::NoWorkers => "There are no workers; register one with POST /workers/register.".to_owned(),
        PoolCause::NoWorkerInRegion { region } => {
            format!(
                "No worker is in the region {region:?}; register one there, or hand the job in without a region."
            )
        }
        PoolCause::RequirementsUnmet => {
            "No worker has what the job requires; register one whose specs_json has it, or require less."
                .to_owned()
        }
        PoolCause::WorkersAway { offline, draining, banned } => format!(
            "Those who could do it are away: {offline} offline, {draining} draining, {banned} banned; start, resume or \
             unban one of them."
        ),
        PoolCause::WorkersBusy { workers } => {
            let who =
                counted(*workers, "worker who could do it has its", "workers who could do it have their");
            format!("{who} slots full; wait, or add workers.")
        }
        PoolCause::TooFewOwners { owners, needed } => format!(
            "It needs workers of {needed} different owners and there are {owners} who could do it; bring workers of \
             more owners, or ask for less redundancy."
        ),
        PoolCause::WaitingForPoll { workers } => {
            let who = counted(*workers, "worker who could do it has", "workers who could do it have");
            format!("{who} not asked since; it begins with the next poll.")
        }
    }
}

fn counted(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
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
            (PoolCause::Running { assignments: 1 }, "running", "1 worker is at it"),
            (PoolCause::NoWorkers, "no_workers", "/workers/register"),
            (PoolCause::NoWorkerInRegion { region: "mars".into() }, "no_worker_in_region", "\"mars\""),
            (PoolCause::RequirementsUnmet, "requirements_unmet", "specs_json"),
            (PoolCause::WorkersAway { offline: 3, draining: 0, banned: 1 }, "workers_away", "3 offline"),
            (
                PoolCause::WorkersBusy { workers: 2 },
                "workers_busy",
                "2 workers who could do it have their slots full",
            ),
            (PoolCause::TooFewOwners { owners: 1, needed: 3 }, "too_few_owners", "3 different owners"),
            (
                PoolCause::WaitingForPoll { workers: 1 },
                "waiting_for_poll",
                "1 worker who could do it has not",
            ),
        ] {
            let explained = explain(PoolJobId(7), &cause);
            assert_eq!((explained.job_id, explained.cause), (7, word));
            assert!(
                explained.explanation.contains(part) && explained.explanation.ends_with('.'),
                "{explained:?}"
            );
        }
    }
}
