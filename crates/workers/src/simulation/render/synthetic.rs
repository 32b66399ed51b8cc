//! The built-in renderer (S27): real files of small pictures, so that everything can be tried without a GPU.

use super::{
    Broken, Commission, Told, blocking,
    completion::{POSES, Rendered},
    fragment::{FrameEntry, FrameStatistics},
    ids::Purse,
    output::{Output, OutputError},
    pacer::{BATCH_FRAMES_MAX, Pacer},
    picture::Frame,
};
use crate::simulation::core::{Seen, Trouble};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// The built-in renderer.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    /// Frames per second, if nobody asks for less.
    pub frames_per_second: u32,
    /// Persons in each frame; each gets an id of its own.
    pub persons_per_frame: u32,
}

impl Synthetic {
    pub(super) async fn run(
        &self,
        commission: &Commission<'_>,
        output: &Arc<Output>,
    ) -> Result<Rendered, Broken> {
        let frames = commission.task.frames;
        for directory in [FRAMES, LABELS, POSES] {
            output.make(directory)?;
        }
        let per_second = scenario_rate(&commission.task.scenario);
        let mut pacer = Pacer::new(self.frames_per_second, commission.pace.clone());
        let mut purse = Purse::new(commission.task.ids);
        let mut rendered = Rendered::default();
        let mut next = frames.start;
        while next < frames.end {
            let due = or_stopped(commission, pacer.due()).await?.min(frames.end - next);
            self.refill(&mut purse, frames.end - next, commission).await?;
            let batch = self.batch((next, due), &mut purse, (commission, per_second));
            rendered.frames.extend(batch.iter().map(entry));
            let (output, session) = (Arc::clone(output), commission.task.session.clone());
            blocking(move || batch.iter().try_for_each(|frame| write(frame, &session, &output))).await??;
            next += due;
            let processed = next - frames.start;
            commission.seen(Seen { processed, last_frame: Some(next - 1), ..Seen::default() });
        }
        rendered.further_chunks = purse.chunks().iter().skip(1).copied().collect();
        Ok(rendered)
    }

    /// Asks for ids until there are as many as the next batch may need; at once for all that is left to do.
    async fn refill(
        &self,
        purse: &mut Purse,
        frames_left: u64,
        commission: &Commission<'_>,
    ) -> Result<(), Broken> {
        let wanted = frames_left.saturating_mul(self.persons_per_frame.into());
        while purse.left() < wanted.min(self.batch_ids()) {
            let count = wanted - purse.left();
            let asking = commission.master.more_ids(&commission.task.id, count);
            match or_stopped(commission, asking).await? {
                Ok(ids) => {
                    (commission.tell)(Told::Remark(
                        format!("chunk {} was added for {count} ids", ids.chunk).into(),
                    ));
                    purse.add(ids);
                }
                Err(Trouble::NoAnswer(_) | Trouble::Unauthorized) => {
                    or_stopped(commission, tokio::time::sleep(ASK_AGAIN)).await?;
                }
                Err(Trouble::Refused(refusal)) => {
                    let why = format!("no further ids: {} {}", refusal.status, refusal.detail);
                    return Err(Broken::Failed(why));
                }
            }
        }
        Ok(())
    }

    fn batch_ids(&self) -> u64 {
        u64::from(self.persons_per_frame) * u64::from(BATCH_FRAMES_MAX)
    }

    fn batch(
        &self,
        (start, count): (u64, u64),
        purse: &mut Purse,
        (commission, per_second): (&Commission<'_>, u64),
    ) -> Vec<Frame> {
        let mut frame = |id: u64| {
            let persons = purse.take(self.persons_per_frame.into()).expect("it was refilled for a batch");
            Frame::new(&commission.task.session, id, id * 1000 / per_second, persons)
        };
        (start..start + count).map(&mut frame).collect()
    }
}

/// Waits for something, but no longer than somebody wants it.
async fn or_stopped<T>(commission: &Commission<'_>, waiting: impl Future<Output = T>) -> Result<T, Broken> {
    tokio::select! {
        biased;
        () = commission.cancel.cancelled() => Err(Broken::Stopped),
        done = waiting => Ok(done),
    }
}

fn write(frame: &Frame, session: &str, output: &Output) -> Result<(), OutputError> {
    let name = frame.name();
    output.write(&format!("{FRAMES}/{name}.png"), &frame.picture())?;
    output.write(&format!("{LABELS}/{name}.json"), frame.labels(session).to_string().as_bytes())?;
    output.write(&format!("{POSES}/{name}.json"), frame.poses().to_string().as_bytes())
}

fn entry(frame: &Frame) -> FrameEntry {
    let persons = u64::try_from(frame.persons.len()).unwrap_or(u64::MAX);
    let statistics = FrameStatistics { frames: 1, persons };
    FrameEntry { frame_id: frame.id, timestamp: frame.timestamp_ms, statistics }
}

/// Frames per second of the scene, not of the renderer: two workers must agree on when a frame is.
fn scenario_rate(scenario: &str) -> u64 {
    let scenario: Value = serde_json::from_str(scenario).unwrap_or_default();
    scenario.get("fps").and_then(Value::as_u64).unwrap_or(SCENE_RATE).clamp(1, 1_000)
}

const FRAMES: &str = "frames";
const LABELS: &str = "labels";
const SCENE_RATE: u64 = 30;
const ASK_AGAIN: Duration = Duration::from_secs(1);
