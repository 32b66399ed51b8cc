//! Devices that exist in the agent only (N23): for demos, for tests, and to try a fleet before it is bought.

mod screen;
mod steering;

use super::fleet::Now;
use super::{Cause, ProducedFile, StepCall, StepFailure, StepOutput};
use crate::{Artifact, Attached, Job, Text};
use muster_artifacts::Template;
use muster_model::Attachment;
use std::{fmt, time::Duration};
use steering::Steering;

/// Devices `sim-0001`, `sim-0002`, …: all online, 20 ms a step, and every step succeeds unless the run's `simulate`
/// parameter says otherwise.
#[derive(Clone)]
pub struct Simulated {
    /// The number of the first.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// The node they are at.
    pub node: Text,
    /// Tells the time.
    pub now: Now,
}

impl Simulated {
    /// Lists them.
    #[must_use]
    pub fn devices(&self) -> Vec<Attached> {
        let numbers = self.first..self.first.saturating_add(self.count);
        let attached = |number| {
            let name: Text = format!("sim-{number:04}").into();
            Attached { device: name.clone(), handle: name, attachment: Attachment::Online }
        };
        numbers.map(attached).collect()
    }

    /// Does as if it did a step, of whatever kind.
    pub async fn perform(&self, call: &StepCall<'_>) -> Result<StepOutput, StepFailure> {
        let steering = Steering::of(call.params, call.device)?;
        let last = if steering.hangs_in(&call.step.id) { FOR_EVER } else { steering.step_time() };
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(StepFailure::cancelled()),
            () = tokio::time::sleep(last) => {}
        }
        if !steering.fails_in(call) {
            return Ok(StepOutput::default());
        }
        let cause = steering.reason().map_or(Cause::Other, Cause::Named);
        Err(StepFailure { cause, message: "simulated failure".to_owned() })
    }

    /// What an upload takes along where the run asks for pictures: what the device shows, as a file. `None` where it
    /// does not; [`Self::upload`] then does as if.
    pub async fn picture(&self, call: &StepCall<'_>) -> Result<Option<ProducedFile>, StepFailure> {
        if !Steering::of(call.params, call.device)?.has_pictures() {
            return Ok(None);
        }
        self.perform(call).await?;
        let path = call.scratch.join("screen.png");
        let written = tokio::fs::write(&path, screen::draw(call.device, call.attempt)).await;
        written
            .map_err(|error| StepFailure::other(format!("{} cannot be written: {error}", path.display())))?;
        let (kind, content_type) = ("screenshot".to_owned(), "image/png".to_owned());
        Ok(Some(ProducedFile { path, kind, content_type }))
    }

    /// Does as if it uploaded: the artifact has the path it would have (N21), and no network is touched.
    pub async fn upload(&self, call: &StepCall<'_>, job: &Job) -> Result<Artifact, StepFailure> {
        self.perform(call).await?;
        let template = Template::parse(STORAGE_PATH).expect("made of plain characters and placeholders");
        let path = template.fill(|key| self.value(key, call, job));
        let storage_path = path.map_err(|error| StepFailure::other(format!("the path {error}")))?.to_string();
        let public_url = format!("simulated:{storage_path}");
        Ok(Artifact { kind: "screenshot".to_owned(), storage_path, public_url })
    }

    fn value(&self, key: &str, call: &StepCall<'_>, job: &Job) -> Option<String> {
        Some(match key {
            "youtubeVideoId" => call.params.get(key).and_then(|id| id.as_str()).unwrap_or("_").to_owned(),
            "node_id" => self.node.to_string(),
            "device_id" => call.device.to_owned(),
            "run_id" => job.run.to_string(),
            "timestamp" => (self.now)().0.to_string(),
            _ => return None,
        })
    }
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulated")
            .field("first", &self.first)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// Longer than any step may take.
const FOR_EVER: Duration = Duration::from_hours(24 * 365);
const STORAGE_PATH: &str = "videos/{youtubeVideoId}/{node_id}/{device_id}/{run_id}/{timestamp}.png";

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Timestamp;
    use std::sync::Arc;

    /// N23: numbers begin where they are told to, so that several nodes have different devices.
    #[test]
    fn devices_are_numbered() {
        let names = |first, count| {
            let simulated = Simulated { first, count, node: "PC-01".into(), now: Arc::new(|| Timestamp(0)) };
            let devices = simulated.devices();
            assert!(devices.iter().all(|device| device.attachment == Attachment::Online));
            devices.iter().map(|device| device.device.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(1, 2), ["sim-0001", "sim-0002"]);
        assert_eq!(names(9_999, 2), ["sim-9999", "sim-10000"]);
        assert_eq!(names(u32::MAX, 2).len(), 0);
    }
}
