//! Problems that the coordinator and the store cause.

use muster_coordinator::Refusal;
use muster_coordinator::instant_now;
use muster_model::Rejection;
use muster_problem::Problem;
use muster_store::StoreError;
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// 503: the store failed a read. With a database that is away every read fails: that is told now and then only.
#[must_use]
pub fn problem_of_store(error: &StoreError) -> Problem {
    if READ_FAILURES.is_due(instant_now()) {
        tracing::warn!(%error, "the store fails reads; told of every 30 s at most");
    }
    match error {
        StoreError::Backend(words) => Problem::busy(format!("the database does not answer: {words}")),
        _ => Problem::busy("the store cannot be read at the moment"),
    }
}

/// The problem that a refusal of the coordinator makes; `phrase` has the dialect's words for a rejection.
#[must_use]
pub fn problem_of_refusal(refusal: Refusal, phrase: impl FnOnce(Rejection) -> Problem) -> Problem {
    match refusal {
        Refusal::Rejected(rejection) => phrase(rejection),
        Refusal::Busy => Problem::busy("too many requests wait; try again"),
        Refusal::Unavailable => {
            Problem::busy("the coordinator is restarting; whether it took effect is unknown")
        }
        Refusal::Store(error) => problem_of_store(&error),
    }
}

/// Says now and then that something may be told of.
struct Seldom(Mutex<Option<Instant>>);

impl Seldom {
    fn is_due(&self, now: Instant) -> bool {
        let mut told_at = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = told_at.is_none_or(|told_at| now.saturating_duration_since(told_at) >= TELL_EVERY);
        *told_at = if is_due { Some(now) } else { *told_at };
        is_due
    }
}

static READ_FAILURES: Seldom = Seldom(Mutex::new(None));

const TELL_EVERY: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;

    /// I8: reads that fail by the hundred are told of every 30 s, and each caller hears the cause.
    #[test]
    fn failed_reads_are_told_of_now_and_then() {
        let (seldom, began) = (Seldom(Mutex::new(None)), instant_now());
        let told = (0..100).filter(|second| seldom.is_due(began + Duration::from_secs(*second)));
        assert_eq!(told.collect::<Vec<_>>(), [0, 30, 60, 90]);
        let refused = Refusal::Store(StoreError::Backend("connection refused".to_owned()));
        let problem = problem_of_refusal(refused, |_| Problem::conflict("no"));
        assert_eq!(problem.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(format!("{problem:?}").contains("the database does not answer: connection refused"));
    }
}
