//! The built-in renderer (S27): real files of small pictures, so that everything can be tried without a GPU.

use super::{
    Broken, Commission, Told, blocking,
    completion::{FrameEntry, FrameStatistics, POSES, Rendered},
    output::{Output, OutputError},
};
use crate::simulation::core::{Seen, Trouble};
use muster_model::{IdRange, Ratio};
use muster_worker_kit::{clock::instant_now, png};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

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
        let frames_per_second = scenario_rate(commission.task.scenario.as_str());
        let scene = Scene { session: &commission.task.session, frames_per_second };
        let mut pacer = Pacer::new(self.frames_per_second, commission.pace.clone());
        let mut purse = Purse::new(commission.task.ids);
        let mut rendered = Rendered::default();
        let mut next = frames.start;
        while next < frames.end {
            let due = or_stopped(commission, pacer.due()).await?.min(frames.end - next);
            self.refill(&mut purse, frames.end - next, commission).await?;
            let batch = self.batch(next..next + due, &mut purse, &scene);
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

    fn batch(&self, frames: std::ops::Range<u64>, purse: &mut Purse, scene: &Scene<'_>) -> Vec<Frame> {
        let mut frame = |id: u64| {
            let persons = purse.take(self.persons_per_frame.into()).expect("it was refilled for a batch");
            Frame::new(scene.session, id, id * 1000 / scene.frames_per_second, persons)
        };
        frames.map(&mut frame).collect()
    }
}

/// The simulated scene.
struct Scene<'a> {
    session: &'a str,
    frames_per_second: u64,
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

/// Ids that were granted and not yet given to anybody.
#[derive(Debug)]
struct Purse {
    ranges: Vec<IdRange>,
    chunks: Vec<u64>,
}

impl Purse {
    fn new(ids: IdRange) -> Self {
        Self { ranges: vec![ids], chunks: vec![ids.chunk] }
    }

    /// Number of ids that are left.
    fn left(&self) -> u64 {
        self.ranges.iter().map(|ids| ids.end - ids.start).fold(0, u64::saturating_add)
    }

    /// More were granted.
    fn add(&mut self, ids: IdRange) {
        self.ranges.push(ids);
        self.chunks.push(ids.chunk);
    }

    /// Gives out ids that nobody else gets; nothing where there are not as many.
    fn take(&mut self, count: u64) -> Option<Vec<u64>> {
        if self.left() < count {
            return None;
        }
        let mut taken = Vec::new();
        while let Some(ids) = self.ranges.first_mut().filter(|_| (taken.len() as u64) < count) {
            let end = ids.end.min(ids.start.saturating_add(count - taken.len() as u64));
            taken.extend(ids.start..end);
            ids.start = end;
            if ids.start == ids.end {
                self.ranges.remove(0);
            }
        }
        Some(taken)
    }

    /// The chunks that ids came from, in order.
    fn chunks(&self) -> &[u64] {
        &self.chunks
    }
}

/// Draws numbers that follow from a seed (splitmix64).
#[derive(Clone, Debug)]
struct Dice(u64);

impl Dice {
    /// Dice for one frame of a session: whoever renders it again gets the same picture.
    fn of(session: &str, frame: u64) -> Self {
        // FNV-1a.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let bytes = session.bytes().chain(frame.to_le_bytes());
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, mix))
    }

    /// A number below `end`, which must not be 0.
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = (mixed ^ (mixed >> 31)) >> 32;
        u32::try_from(high % u64::from(end)).expect("less than a number of 32 bits")
    }
}

/// Says when frames are due.
#[derive(Debug)]
struct Pacer {
    frames_per_second: f64,
    pace: watch::Receiver<Ratio>,
    /// Frames that are due, and parts of one.
    credit: f64,
    looked_at: Instant,
    /// Frames per second since then.
    rate: f64,
}

impl Pacer {
    fn new(frames_per_second: u32, pace: watch::Receiver<Ratio>) -> Self {
        let frames_per_second = frames_per_second.into();
        Self { frames_per_second, pace, credit: 1.0, looked_at: instant_now(), rate: 0.0 }
    }

