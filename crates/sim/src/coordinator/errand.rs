//! What must happen outside once a decision is durable: pushes, moves of files, manifests (S3, S15, S21).
//!
//! It dies with the coordinator; what it had not told by then is asked for again by the next life.

use super::{Life, load::store_broke};
use crate::{
    agenda::Happening,
    checker::{Broken, Checker, Verdict},
    network::{Sender, Token},
    scene::Scene,
};
use muster_model::{
    Command, Effect, EntryId, FrameCommand, FrameHandout, FrameRange, FrameTaskId, FrameTaskStatus, SessionId,
};
use muster_store::Cursor;
use std::collections::BTreeMap;

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
}

/// A task on its way to a worker.
#[derive(Clone, Debug)]
pub(crate) struct Push {
    pub(crate) life: u32,
    pub(crate) number: u64,
    pub(crate) renderer: usize,
    /// What it is signed with.
    pub(crate) token: Token,
    pub(crate) handout: FrameHandout,
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

/// The files of one session: never written by two at once.
#[derive(Default)]
struct Tending {
    /// The fragments that make up the manifest, where that is being written.
    manifest: Option<Vec<(FrameRange, u64)>>,
    replays: Vec<u64>,
    /// What was asked for meanwhile: `true` with the manifest.
    again: Option<bool>,
}

impl Life {
    /// Plans what became due.
    pub(super) fn send_out(&self, effects: Vec<Effect>, scene: &mut Scene) {
        for effect in effects {
            let slow = scene.dice.chance(50);
            self.plan((0, if slow { 3_000 } else { 30 }), Errand::Begin(effect), scene);
        }
    }

    pub(super) fn run(&mut self, errand: Errand, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        match errand {
            Errand::Begin(Effect::Push { endpoint, token_hash, handout, .. }) => {
                if checker.terms.leads(self.epoch) {
                    checker.frames.pushes(&handout, self.now(scene))?;
                }
                self.push(&endpoint, (token_hash, *handout), scene);
                Ok(())
            }
            Errand::Begin(Effect::Quarantine(record)) => {
                self.move_files(record.id, scene);
                Ok(())
            }
            Errand::Begin(Effect::WriteSession { session }) => self.tend(session, false, scene),
            Errand::Begin(Effect::Merge { session }) => self.tend(session, true, scene),
            Errand::PushLate(number) => {
                self.pushed(number, false, scene);
                Ok(())
            }
            Errand::Moved(entry) => {
                self.moved(entry, scene, checker);
                Ok(())
            }
            Errand::Written(session) => self.written(session, scene, checker),
        }
    }

    /// A push was answered, or is not waited for any longer.
    pub(super) fn pushed(&mut self, number: u64, acked: bool, scene: &mut Scene) {
        if let Some((task, attempt)) = self.errands.pushes.remove(&number) {
            scene.count(if acked { "push taken" } else { "push failed" });
            self.tell(FrameCommand::Pushed { task, attempt, acked }, scene);
        }
    }

    fn push(&mut self, endpoint: &str, (token, handout): (Token, FrameHandout), scene: &mut Scene) {
        let renderer = endpoint.parse().expect("the world's endpoints are numbers");
        let errands = &mut self.errands;
        errands.last_push += 1;
        let number = errands.last_push;
        errands.pushes.insert(number, (handout.task.clone(), handout.attempt));
        let push = Push { life: self.number, number, renderer, token, handout };
        scene.transmit(Sender::Renderer(renderer), Happening::Pushed(Box::new(push)));
        self.plan((5_000, 5_000), Errand::PushLate(number), scene);
    }

    fn move_files(&mut self, entry: EntryId, scene: &mut Scene) {
        let is_new = !self.errands.moves.contains_key(&entry);
        self.errands.moves.insert(entry.clone(), !is_new);
        if is_new {
            self.plan((1, 1_500), Errand::Moved(entry), scene);
        }
    }

    fn moved(&mut self, entry: EntryId, scene: &mut Scene, checker: &mut Checker) {
        let again = self.errands.moves.remove(&entry) == Some(true);
        checker.files_moved(&entry);
        if again {
            // More came meanwhile: it is told once all of it is there.
            self.move_files(entry, scene);
        } else {
            self.tell(FrameCommand::Moved { entry, files: 3 }, scene);
        }
    }

    /// Reads what the store knows of a session; it is on disk some time later.
    fn tend(&mut self, session: SessionId, merge: bool, scene: &mut Scene) -> Verdict {
        if let Some(busy) = self.errands.sessions.get_mut(&session) {
            busy.again = Some(merge || busy.again == Some(true));
            return Ok(());
        }
        let tending = self.read_session(&session, merge)?;
        self.errands.sessions.insert(session.clone(), tending);
        let slow = scene.dice.chance(400);
        self.plan((1, if slow { 10_000 } else { 100 }), Errand::Written(session), scene);
        Ok(())
    }

    /// Files are shared by all servers: whoever may not lead any more waits until it knows, lest it put something old in
    /// the place of what the new one wrote.
    fn written(&mut self, session: SessionId, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if !self.is_fresh {
            scene.count("file left to whoever leads");
            self.plan((1_000, 1_000), Errand::Written(session), scene);
            return Ok(());
        }
        let Some(tending) = self.errands.sessions.remove(&session) else {
            return Ok(());
        };
        checker.session_written(&session, &tending.replays);
        let is_merged = tending.manifest.is_some();
        if let Some(fragments) = tending.manifest {
            checker.manifest_written(&session, fragments);
        }
        match tending.again {
            // Something of it was reopened, or told: this manifest is not the last.
            Some(merge) => self.tend(session, merge || is_merged, scene),
            None if is_merged => {
                self.tell(FrameCommand::Merged { session, fault: None }, scene);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn read_session(&self, id: &SessionId, merge: bool) -> Result<Tending, Broken> {
        let all = Cursor { after: None, limit: u32::MAX };
        let Some(record) = self.reader.session(id).map_err(store_broke)? else {
            return Ok(Tending::default());
        };
        let replays = self.reader.replays(id, &all).map_err(store_broke)?.items;
        let tasks = self.reader.frame_tasks(id, &all).map_err(store_broke)?.items;
        let is_due = merge && !record.status.is_ended() && record.completed_frames == record.total_frames;
        let done = tasks.into_iter().filter(|task| task.status == FrameTaskStatus::Completed);
        let fragments = done.map(|task| (FrameRange { start: task.id.start, end: task.end }, task.ids.chunk));
        Ok(Tending {
            manifest: is_due.then(|| fragments.collect()),
            replays: replays.into_iter().map(|replay| replay.new).collect(),
            again: None,
        })
    }

    /// Tells the coordinator what was done; there is no wire between them.
    fn tell(&mut self, command: FrameCommand, scene: &mut Scene) {
        let ticket = scene.ticket((Sender::Errand, None), Command::Frames(command), None);
        self.receive(ticket, scene);
    }

    fn plan(&self, (low, high): (i64, i64), errand: Errand, scene: &mut Scene) {
        scene.within(low, high, Happening::Errand { life: self.number, errand: Box::new(errand) });
    }
}
