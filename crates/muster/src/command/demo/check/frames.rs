//! Compares what the sessions left on disk with what was submitted and with what became of the workers: every frame once,
//! no id twice, and what was begun by somebody who was killed done again by somebody else.

use super::{
    super::{
        farm::{FarmRest, Loss},
        footage::{Footage, Reel},
        ledger::Ledger,
        paint::grouped,
        session::{FRAMES, Session},
    },
    Finding, bad, counted, good,
};
use muster_manifest::FrameRange;

/// What is compared.
#[derive(Clone, Copy)]
pub(in super::super) struct FrameEvidence<'a> {
    pub(in super::super) sessions: &'a [Session],
    pub(in super::super) losses: &'a [Loss],
    pub(in super::super) ledger: &'a Ledger,
    pub(in super::super) footage: &'a Footage,
    pub(in super::super) rest: &'a FarmRest,
}

impl FrameEvidence<'_> {
    pub(super) fn findings(&self) -> Vec<Finding> {
        vec![
            self.sessions_as_planned(),
            self.manifests_stand(),
            self.frames_stand_once(),
            self.ids_used_once(),
            self.losses_made_good(),
            self.workers_at_rest(),
        ]
    }

    /// S26: each session ended as it should, and nobody holds anything of it.
    fn sessions_as_planned(&self) -> Finding {
        let ended = |session: &Session| {
            let status = self.ledger.sessions.get(&session.id);
            status.map_or("missing", String::as_str).to_owned()
        };
        let wanted = |session: &Session| if session.is_cancelled { "cancelled" } else { "completed" };
        if let Some(session) = self.sessions.iter().find(|session| ended(session) != wanted(session)) {
            return bad(format!(
                "the session {} ended {}, not {}",
                session.id,
                ended(session),
                wanted(session)
            ));
        }
        let cancelled = self.sessions.iter().filter(|session| session.is_cancelled).count();
        let completed = self.sessions.len() - cancelled;
        match self.ledger.open_ranges {
            0 => good(format!(
                "{}: {completed} completed, {cancelled} cancelled on request",
                counted(self.sessions.len() as u64, "session", "sessions")
            )),
            open => bad(format!("{open} ranges of frames have not ended")),
        }
    }

    /// S24: the manifest of each completed session is whole and exactly what its fragments give.
    fn manifests_stand(&self) -> Finding {
        let fault = |(session, reel): (&str, &Reel)| {
            reel.faults.first().map(|fault| format!("the manifest of {session} does not verify: {fault}"))
        };
        let is_unseen =
            |session: &&Session| !session.is_cancelled && !self.footage.reels.contains_key(&session.id);
        if let Some(session) = self.sessions.iter().find(is_unseen) {
            return bad(format!("there is no manifest of {}", session.id));
        }
        let fragments: u64 = self.completed().map(|(_, reel)| reel.fragments).sum();
        match self.completed().find_map(fault) {
            Some(fault) => bad(fault),
            None => {
                good(format!("every manifest verifies: {} fragments, no gap, no overlap", grouped(fragments)))
            }
        }
    }

    /// S14: the surviving chunks have one whole picture of each frame, and no other.
    fn frames_stand_once(&self) -> Finding {
        let mut frames = 0;
        for (session, reel) in self.completed() {
            if let Some(torn) = reel.torn.first() {
                return bad(format!("{torn} is no whole picture"));
            }
            if !reel.frames.iter().copied().eq(0..FRAMES) {
                return bad(frames_wrong(session, &reel.frames));
            }
            frames += FRAMES;
        }
        good(format!("{} frames: one whole PNG of each among the surviving chunks", grouped(frames)))
    }

    /// S13: no id was ever given to two persons, also by those who were killed.
    fn ids_used_once(&self) -> Finding {
        let Footage { persons, unreadable, .. } = self.footage;
        let doubled = persons.windows(2).find(|pair| pair[0] == pair[1]);
        match (unreadable.first(), doubled) {
            (Some(unreadable), _) => bad(format!("a label file is none: {unreadable}")),
            (None, Some(pair)) => bad(format!("two persons have the id {}", pair[0])),
            (None, None) => good(format!(
                "{} persons in all label files, also those set apart: no id twice",
                grouped(persons.len() as u64)
            )),
        }
    }

    /// S15, S16: what a killed worker was at was rendered anew under other ids, and what it left was set apart.
    fn losses_made_good(&self) -> Finding {
        let mut told = Vec::new();
        for (session, reel) in self.completed() {
            let number = self.sessions.iter().find(|other| other.id == session).map(|other| other.number);
            let lost = |loss: &&Loss| Some(loss.session) == number && loss.is_midway();
            let Some(loss) = self.losses.iter().find(lost) else {
                return bad(format!("no worker was killed in the middle of a range of {session}"));
            };
            match self.made_good(loss, reel) {
                Ok(()) => told.push(loss),
                Err(fault) => return bad(fault),
            }
        }
        if !self.rest.is_tidy {
            return bad("what was given up is not all set apart".to_owned());
        }
        good(match told.as_slice() {
            [] if self.losses.is_empty() => "no worker was killed this time".to_owned(),
            [] => "a worker was killed at work (kill -9) in a session that was cancelled then".to_owned(),
            [loss] => {
                let Loss { held, pictures, .. } = loss;
                format!(
                    "the worker {} was killed at frames {} to {} (kill -9): all were rendered anew under new ids, the \
                     {} it left were set apart",
                    held.worker,
                    held.frames.start,
                    held.frames.end - 1,
                    counted(*pictures, "picture", "pictures"),
                )
            }
            more => format!(
                "workers were killed at work (kill -9) {} times: their ranges were rendered anew, what they left was \
                 set apart",
                more.len()
            ),
        })
    }

    fn made_good(&self, loss: &Loss, reel: &Reel) -> Result<(), String> {
        let Loss { held, pictures, .. } = loss;
        let range = FrameRange { start: held.frames.start, end: held.frames.end };
        let is_it = |chunk: u64, frames: FrameRange| chunk == held.chunk && frames == range;
        let replays = &reel.manifest.distributed.replay;
        if !replays.iter().any(|replay| is_it(replay.retired_chunk_id, replay.frame_range)) {
            return Err(format!(
                "{} was killed at {range}, chunk {}, and no replay names that",
                held.worker, held.chunk
            ));
        }
        let kept = self.footage.set_apart.get(&held.chunk).copied().unwrap_or(0);
        if kept < *pictures {
            return Err(format!(
                "{} left {pictures} pictures of chunk {}, {kept} were set apart",
                held.worker, held.chunk
            ));
        }
        Ok(())
    }

    /// S6: workers that are asked to leave do so, and end well.
    fn workers_at_rest(&self) -> Finding {
        match self.rest.unwell.first() {
            Some(first) => bad(first.clone()),
            None => good("the workers left on request".to_owned()),
        }
    }

    /// The sessions that the demo saw completed, with what is on disk of them.
    fn completed(&self) -> impl Iterator<Item = (&str, &Reel)> {
        self.footage.reels.iter().map(|(session, reel)| (session.as_str(), reel))
    }
}

