//! What the sessions came to, and what each worker did in them.

use super::{
    super::{
        farm::Farm,
        ledger::{DoneRange, Ledger},
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
    pub(in super::super) ledger: &'a Ledger,
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
            let (ranges, frames) = share(&self.ledger.ranges, worker.plan.id);
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

    /// Ranges of a session that were done.
    fn ranges(&self, session: &Session) -> u64 {
        self.ledger.ranges.iter().filter(|range| range.session == session.id).count() as u64
    }
}

/// The ranges and the frames that a worker did.
fn share(ranges: &[DoneRange], worker: &str) -> (u64, u64) {
    let ranges = ranges.iter().filter(|range| range.worker == worker);
    ranges.fold((0, 0), |(count, frames), range| (count + 1, frames + range.frames))
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
    use std::time::Duration;

    #[test]
    fn a_worker_is_credited_with_what_it_did() {
        let range = |worker: &str, frames: u64| DoneRange {
            session: "demo-1".to_owned(),
            worker: worker.to_owned(),
            frames,
        };
        let ranges = [range("A", 25), range("B", 25), range("A", 10)];
        assert_eq!(share(&ranges, "A"), (2, 35));
        assert_eq!(share(&ranges, "B"), (1, 25));
        assert_eq!(share(&ranges, "C"), (0, 0));
    }

    #[test]
    fn the_pace_is_over_all_of_a_session() {
        let session = Session { done: 600, took: Some(Duration::from_secs(9)), ..Session::planned(0) };
        assert_eq!(frames_per_s(&session), Some(66.7));
        assert_eq!(frames_per_s(&Session::planned(0)), None);
    }
}
