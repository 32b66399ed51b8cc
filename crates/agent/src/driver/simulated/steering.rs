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
    pictures: bool,
}

impl Steering {
    /// Reads what a run's parameters say of a device; a mistake is a failure, so that nobody takes it for what was
    /// simulated.
    pub(super) fn of(params: &Value, device: &str) -> Result<Self, StepFailure> {
        let Some(simulate) = params.get("simulate").filter(|simulate| !simulate.is_null()) else {
            return Ok(Self::default());
        };
        let wrong = |problem: String| StepFailure::other(format!("params.simulate: {problem}"));
        let steering = Self::deserialize(for_device(simulate, device).map_err(wrong)?);
        let steering = steering.map_err(|error| wrong(error.to_string()))?;
        let unknown = steering.failure_reason.as_deref().filter(|word| reason_named(word).is_none());
        if let Some(word) = unknown {
            return Err(wrong(format!("failure_reason {word:?} is none of the contract's")));
        }
        Ok(steering)
    }

    pub(super) fn step_time(&self) -> Duration {
        Duration::from_millis(self.step_ms.unwrap_or(STEP_MS))
    }

    /// Whether an upload is of a real picture.
    pub(super) const fn has_pictures(&self) -> bool {
        self.pictures
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

/// Puts what stands under `devices` for this one over what is said of all; keys not given there stay.
fn for_device(simulate: &Value, device: &str) -> Result<Value, String> {
    let Value::Object(all) = simulate else { return Ok(simulate.clone()) };
    let mut all = all.clone();
    let own = match all.remove("devices") {
        None | Some(Value::Null) => None,
        Some(Value::Object(mut devices)) => devices.remove(device),
        Some(other) => return Err(format!("devices is no object: {other}")),
    };
    match own {
        None | Some(Value::Null) => {}
        Some(Value::Object(own)) => all.extend(own),
        Some(other) => return Err(format!("devices.{device} is no object: {other}")),
    }
    Ok(all.into())
}

const STEP_MS: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(simulate: &Value, device: &str) -> Result<Steering, String> {
        Steering::of(&json!({"simulate": simulate}), device).map_err(|failure| failure.message)
    }

    /// N23: what is said of one device replaces what is said of all, key by key.
    #[test]
    fn a_device_can_be_steered_by_itself() {
        let simulate = json!({"step_ms": 5, "fail_step": "UPLOAD", "devices": {
            "sim-0012": {"fail_step": "LOGIN_FLOW", "failure_reason": "login_flow_timeout", "fail_attempts": 2},
            "sim-0013": {"fail_step": null},
            "sim-0014": null,
        }});
        let of = |device| of(&simulate, device).unwrap();
        let all = Steering { step_ms: Some(5), fail_step: Some("UPLOAD".to_owned()), ..Steering::default() };
        assert_eq!(
            of("sim-0012"),
            Steering {
                fail_step: Some("LOGIN_FLOW".to_owned()),
                failure_reason: Some("login_flow_timeout".to_owned()),
                fail_attempts: Some(2),
                ..all.clone()
            }
        );
        assert_eq!(of("sim-0013"), Steering { fail_step: None, ..all.clone() });
        assert_eq!((of("sim-0014"), of("sim-0001")), (all.clone(), all));
    }

    /// N23: a mistake in what is said of a device is named at that device, a mistake in the list at all of them.
    #[test]
    fn a_mistake_for_a_device_is_named() {
        let wrong = |simulate: Value, device| of(&simulate, device).unwrap_err();
        let typo = json!({"devices": {"sim-0001": {"fail_stp": "UPLOAD"}}});
        assert!(wrong(typo.clone(), "sim-0001").contains("fail_stp"));
        assert_eq!(of(&typo, "sim-0002"), Ok(Steering::default()));
        let reason = json!({"devices": {"sim-0001": {"failure_reason": "tired"}}});
        assert!(wrong(reason, "sim-0001").contains("\"tired\""));
        let nested = json!({"devices": {"sim-0001": {"devices": {}}}});
        assert!(wrong(nested, "sim-0001").contains("devices"));
        assert!(wrong(json!({"devices": {"sim-0001": 3}}), "sim-0001").contains("devices.sim-0001"));
        assert!(wrong(json!({"devices": ["sim-0001"]}), "sim-0002").contains("devices is no object"));
    }
}
