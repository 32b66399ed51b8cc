//! What was reported of one attempt, and what should have been.

use crate::command::demo::{
    plan::{Fault, STEPS},
    report::{FAILED, INTERRUPTED, STARTED, SUCCEEDED},
};

/// What may have become of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    Success,
    Failure(Fault),
    /// Success, unless it ended with its agent.
    SuccessOrInterruption,
    /// Its run was cancelled: any end, after any step, and also of a job that was never begun.
    AnyEnd,
}

impl Expected {
    /// Whether an attempt was reported as it should: its start, its steps in the order of the workflow, its end, each
    /// once and in this order (N19).
    pub(super) fn fits(self, trail: &[String]) -> bool {
        let Some((end, before)) = trail.split_last() else { return false };
        match self {
            Self::Success => end == SUCCEEDED && before == all_steps(),
            Self::Failure(fault) => {
                *end == format!("{FAILED}{}", fault.reason) && before == steps_until(fault.step)
            }
            Self::SuccessOrInterruption => {
                let is_interrupted = end == INTERRUPTED && !before.is_empty();
                (is_interrupted && is_on_the_way(before)) || Self::Success.fits(trail)
            }
            Self::AnyEnd => {
                let is_end = end == INTERRUPTED || end.starts_with(FAILED);
                (is_end && is_on_the_way(before)) || Self::Success.fits(trail)
            }
        }
    }
}

fn is_on_the_way(trail: &[String]) -> bool {
    all_steps().starts_with(trail)
}

fn all_steps() -> Vec<String> {
    let steps = STEPS.iter().flat_map(|step| [format!("{step} running"), format!("{step} done")]);
    [STARTED.to_owned()].into_iter().chain(steps).collect()
}

/// Up to the beginning of a step.
fn steps_until(step: &str) -> Vec<String> {
    let mut steps = all_steps();
    let last = steps.iter().position(|told| *told == format!("{step} running"));
    steps.truncate(last.map_or(0, |last| last + 1));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAULT: Fault = Fault { step: "BOOTSTRAP", reason: "unknown", attempts: 1 };

    fn trail(steps: usize, end: &str) -> Vec<String> {
        all_steps().into_iter().take(steps).chain([end.to_owned()]).collect()
    }

    /// I2, N19: what is missing, doubled or out of order is found.
    #[test]
    fn a_trail_has_every_step_once_and_in_order() {
        let whole = trail(11, SUCCEEDED);
        assert!(Expected::Success.fits(&whole));
        for place in 0..whole.len() - 1 {
            let (mut missing, mut doubled, mut swapped) = (whole.clone(), whole.clone(), whole.clone());
            missing.remove(place);
            doubled.insert(place, whole[place].clone());
            swapped.swap(place, place + 1);
            for wrong in [missing, doubled, swapped] {
                assert!(!Expected::Success.fits(&wrong) && !Expected::AnyEnd.fits(&wrong), "{wrong:?}");
            }
        }
        assert!(!Expected::Success.fits(&whole[..11]) && !Expected::AnyEnd.fits(&whole[..11]));
    }

    /// N22b: an interrupted attempt was begun, and is told from one that failed.
    #[test]
    fn an_end_is_the_one_that_was_expected() {
        let failed = trail(4, "failed: unknown");
        assert!(Expected::Failure(FAULT).fits(&failed) && Expected::AnyEnd.fits(&failed));
        assert!(!Expected::SuccessOrInterruption.fits(&failed) && !Expected::Success.fits(&failed));
        assert!(!Expected::Failure(FAULT).fits(&trail(3, "failed: unknown")));
        assert!(Expected::SuccessOrInterruption.fits(&trail(4, INTERRUPTED)));
        assert!(Expected::SuccessOrInterruption.fits(&trail(11, SUCCEEDED)));
        assert!(!Expected::SuccessOrInterruption.fits(&trail(0, INTERRUPTED)));
        assert!(Expected::AnyEnd.fits(&trail(0, "failed: unknown")) && !Expected::AnyEnd.fits(&[]));
    }
}
