//! A session of frames, as it was submitted and as the server tells where it stands.

use super::worker::{WORKERS, WorkerPlan};
use crate::command::session::strip;
use serde_json::{Value, json};
use std::{ops::Range, time::Duration};

/// A session that was submitted, and where it stands.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Counts sessions over all rounds.
    pub(super) number: usize,
    pub(super) id: String,
    pub(super) status: String,
    /// Frames done.
    pub(super) done: u64,
    /// Frames a second, at the moment.
    pub(super) rate: f64,
    /// Ranges that were given out anew.
    pub(super) replays: usize,
    /// Its frames, as a strip of characters.
    pub(super) strip: String,
    /// Between its submission and its end.
    pub(super) took: Option<Duration>,
    /// The demo asked for its end.
    pub(super) is_cancelled: bool,
    /// Who is at which of its ranges.
    pub(super) held: Vec<Held>,
}

/// A range that a worker is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) worker: String,
    pub(super) frames: Range<u64>,
    pub(super) chunk: u64,
}

impl Session {
    /// The session with that number, before anything is known of it.
    pub(super) fn planned(number: usize) -> Self {
        Self { number, id: format!("demo-{}", number + 1), ..Self::default() }
    }

    /// The body of `POST /api/v1/sessions`.
    pub(super) fn submission(&self) -> Value {
        json!({
            "sessionId": self.id,
            "totalFrames": FRAMES,
            "framesPerTask": FRAMES_PER_TASK,
            "scenario": {"name": "people in a street", "fps": 30},
            "cameras": ["front"],
            "qualityMode": "strict",
        })
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "cancelled")
    }

    /// Who is killed on its way; another one in each round.
    pub(super) fn victim(&self) -> &'static WorkerPlan {
        &WORKERS[(self.number + 1) % WORKERS.len()]
    }

    /// Takes what the server says of it.
    pub(super) fn update(&mut self, session: &Value) {
        session["status"].as_str().unwrap_or_default().clone_into(&mut self.status);
        self.done = session["completedFrames"].as_u64().unwrap_or(0);
        self.rate = session["rate"].as_f64().unwrap_or(0.0);
        self.replays = session["replays"].as_array().map_or(0, Vec::len);
        self.strip = strip(session, STRIP_CELLS);
        self.held = session["coverage"].as_array().into_iter().flatten().filter_map(held).collect();
        let moment = |name: &str| session[name].as_i64();
        self.took = moment("endedAt")
            .zip(moment("createdAt"))
            .map(|(ended, began)| Duration::from_millis((ended - began).unsigned_abs()));
    }

    /// What a worker is at, once a part of the session is done.
    pub(super) fn held_midway(&self, worker: &str) -> Option<Held> {
        let is_midway = !self.is_over() && self.done * 4 >= FRAMES;
        self.held.iter().find(|held| is_midway && held.worker == worker).cloned()
    }
}

impl Held {
    /// Whether so many pictures are some of it, but not nearly all. A slow machine does not see every one of them made.
    pub(super) fn is_begun_with(&self, pictures: u64) -> bool {
        let frames = self.frames.end - self.frames.start;
        pictures * 8 >= frames && pictures * 5 <= frames * 4
    }
}

fn held(entry: &Value) -> Option<Held> {
    let range = entry["frameRange"].as_array()?;
    let frames = range.first()?.as_u64()?..range.get(1)?.as_u64()?;
    let (worker, chunk) = (entry["workerId"].as_str()?.to_owned(), entry["globalIdChunkId"].as_u64()?);
    (entry["status"] == "running").then_some(Held { worker, frames, chunk })
}

pub(super) const FRAMES: u64 = 600;
const FRAMES_PER_TASK: u64 = 25;
/// One for each range.
const STRIP_CELLS: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn session(status: &str, done: u64) -> Session {
        let mut session = Session::planned(0);
        let entry = |range: [u64; 2], status: &str| json!({"frameRange": range, "status": status, "workerId": "GPU-02", "globalIdChunkId": range[0] / 25 + 1});
        session.update(&json!({"status": status, "totalFrames": FRAMES, "completedFrames": done, "rate": 70.5,
            "replays": [{}], "createdAt": 1000, "endedAt": 3500,
            "coverage": [entry([0, 25], "completed"), entry([25, 50], "running"), entry([50, 75], "assigned")]}));
        session
    }

    /// S26: what the demo shows is what the server says.
    #[test]
    fn a_session_is_read_as_the_server_tells_it() {
        let read = session("running", 150);
        assert_eq!((read.done, read.replays, read.rate), (150, 1, 70.5));
        assert_eq!(read.took, Some(Duration::from_millis(2500)));
        assert_eq!(read.strip.chars().count(), STRIP_CELLS);
        assert!(!read.is_over() && session("failed", 0).is_over());
    }

    /// Somebody is killed in the middle of a range that the server knows to be begun, and in the middle of a session.
    #[test]
    fn only_what_is_under_way_is_interrupted() {
        let held = Held { worker: "GPU-02".to_owned(), frames: 25..50, chunk: 2 };
        assert_eq!(session("running", 150).held_midway("GPU-02"), Some(held.clone()));
        assert_eq!(session("running", 25).held_midway("GPU-02"), None);
        assert_eq!(session("completed", 600).held_midway("GPU-02"), None);
        assert_eq!(session("running", 150).held_midway("GPU-01"), None);
        assert_eq!(
            [0, 3, 4, 20, 21, 25].map(|pictures| held.is_begun_with(pictures)),
            [false, false, true, true, false, false]
        );
    }

    #[test]
    fn each_round_has_another_victim() {
        let victims = [0, 1, 2, 3].map(|number| Session::planned(number).victim().id);
        assert_eq!(victims, ["GPU-02", "GPU-03", "GPU-01", "GPU-02"]);
    }
}
