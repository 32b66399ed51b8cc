//! Work outside the coordinator once a decision is durable: pushes, moves of files, manifests (S3, S15, S21).
//!
//! It dies with the coordinator; the next life asks again for everything that was not reported by then.

use super::Life;
use crate::{
    checker::{Broken, Verdict},
    coordinator::life::store_broke,
    farm::push_body,
    network::{Sender, Token},
    scene::{Happening, Scene},
};
use muster_model::{
    Command, Effect, EntryId, FrameCommand, FrameHandout, FrameRange, FrameTaskId, FrameTaskStatus, Name,
    SessionId, SkippedRange,
};
use muster_store::Cursor;
use std::{collections::BTreeMap, ops::RangeInclusive};

/// Something that is done beside the coordinator.
#[derive(Clone, Debug)]
pub(crate) enum Errand {
    /// It is this one's turn.
    Begin(Effect),
    /// No answer came to the push with this number.
    PushLate(u64),
    /// The files of an entry are where they belong.
    Moved(EntryId),
    /// The files that tell of a session are written.
    Written(SessionId),
    /// The coordinator hears that a manifest is written.
    Merged(Box<FrameCommand>),
    /// A removed worker acknowledges (S6).
    Dismissed(Name),
}

/// A task on its way to a worker.
#[derive(Clone, Debug)]
pub(crate) struct Push {
    pub(crate) life: u32,
    pub(crate) number: u64,
    pub(crate) renderer: usize,
    /// Token that signs the push.
    pub(crate) token: Token,
    pub(crate) handout: FrameHandout,
    /// The task as it is sent.
    pub(crate) body: Vec<u8>,
}

/// A worker's answer to a push.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PushAnswer {
    pub(crate) life: u32,
    pub(crate) number: u64,
    pub(crate) acked: bool,
}

/// Everything of it that is under way.
#[derive(Default)]
pub(super) struct Errands {
    pushes: BTreeMap<u64, (FrameTaskId, u16)>,
    last_push: u64,
    /// Entries whose files are being moved, and whether that was asked for again meanwhile.
    moves: BTreeMap<EntryId, bool>,
    sessions: BTreeMap<SessionId, Tending>,
}

impl Errands {
    /// Notes a push and gives it a number.
    fn next_push(&mut self, handout: &FrameHandout) -> u64 {
        self.last_push += 1;
        self.pushes.insert(self.last_push, (handout.task.clone(), handout.attempt));
        self.last_push
    }
}

/// The files of one session: never written by two at once.
#[derive(Default)]
struct Tending {
    /// The fragments that make up the manifest, where that is being written.
    manifest: Option<Vec<(FrameRange, u64)>>,
    /// The mark of the request for it.
    mark: u64,
    replays: Vec<u64>,
    /// Request that arrived meanwhile, perhaps for a manifest.
    again: Option<Option<u64>>,
}

impl Life {
    /// Plans what became due.
    pub(super) fn send_out(&self, effects: Vec<Effect>, scene: &mut Scene) {
        for effect in effects {
            let slow = scene.dice.chance(50);
            self.plan(0..=if slow { 3_000 } else { 30 }, Errand::Begin(effect), scene);
        }
    }

    pub(crate) fn run(&mut self, errand: Errand, scene: &mut Scene) -> Verdict {
        match errand {
            Errand::Begin(Effect::Push { endpoint, token_hash, handout, .. }) => {
                if scene.checker.terms.leads(self.epoch) {
                    scene.checker.frames.pushes(&handout, self.now(scene))?;
                }
                let renderer = endpoint.parse().expect("the world's endpoints are numbers");
                let number = self.errands.next_push(&handout);
                let (life, body) = (self.number, push_body(&handout));
                let push = Push { life, number, renderer, token: token_hash, handout: *handout, body };
                self.push(push, scene);
                Ok(())
            }
            Errand::Begin(Effect::Dismiss { worker, .. }) => {
                // Whether a push to it arrives or not: some of the removed are dead.
                if scene.dice.chance(600) {
                    self.plan(10..=5_000, Errand::Dismissed(worker), scene);
                }
                Ok(())
            }
            Errand::Merged(merged) => {
                self.tell(*merged, scene);
                Ok(())
            }
            Errand::Dismissed(worker) => {
                self.tell(FrameCommand::Dismissed { worker }, scene);
                Ok(())
            }
            Errand::Begin(Effect::Quarantine(record)) => {
                self.move_files(record.id, scene);
                Ok(())
            }
            Errand::Begin(Effect::WriteSession { session }) => self.tend(session, None, scene),
            Errand::Begin(Effect::Merge { session, mark }) => self.tend(session, Some(mark), scene),
            Errand::PushLate(number) => {
                self.pushed(number, false, scene);
                Ok(())
            }
            Errand::Moved(entry) => {
                self.moved(entry, scene);
                Ok(())
            }
            Errand::Written(session) => self.written(session, scene),
        }
    }

    /// A push was answered, or is not waited for any longer.
    pub(super) fn pushed(&mut self, number: u64, acked: bool, scene: &mut Scene) {
        if let Some((task, attempt)) = self.errands.pushes.remove(&number) {
            scene.count(if acked { "push taken" } else { "push failed" });
            self.tell(FrameCommand::Pushed { task, attempt, acked }, scene);
        }
    }

