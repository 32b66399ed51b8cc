//! The run parameter `simulate`, which says how simulated devices behave.

use crate::driver::{StepCall, StepFailure};
use crate::workflow::reason_named;
use muster_model::FailureReason;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// How simulated devices behave.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Steering {
    step_ms: Option<u64>,
    fail_step: Option<String>,
    failure_reason: Option<String>,
    hang_step: Option<String>,
    fail_percent: Option<f64>,
    fail_attempts: Option<u32>,
    seed: u64,
}

impl Steering {
    /// Reads a run's parameters; a mistake is a failure, so that nobody takes it for what was simulated.
    pub(super) fn of(params: &Value) -> Result<Self, StepFailure> {
        let Some(simulate) = params.get("simulate").filter(|simulate| !simulate.is_null()) else {
            return Ok(Self::default());
        };
        let wrong = |problem: String| StepFailure::other(format!("params.simulate: {problem}"));
        let steering = Self::deserialize(simulate).map_err(|error| wrong(error.to_string()))?;
        let unknown = steering.failure_reason.as_deref().filter(|word| reason_named(word).is_none());
        if let Some(word) = unknown {
            return Err(wrong(format!("failure_reason {word:?} is none of the contract's")));
        }
        Ok(steering)
    }

    pub(super) fn step_time(&self) -> Duration {
        Duration::from_millis(self.step_ms.unwrap_or(STEP_MS))
    }

    pub(super) fn hangs_in(&self, step: &str) -> bool {
        self.hang_step.as_deref() == Some(step)
    }

    /// Says whether a step fails. Where no step is named it is every step, so that the first one that matters ends the
    /// task.
    pub(super) fn fails_in(&self, call: &StepCall<'_>) -> bool {
        let is_meant = match &self.fail_step {
            Some(step) => *step == call.step.id,
            None => self.fail_percent.is_some(),
        };
        let is_early = self.fail_attempts.is_none_or(|attempts| call.attempt <= attempts);
        is_meant && is_early && self.fail_percent.is_none_or(|percent| self.draw(call) < percent)
    }

    pub(super) fn reason(&self) -> Option<FailureReason> {
        self.failure_reason.as_deref().and_then(reason_named)
    }

    /// A number from 0 to under 100 that is the same for the same seed, device and attempt: a demo can be repeated.
    fn draw(&self, call: &StepCall<'_>) -> f64 {
        let numbers =
            Sha256::new().chain_update(self.seed.to_le_bytes()).chain_update(call.attempt.to_le_bytes());
        let digest: [u8; 32] = numbers.chain_update(call.device).finalize().into();
        f64::from(u16::from_le_bytes([digest[0], digest[1]])) / 655.36
    }
}

const STEP_MS: u64 = 20;