fn frames_wrong(session: &str, frames: &[u64]) -> String {
    let missing = (0..FRAMES).find(|frame| frames.binary_search(frame).is_err());
    let doubled = frames.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    match (missing, doubled) {
        (Some(frame), _) => format!("{session} has no picture of frame {frame}"),
        (None, Some(frame)) => format!("{session} has two pictures of frame {frame}"),
        (None, None) => format!("{session} has pictures of frames beyond its end"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::demo::{
        footage::{Distributed, Manifest},
        session::Held,
    };
    use muster_manifest::Replay;

    /// A session in which a worker was killed and everything was made good.
    struct Story {
        sessions: Vec<Session>,
        losses: Vec<Loss>,
        ledger: Ledger,
        footage: Footage,
        rest: FarmRest,
    }

    impl Story {
        fn told() -> Self {
            let held = Held { worker: "GPU-02".to_owned(), frames: 200..225, chunk: 9 };
            let frame_range = FrameRange { start: 200, end: 225 };
            let replay = vec![Replay { frame_range, retired_chunk_id: 9, new_chunk_id: Some(12) }];
            let manifest = Manifest { ranges: Vec::new(), distributed: Distributed { replay } };
            let reel = Reel { manifest, fragments: 24, frames: (0..FRAMES).collect(), ..Reel::default() };
            Self {
                sessions: vec![Session { status: "completed".to_owned(), ..Session::planned(0) }],
                losses: vec![Loss { session: 0, held, pictures: 8 }],
                ledger: Ledger {
                    sessions: [("demo-1".to_owned(), "completed".to_owned())].into(),
                    ..Ledger::default()
                },
                footage: Footage {
                    reels: [("demo-1".to_owned(), reel)].into(),
                    set_apart: [(9, 8)].into(),
                    persons: (1..=1216).collect(),
                    unreadable: Vec::new(),
                },
                rest: FarmRest { is_tidy: true, unwell: Vec::new() },
            }
        }

        fn findings(&self) -> Vec<Finding> {
            let Self { sessions, losses, ledger, footage, rest } = self;
            FrameEvidence { sessions, losses, ledger, footage, rest }.findings()
        }

        /// What is wrong after something was changed.
        fn wrong(change: fn(&mut Self)) -> Vec<String> {
            let mut story = Self::told();
            change(&mut story);
            story.findings().into_iter().filter(|finding| !finding.is_good).map(|found| found.says).collect()
        }

        fn reel(&mut self) -> &mut Reel {
            self.footage.reels.get_mut("demo-1").unwrap()
        }
    }

    #[test]
    fn a_session_that_is_whole_is_told_so() {
        let told = Story::told().findings();
        assert!(told.iter().all(|finding| finding.is_good), "{told:?}");
        assert_eq!(told[0].says, "1 session: 1 completed, 0 cancelled on request");
        assert!(told[4].says.contains("GPU-02 was killed at frames 200 to 224"), "{}", told[4].says);
    }

    /// I2, S14, S24: a frame that is missing, doubled, torn or of nobody is found, and so is a manifest that does not verify.
    #[test]
    fn no_frame_is_missed() {
        for change in [
            (|story| story.reel().frames.retain(|frame| *frame != 7)) as fn(&mut Story),
            |story| story.reel().frames.insert(7, 7),
            |story| story.reel().frames.push(FRAMES),
            |story| story.reel().torn.push("00000007.png".to_owned()),
            |story| story.reel().faults.push("it is not complete".to_owned()),
            |story| story.footage.reels.clear(),
        ] {
            assert_eq!(Story::wrong(change).len(), 1);
        }
        let missing = Story::wrong(|story| story.reel().frames.retain(|frame| *frame != 7));
        assert_eq!(missing, ["demo-1 has no picture of frame 7"]);
    }

    /// S13: an id that is used twice is found, and a label file that cannot be read hides none.
    #[test]
    fn no_id_is_used_twice() {
        assert_eq!(Story::wrong(|story| story.footage.persons[3] = 5), ["two persons have the id 5"]);
        assert_eq!(Story::wrong(|story| story.footage.unreadable.push("x".to_owned())).len(), 1);
    }

    /// S15, S16: the very range of the very chunk must have been replayed, and its pictures set apart.
    #[test]
    fn a_loss_is_made_good() {
        for change in [
            (|story| story.losses.clear()) as fn(&mut Story),
            |story| story.losses[0].pictures = 25,
            |story| story.losses[0].held.chunk = 10,
            |story| story.losses[0].held.frames = 200..224,
            |story| story.reel().manifest.distributed.replay.clear(),
            |story| story.footage.set_apart.clear(),
            |story| story.rest.is_tidy = false,
        ] {
            assert_eq!(Story::wrong(change).len(), 1);
        }
    }

    /// S26: a session that was cancelled on request is as it should be; any other end is not.
    #[test]
    fn sessions_end_as_asked() {
        let cancelled = |story: &mut Story| {
            story.sessions[0].is_cancelled = true;
            story.ledger.sessions.insert("demo-1".to_owned(), "cancelled".to_owned());
            story.footage.reels.clear();
            story.losses.clear();
        };
        assert_eq!(Story::wrong(cancelled), Vec::<String>::new());
        let failed = Story::wrong(|story| {
            story.ledger.sessions.insert("demo-1".to_owned(), "failed".to_owned());
        });
        assert_eq!(failed, ["the session demo-1 ended failed, not completed"]);
        assert_eq!(Story::wrong(|story| story.ledger.sessions.clear()).len(), 1);
        assert_eq!(Story::wrong(|story| story.ledger.open_ranges = 1).len(), 1);
        assert_eq!(Story::wrong(|story| story.rest.unwell.push("x".to_owned())), ["x"]);
    }
}
