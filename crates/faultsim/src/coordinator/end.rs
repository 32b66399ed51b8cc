//! Ends of lives, and the parts of them that go on for a while.

use super::{Coordinator, Life, election::FollowerState, server::Cut};
use crate::{
    checker::{Verdict, broken},
    coordinator::life::store_broke,
    planted::Planted,
    scene::{Happening, Scene},
};
use muster_store::{Election, Failure, Store};

/// Kind of end of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Power is gone; a batch with the store is kept or lost by chance.
    Crash,
    /// A stop as on a signal: who waits is answered, what was decided is kept.
    Stop,
}

/// Fault in the middle of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitFault {
    /// Power is gone.
    Crash,
    /// The process stands still for longer than it is waited for.
    Stall,
}

/// Cause for which a server leads no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeposeCause {
    /// A newer term has begun.
    Superseded,
    /// It could not show that it lives.
    Silent,
    /// The store failed, or does not answer.
    Failed,
}

impl Coordinator {
    /// Has something happen in the middle of the leader's next commit.
    pub(crate) fn doom(&mut self, doom: CommitFault) {
        self.doom = Some(doom);
    }

    /// Takes the planned fault, if a commit is under way.
    pub(crate) fn must_meet_doom(&mut self) -> Option<CommitFault> {
        let is_committing = self.life().is_some_and(Life::is_committing);
        self.doom.take_if(|_| is_committing)
    }

    /// Ends a server.
    pub(crate) fn end(&mut self, server: usize, ending: Ending, scene: &mut Scene) -> Verdict {
        let is_able =
            !self.servers[server].is_stalled(scene.now) && self.reaches(server, Cut::Store, scene.now);
        let is_fresh = self.servers[server].is_sole(scene.now);
        let mut life = self.servers[server].life.take();
        life.iter_mut().for_each(|life| life.is_fresh = is_fresh);
        self.doom.take_if(|_| life.is_some());
        match (ending, life) {
            (Ending::Stop, Some(life)) if is_able => self.stop(life, scene)?,
            (_, Some(life)) => self.crash(life, scene)?,
            (_, None) => {}
        }
        if self.is_shared() {
            self.go_down(server, scene);
        }
        Ok(())
    }

    /// Invariant 10: what an earlier life still tries to write is refused.
    pub(super) fn defy_the_dead(&mut self) -> Verdict {
        for (life, orphan) in std::mem::take(&mut self.orphans) {
            if !orphan.comes_too_late() {
                return broken("older_term_writes", || format!("life {life} committed though it is over"));
            }
        }
        Ok(())
    }

    /// A batch failed: the term ends, as its memory may not be what the store has.
    pub(super) fn fail(&mut self, life: u32, failure: Option<Failure>, scene: &mut Scene) {
        scene.count(match failure {
            Some(Failure::After) => "commit failed, yet kept",
            _ => "commit failed",
        });
        scene.note(|| format!("coordinator: the commit failed ({failure:?}), the term ends"));
        let Some(server) = self.server_of(life) else {
            return;
        };
        if self.is_shared() {
            self.servers[server].life.iter_mut().for_each(Life::forget_batch);
            self.depose(server, DeposeCause::Failed, scene);
        } else {
            self.servers[server].life = None;
            scene.within(500, 1_500, Happening::Start(server));
        }
    }

    /// A newer term has begun: this one may not write any more.
    pub(super) fn superseded(&mut self, life: u32, scene: &mut Scene) -> Verdict {
        let Some(server) = self.server_of(life).filter(|_| self.is_shared()) else {
            return broken("store", || format!("life {life} was superseded by nobody"));
        };
        scene.count("stale commit refused");
        match self.planted {
            Some(Planted::DeposedGoesOn) => scene.within(0, 10, Happening::Heard { life }),
            Some(Planted::FenceIgnored) => return self.write_anyway(server, scene),
            _ => {
                self.servers[server].life.iter_mut().for_each(Life::forget_batch);
                self.depose(server, DeposeCause::Superseded, scene);
            }
        }
        Ok(())
    }

    /// Deposes a server that finds that it does not lead: it drops its memory and follows. A lease that was not lost
    /// to another server is given back, so that the others need not wait for silence; they come first.
    pub(super) fn depose(&mut self, server: usize, why: DeposeCause, scene: &mut Scene) {
        scene.count("leader steps down");
        scene.note(|| format!("server {server}: leads no more ({why:?})"));
        let place = &mut self.servers[server];
        let epoch = place.tenure.as_ref().map(|tenure| tenure.epoch);
        if let Some(life) = place.life.take() {
            self.set_adrift(life, scene);
        }
        let is_given_back = why != DeposeCause::Superseded && self.reaches(server, Cut::Store, scene.now);
        if let Some(epoch) = epoch.filter(|_| is_given_back) {
            self.store.resign(epoch).expect("a store in memory can be asked");
        }
        let pause = if why == DeposeCause::Superseded { 0 } else { RETRY_AFTER };
        self.follow(server, pause..=pause, scene);
    }

    /// As a store would let it that does not look at the epoch.
    fn write_anyway(&mut self, server: usize, scene: &mut Scene) -> Verdict {
        let term = self.store.begin_term().map_err(store_broke)?;
        match &mut self.servers[server].life {
            Some(life) => life.write_with(term.writer, scene),
            None => Ok(()),
        }
    }

    fn stop(&mut self, mut life: Life, scene: &mut Scene) -> Verdict {
        scene.count("coordinator stopped");
        scene.note(|| format!("server {}: stops", life.server));
        life.stop(scene)?;
        match self.is_shared() {
            true => self.store.resign(life.epoch).map_err(store_broke),
            false => Ok(()),
        }
    }

    fn crash(&mut self, mut life: Life, scene: &mut Scene) -> Verdict {
        let server = life.server;
        scene.count("coordinator crashed");
        if !life.is_committing() {
            scene.note(|| format!("server {server}: crashes"));
        } else if scene.dice.chance(500) {
            scene.count("crash in a commit, all kept");
            scene.note(|| format!("server {server}: crashes in a commit; all of it is kept"));
            life.commit(None, scene)?;
        } else {
            scene.count("crash in a commit, nothing kept");
            scene.note(|| format!("server {server}: crashes in a commit; nothing of it is kept"));
            if self.is_shared() {
                self.set_adrift(life, scene);
            } else {
                self.keep_orphan(life);
            }
        }
        Ok(())
    }

    /// Lets a batch that a life had sent to the store arrive there long after.
    fn set_adrift(&mut self, life: Life, scene: &mut Scene) {
        let lease = self.servers[life.server].post.times.lease.0;
        let number = life.number;
        if scene.dice.chance(500) && self.keep_orphan(life) {
            scene.within(1, lease * 2, Happening::Durable { life: number });
        }
    }

    fn keep_orphan(&mut self, life: Life) -> bool {
        let number = life.number;
        let orphan = life.into_orphan().map(|orphan| self.orphans.insert(number, orphan));
        orphan.is_some()
    }

    fn go_down(&mut self, server: usize, scene: &mut Scene) {
        self.lose_connection(server, scene);
        let place = &mut self.servers[server];
        (place.up, place.tenure, place.stalled_until, place.ahead) = (false, None, scene.now, None);
        place.incarnation += 1;
        place.post = FollowerState::new(place.post.times, &place.candidate().node);
        self.troubled_at = self.troubled_at.max(scene.now);
    }
}

/// Pause after a failed term, in milliseconds.
const RETRY_AFTER: i64 = 500;