    /// Waits until at least one frame is due; gives how many are. Whoever falls behind does not hurry to catch up.
    async fn due(&mut self) -> u64 {
        loop {
            self.look();
            if self.credit >= 1.0 && self.rate > 0.0 {
                return self.spend();
            }
            let missing = if self.rate > 0.0 { (1.0 - self.credit) / self.rate } else { STILL_S };
            let wait = Duration::from_secs_f64(missing.clamp(TICK_S, STILL_S));
            let _ = tokio::time::timeout(wait, self.pace.changed()).await;
        }
    }

    /// Counts the time since the last look at the pace that was in force then.
    fn look(&mut self) {
        let now = instant_now();
        let elapsed = now.duration_since(self.looked_at).as_secs_f64();
        self.credit = (self.credit + elapsed * self.rate).min(f64::from(BATCH_FRAMES_MAX));
        self.looked_at = now;
        self.rate = self.frames_per_second * self.pace.borrow_and_update().value();
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1, at most a batch")]
    fn spend(&mut self) -> u64 {
        let frames = self.credit.floor();
        self.credit -= frames;
        frames as u64
    }
}

/// One frame.
struct Frame {
    id: u64,
    timestamp_ms: u64,
    /// The persons in it.
    persons: Vec<u64>,
    figures: Vec<Figure>,
    dice: Dice,
}

/// Position of a person, in pixels.
struct Figure {
    left: u32,
    top: u32,
    height: u32,
}

impl Frame {
    /// Puts persons into a frame. Where they stand follows from the session and the frame alone.
    fn new(session: &str, id: u64, timestamp_ms: u64, persons: Vec<u64>) -> Self {
        let mut dice = Dice::of(session, id);
        let mut figure = || {
            let height = 8 + dice.below(9);
            Figure { left: dice.below(WIDTH - height / 2), top: dice.below(HEIGHT - height), height }
        };
        let figures = persons.iter().map(|_| figure()).collect();
        Self { id, timestamp_ms, persons, figures, dice }
    }

    /// The frame's name; eight digits or more, so that names sort like numbers.
    fn name(&self) -> String {
        format!("{:08}", self.id)
    }

    /// A PNG file: a sky, a ground, and a bright box for each person.
    fn picture(&self) -> Vec<u8> {
        let mut dice = self.dice.clone();
        let horizon = HEIGHT / 3 + dice.below(HEIGHT / 4);
        let mut pixels = Vec::with_capacity((WIDTH * HEIGHT) as usize);
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let ground = if y < horizon { 150 - y } else { 60 + dice.below(12) };
                let is_person = self.figures.iter().any(|figure| figure.covers(x, y));
                pixels.push(if is_person { 235 } else { u8::try_from(ground).unwrap_or(u8::MAX) });
            }
        }
        png::grey(WIDTH, HEIGHT, &pixels)
    }

    /// Labels of the persons (JSON).
    fn labels(&self, session: &str) -> Value {
        let persons = self.persons.iter().zip(&self.figures);
        let persons = persons.map(|(id, figure)| json!({"id": id, "box": figure.bounds()}));
        json!({
            "sessionId": session,
            "frameId": self.id,
            "timestamp": self.timestamp_ms,
            "image": format!("frames/{}.png", self.name()),
            "persons": persons.collect::<Vec<_>>(),
        })
    }

    /// Poses of the persons (JSON).
    fn poses(&self) -> Value {
        let persons = self.persons.iter().zip(&self.figures);
        let poses = persons.map(|(id, figure)| json!({"personId": id, "keypoints": figure.joints()}));
        json!({"frameId": self.id, "timestamp": self.timestamp_ms, "poses": poses.collect::<Vec<_>>()})
    }
}

impl Figure {
    const fn width(&self) -> u32 {
        self.height / 2
    }

    fn covers(&self, x: u32, y: u32) -> bool {
        (self.left..self.left + self.width()).contains(&x) && (self.top..self.top + self.height).contains(&y)
    }

    const fn bounds(&self) -> [u32; 4] {
        [self.left, self.top, self.width(), self.height]
    }