    fn push(&mut self, push: Push, scene: &mut Scene) {
        let number = push.number;
        scene.transmit(Sender::Renderer(push.renderer), Happening::Pushed(Box::new(push)));
        self.plan(5_000..=5_000, Errand::PushLate(number), scene);
    }

    fn move_files(&mut self, entry: EntryId, scene: &mut Scene) {
        let is_new = !self.errands.moves.contains_key(&entry);
        self.errands.moves.insert(entry.clone(), !is_new);
        if is_new {
            self.plan(1..=1_500, Errand::Moved(entry), scene);
        }
    }

    fn moved(&mut self, entry: EntryId, scene: &mut Scene) {
        let again = self.errands.moves.remove(&entry) == Some(true);
        scene.checker.frames.files_moved(&entry);
        if again {
            // More came meanwhile: it is told once all of it is there.
            self.move_files(entry, scene);
        } else {
            self.tell(FrameCommand::Moved { entry, files: 3 }, scene);
        }
    }

    /// Reads what the store knows of a session; it is on disk some time later.
    fn tend(&mut self, session: SessionId, merge: Option<u64>, scene: &mut Scene) -> Verdict {
        if let Some(busy) = self.errands.sessions.get_mut(&session) {
            busy.again = Some(merge.max(busy.again.flatten()));
            return Ok(());
        }
        let tending = self.read_session(&session, merge)?;
        self.errands.sessions.insert(session.clone(), tending);
        let slow = scene.dice.chance(400);
        self.plan(1..=if slow { 10_000 } else { 100 }, Errand::Written(session), scene);
        Ok(())
    }

    /// Files are shared by all servers: whoever may not lead any more waits until it knows, lest it put something old in
    /// the place of what the new one wrote.
    fn written(&mut self, session: SessionId, scene: &mut Scene) -> Verdict {
        if !self.is_fresh {
            scene.count("file left to whoever leads");
            self.plan(1_000..=1_000, Errand::Written(session), scene);
            return Ok(());
        }
        let Some(tending) = self.errands.sessions.remove(&session) else {
            return Ok(());
        };
        scene.checker.frames.session_written(&session, &tending.replays);
        let is_merged = tending.manifest.is_some();
        let skipped =
            tending.manifest.as_ref().map_or_else(Vec::new, |fragments| skips(&session, fragments, scene));
        if let Some(mut fragments) = tending.manifest {
            fragments.retain(|(_, chunk)| skipped.iter().all(|range| range.chunk != *chunk));
            scene.checker.frames.manifest_written(&session, fragments);
        }
        if is_merged {
            let merged = FrameCommand::Merged { session: session.clone(), mark: tending.mark, skipped };
            // A coordinator that is busy hears of it later: what was written may be old by then.
            let is_late = scene.dice.chance(100);
            self.plan(0..=if is_late { 30_000 } else { 0 }, Errand::Merged(Box::new(merged)), scene);
        }
        match tending.again {
            Some(merge) => self.tend(session, merge, scene),
            None => Ok(()),
        }
    }

    fn read_session(&self, id: &SessionId, merge: Option<u64>) -> Result<Tending, Broken> {
        let all = Cursor { after: None, limit: u32::MAX };
        let Some(record) = self.reader.session(id).map_err(store_broke)? else {
            return Ok(Tending::default());
        };
        let replays = self.reader.replays(id, &all).map_err(store_broke)?.items;
        let tasks = self.reader.frame_tasks(id, &all).map_err(store_broke)?.items;
        let is_over = record.completed_frames + record.failed_frames == record.total_frames;
        let is_due = merge.is_some() && !record.status.is_ended() && is_over;
        let done = tasks.into_iter().filter(|task| task.status == FrameTaskStatus::Completed);
        let fragments = done.map(|task| (FrameRange { start: task.id.start, end: task.end }, task.ids.chunk));
        Ok(Tending {
            manifest: is_due.then(|| fragments.collect()),
            mark: merge.unwrap_or_default(),
            replays: replays.into_iter().map(|replay| replay.new).collect(),
            again: None,
        })
    }

    /// Tells the coordinator what was done; there is no wire between them.
    fn tell(&mut self, command: FrameCommand, scene: &mut Scene) {
        let ticket = scene.ticket(Sender::Errand, Command::Frames(command));
        self.receive(ticket, scene);
    }

    fn plan(&self, pause: RangeInclusive<i64>, errand: Errand, scene: &mut Scene) {
        scene.within(
            *pause.start(),
            *pause.end(),
            Happening::Errand { life: self.number, errand: Box::new(errand) },
        );
    }
}

/// The fragments that a merge would skip because their timestamps interleave with others' (S23). Which ones follows from
/// their chunks, so that a merge that is repeated skips the same.
fn skips(session: &SessionId, fragments: &[(FrameRange, u64)], scene: &mut Scene) -> Vec<SkippedRange> {
    let every = scene.plan.frames.as_ref().map_or(0, |plan| plan.skips_every);
    if every == 0 {
        return Vec::new();
    }
    let is_skipped = |(_, chunk): &&(FrameRange, u64)| chunk.is_multiple_of(every);
    let skipped: Vec<SkippedRange> = fragments
        .iter()
        .filter(is_skipped)
        .map(|(range, chunk)| SkippedRange {
            task: FrameTaskId { session: session.clone(), start: range.start },
            chunk: *chunk,
            reason: "its timestamps interleave".into(),
        })
        .collect();
    if !skipped.is_empty() {
        scene.count("manifest with skipped ranges");
    }
    skipped
}
