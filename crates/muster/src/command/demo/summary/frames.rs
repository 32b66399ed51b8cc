//! What the sessions came to, and what each worker did in them.

use super::{
    super::{
        farm::Farm,
        footage::{Footage, Reel, Survivor},
        session::{FRAMES, Session},
        worker::Worker,
    },
    empty_table, millis, number, right, times,
};
use comfy_table::Cell;
use serde_json::{Value, json};

/// What there is to tell of sessions.
#[derive(Clone, Copy)]
pub(in super::super) struct FrameSummary<'a> {
    pub(in super::super) farm: &'a Farm,
    pub(in super::super) footage: &'a Footage,
}

/// What one worker did.
struct WorkerCounts {
    id: &'static str,
    is_pushed_to: bool,
    ranges: u64,
    frames: u64,
    killed: u64,
    starts: u64,
}

impl FrameSummary<'_> {
    pub(super) fn session_table(&self, is_terminal: bool) -> String {
        let mut table = empty_table(is_terminal);
        table.set_header(["SESSION", "STATUS", "FRAMES", "DONE", "RANGES", "REPLAYED", "TIME", "FRAMES/S"]);
        for session in self.farm.sessions() {
            let counts = [FRAMES, session.done, self.ranges(session), session.replays as u64].map(number);
            let or_dash = |text: Option<String>| right(text.unwrap_or_else(|| "-".to_owned()));
            let took = or_dash(session.took.map(|took| format!("{:.1} s", took.as_secs_f64())));
            let pace = or_dash(frames_per_s(session).map(|pace| format!("{pace:.1}")));
            let words = [&session.id, &session.status].map(Cell::new);
            table.add_row(words.into_iter().chain(counts).chain([took, pace]));
        }
        table.trim_fmt()
    }

    pub(super) fn worker_table(&self, is_terminal: bool) -> String {
        let mut table = empty_table(is_terminal);
        table.set_header(["WORKER", "TASKS", "RANGES", "FRAMES", "KILLED", "STARTED"]);
        for WorkerCounts { id, is_pushed_to, ranges, frames, killed, starts } in self.worker_counts() {
            let words = [id, if is_pushed_to { "by push" } else { "on asking" }].map(Cell::new);
            let counts = [ranges, frames, killed].map(number);
            table.add_row(words.into_iter().chain(counts).chain([times(starts)]));
        }
        table.trim_fmt()
    }

    pub(super) fn sessions(&self) -> Vec<Value> {
        let session = |session: &Session| {
            json!({"session_id": session.id, "status": session.status, "frames": FRAMES, "completed": session.done,
                "ranges": self.ranges(session), "replays": session.replays, "duration_ms": session.took.map(millis),
                "frames_per_s": frames_per_s(session)})
        };
        self.farm.sessions().iter().map(session).collect()
    }

    pub(super) fn workers(&self) -> Vec<Value> {
        let worker = |worker: WorkerCounts| {
            let WorkerCounts { id, is_pushed_to, ranges, frames, killed, starts } = worker;
            json!({"worker_id": id, "push": is_pushed_to, "ranges": ranges, "frames": frames, "killed": killed,
                "starts": starts})
        };
        self.worker_counts().map(worker).collect()
    }

    fn worker_counts(&self) -> impl Iterator<Item = WorkerCounts> {
        self.farm.workers().iter().map(|worker: &Worker| {
            let (ranges, frames) = share(self.footage.reels.values(), worker.plan.id);
            let killed = self.farm.losses().iter().filter(|loss| loss.held.worker == worker.plan.id).count();
            WorkerCounts {
                id: worker.plan.id,
                is_pushed_to: worker.plan.is_pushed_to,
                ranges,
                frames,
                killed: killed as u64,
                starts: worker.starts(),
            }
        })
    }

    /// Ranges of a session that survived.
    fn ranges(&self, session: &Session) -> u64 {
        self.footage.reels.get(&session.id).map_or(0, |reel| reel.manifest.ranges.len() as u64)
    }
}

/// The ranges and the frames of a worker that survived.
fn share<'a>(reels: impl Iterator<Item = &'a Reel>, worker: &str) -> (u64, u64) {
    let ranges = reels.flat_map(|reel| &reel.manifest.ranges).filter(|range| range.worker_id == worker);
    let frames = |Survivor { frame_range, .. }: &Survivor| frame_range.end - frame_range.start;
    ranges.fold((0, 0), |(count, sum), range| (count + 1, sum + frames(range)))
}

fn frames_per_s(session: &Session) -> Option<f64> {
    let seconds = session.took?.as_secs_f64().max(0.001);
    #[allow(clippy::cast_precision_loss, reason = "hundreds of frames")]
    let pace = session.done as f64 / seconds;
    Some((pace * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::demo::footage::Manifest;
    use muster_manifest::FrameRange;
    use std::time::Duration;

    #[test]
    fn a_worker_is_credited_with_what_survived() {
        let survivor = |start: u64, end: u64, worker: &str| Survivor {
            frame_range: FrameRange { start, end },
            global_id_chunk_id: start,
            worker_id: worker.to_owned(),
        };
        let ranges = vec![survivor(0, 25, "A"), survivor(25, 50, "B"), survivor(50, 60, "A")];
        let reel = Reel { manifest: Manifest { ranges, ..Manifest::default() }, ..Reel::default() };
        assert_eq!(share([&reel].into_iter(), "A"), (2, 35));
        assert_eq!(share([&reel, &reel].into_iter(), "B"), (2, 50));
        assert_eq!(share([&reel].into_iter(), "C"), (0, 0));
    }

    #[test]
    fn the_pace_is_over_all_of_a_session() {
        let session = Session { done: 600, took: Some(Duration::from_secs(9)), ..Session::planned(0) };
        assert_eq!(frames_per_s(&session), Some(66.7));
        assert_eq!(frames_per_s(&Session::planned(0)), None);
    }
}
