//! Devices that exist in the agent only (N23): for demos, for tests, and to try a fleet before it is bought.

use super::{Cause, ProducedFile, StepCall, StepFailure, StepOutput, fleet::Now};
use crate::{Artifact, Attached, Job, Text, workflow::reason_named};
use muster_artifacts::Template;
use muster_model::{Attachment, FailureReason};
use muster_worker_kit::png;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{fmt, time::Duration};

/// Devices `sim-0001`, `sim-0002`, …: all online, 20 ms a step, and every step succeeds unless the run's `simulate`
/// parameter says otherwise.
#[derive(Clone)]
pub struct Simulated {
    /// The number of the first.
    pub first: u32,
    /// The number.
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

    /// Screenshot of the device that an upload takes along if the run asks for pictures. `None` if it does not ask
    /// for them; [`Self::upload`] then only simulates the upload.
    pub async fn picture(&self, call: &StepCall<'_>) -> Result<Option<ProducedFile>, StepFailure> {
        if !Steering::of(call.params, call.device)?.has_pictures() {
            return Ok(None);
        }
        self.perform(call).await?;
        let path = call.scratch.join("screen.png");
        let written = tokio::fs::write(&path, draw_screen(call.device, call.attempt)).await;
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

/// Behaviour of simulated devices.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Steering {
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
    fn of(params: &Value, device: &str) -> Result<Self, StepFailure> {
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

    fn step_time(&self) -> Duration {
        Duration::from_millis(self.step_ms.unwrap_or(STEP_MS))
    }

    /// True if an upload is of a real picture.
    const fn has_pictures(&self) -> bool {
        self.pictures
    }

    fn hangs_in(&self, step: &str) -> bool {
        self.hang_step.as_deref() == Some(step)
    }

    /// Says whether a step fails. Where no step is named it is every step, so that the first one that matters ends the
    /// task.
    fn fails_in(&self, call: &StepCall<'_>) -> bool {
        let is_meant = match &self.fail_step {
            Some(step) => *step == call.step.id,
            None => self.fail_percent.is_some(),
        };
        let is_early = self.fail_attempts.is_none_or(|attempts| call.attempt <= attempts);
        is_meant && is_early && self.fail_percent.is_none_or(|percent| self.draw(call) < percent)
    }

    fn reason(&self) -> Option<FailureReason> {
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

const WIDTH: usize = 54;
const HEIGHT: usize = 96;
/// A pixel of a digit is so many of the screen.
const SCALE: usize = 3;
const DIGIT: (usize, usize) = (3, 5);

/// The screen of a device as a PNG file; the same for the same device and attempt.
fn draw_screen(device: &str, attempt: u32) -> Vec<u8> {
    let mut screen = Screen::of(device);
    let digits: Vec<usize> =
        device.chars().filter_map(|sign| sign.to_digit(10)).map(|digit| digit as usize).collect();
    let shown = digits.get(digits.len().saturating_sub(4)..).unwrap_or_default();
    let left = (WIDTH - shown.len() * (DIGIT.0 + 1) * SCALE) / 2;
    for (place, digit) in shown.iter().enumerate() {
        screen.digit(Point { x: left + place * (DIGIT.0 + 1) * SCALE, y: 36 }, *digit);
    }
    for dot in 0..(attempt as usize).min(8) {
        screen.fill(Point { x: 5 + dot * 6, y: 70 }, Size { width: 4, height: 4 }, INK);
    }
    png::grey(WIDTH as u32, HEIGHT as u32, &screen.pixels)
}

/// A place on the screen, in pixels from the upper left.
#[derive(Clone, Copy)]
struct Point {
    x: usize,
    y: usize,
}

/// The size of a rectangle, in pixels.
#[derive(Clone, Copy)]
struct Size {
    width: usize,
    height: usize,
}

struct Screen {
    pixels: Vec<u8>,
}

impl Screen {
    /// A background that shades from above, in a tone of the device's own, with a bar on top.
    fn of(device: &str) -> Self {
        let tone = 150 + device.bytes().fold(0_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 70);
        let shade = |place: usize| u8::try_from(tone - (place / WIDTH) / 3).unwrap_or(u8::MAX);
        let mut screen = Self { pixels: (0..WIDTH * HEIGHT).map(shade).collect() };
        screen.fill(Point { x: 0, y: 0 }, Size { width: WIDTH, height: 8 }, INK);
        screen
    }

    fn digit(&mut self, at: Point, digit: usize) {
        for place in 0..DIGIT.0 * DIGIT.1 {
            let is_set =
                DIGITS.get(digit).is_some_and(|rows| rows >> (DIGIT.0 * DIGIT.1 - 1 - place) & 1 == 1);
            if is_set {
                let (column, row) = (place % DIGIT.0, place / DIGIT.0);
                let corner = Point { x: at.x + column * SCALE, y: at.y + row * SCALE };
                self.fill(corner, Size { width: SCALE, height: SCALE }, INK);
            }
        }
    }

    fn fill(&mut self, Point { x, y }: Point, Size { width, height }: Size, shade: u8) {
        for row in y..(y + height).min(HEIGHT) {
            let line = row * WIDTH;
            self.pixels[line + x.min(WIDTH)..line + (x + width).min(WIDTH)].fill(shade);
        }
    }
}

/// Longer than any step may take.
const FOR_EVER: Duration = Duration::from_hours(24 * 365);
const STORAGE_PATH: &str = "videos/{youtubeVideoId}/{node_id}/{device_id}/{run_id}/{timestamp}.png";
const STEP_MS: u64 = 20;
const INK: u8 = 30;
/// Three columns by five rows each, from the upper left.
const DIGITS: [u16; 10] = [
    0b111_101_101_101_111,
    0b010_110_010_010_111,
    0b111_001_111_100_111,
    0b111_001_111_001_111,
    0b101_101_111_001_001,
    0b111_100_111_001_111,
    0b111_100_111_101_111,
    0b111_001_010_010_010,
    0b111_101_111_101_111,
    0b111_101_111_001_111,
];

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Timestamp;
    use serde_json::json;
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

    /// N23: devices are told apart by their pictures, and nothing else makes them differ.
    #[test]
    fn a_picture_is_the_devices_own() {
        assert_eq!(draw_screen("sim-0042", 1), draw_screen("sim-0042", 1));
        assert_ne!(draw_screen("sim-0042", 1), draw_screen("sim-0043", 1));
        assert_ne!(draw_screen("sim-0042", 1), draw_screen("sim-0042", 2));
        for device in ["", "x", "999999999999", "sim-0001"] {
            assert!(draw_screen(device, u32::MAX).starts_with(b"\x89PNG"));
        }
    }
}