    /// Head, hip, and the two feet.
    const fn joints(&self) -> [[u32; 2]; 4] {
        let (middle, bottom) = (self.left + self.width() / 2, self.top + self.height - 1);
        [
            [middle, self.top],
            [middle, self.top + self.height / 2],
            [self.left, bottom],
            [self.left + self.width() - 1, bottom],
        ]
    }
}

const FRAMES: &str = "frames";
const LABELS: &str = "labels";
const SCENE_RATE: u64 = 30;
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Resolution of time.
const TICK_S: f64 = 0.001;
/// Interval at which a paused renderer checks whether it may go on, besides being notified.
const STILL_S: f64 = 60.0;
/// Frames that are due at once at most.
const BATCH_FRAMES_MAX: u32 = 32;
const WIDTH: u32 = 64;
const HEIGHT: u32 = 36;

#[cfg(test)]
mod tests {
    use super::*;

    /// S12, S13: an id is given once; when they run out more are needed, and the rest of the first is used up first.
    #[test]
    fn each_id_is_given_once() {
        let mut purse = Purse::new(IdRange { chunk: 1, start: 1, end: 6 });
        assert_eq!(purse.take(2), Some(vec![1, 2]));
        assert_eq!(purse.take(2), Some(vec![3, 4]));
        assert_eq!((purse.take(2), purse.left()), (None, 1));
        purse.add(IdRange { chunk: 4, start: 10, end: 12 });
        assert_eq!(purse.take(3), Some(vec![5, 10, 11]));
        assert_eq!((purse.take(1), purse.take(0)), (None, Some(vec![])));
        assert_eq!(purse.chunks(), [1, 4]);
    }

    async fn frames_in(pacer: &mut Pacer, span: Duration) -> u64 {
        let until = instant_now() + span;
        let mut frames = 0;
        while let Ok(due) = tokio::time::timeout_at(until, pacer.due()).await {
            frames += due;
        }
        frames
    }

    /// S10: the rate is the frame rate times the factor; at 0 nothing is rendered, and afterwards nothing is made up for.
    #[tokio::test(start_paused = true)]
    async fn the_pace_is_kept() {
        let (set, pace) = watch::channel(Ratio(1_000_000));
        let mut pacer = Pacer::new(100, pace);
        let ten = Duration::from_secs(10);
        let near = |frames: u64, expected: u64| assert!(frames.abs_diff(expected) <= 2, "{frames}");
        near(frames_in(&mut pacer, ten).await, 1_000);
        set.send_replace(Ratio(700_000));
        near(frames_in(&mut pacer, ten).await, 700);
        set.send_replace(Ratio(0));
        near(frames_in(&mut pacer, ten).await, 0);
        set.send_replace(Ratio(1_000_000));
        near(frames_in(&mut pacer, ten).await, 1_000);
    }

    /// S10: however high the rate, frames come in batches of a size that lets others speak.
    #[tokio::test(start_paused = true)]
    async fn batches_are_bounded() {
        let (_set, pace) = watch::channel(Ratio(1_000_000));
        let mut pacer = Pacer::new(1_000_000, pace);
        for _ in 0..10 {
            assert!(pacer.due().await <= BATCH_FRAMES_MAX.into());
        }
    }

    /// S27: the same frame of the same session is the same picture, whoever renders it with whatever ids.
    #[test]
    fn a_frame_follows_from_session_and_number() {
        let frame = |session: &str, id, first| Frame::new(session, id, 0, vec![first, first + 1]);
        assert_eq!(frame("demo", 7, 1).picture(), frame("demo", 7, 500).picture());
        assert_ne!(frame("demo", 7, 1).picture(), frame("demo", 8, 1).picture());
        assert_ne!(frame("demo", 7, 1).picture(), frame("other", 7, 1).picture());
        assert_eq!(frame("demo", 7, 9).labels("demo")["persons"][1]["id"], 10);
    }

    /// S21: frame files are named by their frameId.
    #[test]
    fn names_sort_like_numbers() {
        let name = |id| Frame::new("demo", id, 0, Vec::new()).name();
        assert_eq!((name(7), name(123_456_789)), ("00000007".to_owned(), "123456789".to_owned()));
    }
}
