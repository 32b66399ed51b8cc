//! N19: the spool on a disk that fills up, fails and loses what was not synced.

use super::{Agent, Chore, life::Doom};
use crate::{
    checker::{Broken, Verdict, Written},
    fault::Fault,
    planted::Planted,
    scene::{Happening, Scene},
};
use muster_agent::core::{Event, EventKind, Refusal};
use muster_contract_nodes::write_event;
use muster_spool::{Failure, Seq, SpoolError};
use std::ops::RangeInclusive;

/// Result of a sync.
pub(super) enum News {
    /// Everything up to here is on disk.
    Durable(Seq),
    /// So it is, but in room that was reserved.
    InReserve(Seq),
    /// It failed and is tried again.
    Failed,
}

impl Agent {
    pub(super) fn append(&mut self, number: u64, event: &Event, scene: &mut Scene) -> Verdict {
        scene.note(|| format!("{}: writes down {number}, {:?}", self.site.name, event.kind));
        let bytes = write_event(self.site.name.as_str(), event);
        let seq = self.life().spool.append(&bytes).map_err(spool_broke)?;
        scene.checker.agent(&self.site).appended(number, seq, Written { event, bytes })?;
        let slow = scene.dice.chance(50);
        self.plan_sync(1..=if slow { 600 } else { 15 }, scene);
        let is_start = matches!(event.kind, EventKind::TaskStarted { .. });
        if is_start && self.planted == Some(Planted::BegunBeforeDurable) {
            let now = self.now(scene);
            self.life().core.durable(number, now);
        }
        Ok(())
    }

    /// Makes everything that was appended so far durable at once.
    pub(super) fn sync(&mut self, scene: &mut Scene) -> Verdict {
        self.life().is_sync_planned = false;
        if self.life().doom.take_if(|doom| *doom == Doom::Sync).is_some() {
            self.meet_doom(scene);
            if self.life.is_none() {
                return Ok(());
            }
        }
        let synced = match self.planted {
            Some(Planted::SyncLies) if scene.dice.chance(500) => Ok(scene.checker.agent(&self.site).last()),
            _ => self.life().spool.sync(),
        };
        match synced {
            Ok(last) => {
                scene.checker.agent(&self.site).synced(last)?;
                if self.must_begin_segment() {
                    self.snapshot(scene)?;
                }
                if self.life.is_some() {
                    self.is_durable(last, scene);
                }
                Ok(())
            }
            Err(error) => self.not_synced(&error, scene),
        }
    }

    /// The core hears what became of a sync.
    pub(super) fn hear_of_disk(&mut self, scene: &Scene) {
        let now = self.now(scene);
        let life = self.life();
        match life.news.pop_front() {
            Some(News::Durable(last)) => life.core.durable(last.0, now),
            Some(News::InReserve(last)) => life.core.durable_in_reserve(last.0, now),
            Some(News::Failed) => life.core.spool_failed(now),
            None => {}
        }
    }

    pub(super) fn let_go(&mut self, number: u64, scene: &mut Scene) -> Verdict {
        scene.checker.lets_go(&self.site, number)?;
        self.life().spool.ack(Seq(number));
        Ok(())
    }

    pub(super) fn set_aside(&mut self, number: u64, refusal: &Refusal, scene: &mut Scene) -> Verdict {
        scene.count("report set aside");
        scene.checker.agent(&self.site).sets_aside(number)?;
        self.life().spool.set_aside(Seq(number), refusal.detail.as_bytes());
        self.plan_sync(1..=50, scene);
        Ok(())
    }

    /// Reads what is to be sent; a disk that does not give it now may give it later, unless the agent died of it.
    pub(super) fn read(&mut self, number: u64, scene: &mut Scene) -> Result<Option<Vec<u8>>, Broken> {
        match self.life().spool.read(Seq(number)) {
            Ok(bytes) => {
                scene.checker.agent(&self.site).reads(number, bytes.as_deref())?;
                Ok(bytes)
            }
            Err(error) => {
                self.trouble(&error, scene)?;
                Ok(None)
            }
        }
    }

    /// The disk of a node that is up begins to go wrong.
    pub(crate) fn spoil_disk(&mut self, scene: &mut Scene) {
        if self.life.is_none() {
            return;
        }
        let nth = scene.dice.below(8) as u64;
        match scene.dice.below(5) {
            0..2 => {
                scene.count("disk will fail");
                self.disk.fail(nth, Failure::Broken);
                // Whether what a failed sync left in doubt was kept shows when the power goes soon after.
                if scene.dice.chance(700) {
                    let later = 1 + scene.dice.below(12) as u64;
                    self.disk.fail(nth + later, Failure::PowerLoss);
                }
            }
            2 => {
                scene.count("disk full");
                let used = self.disk.used();
                self.disk.set_capacity(Some(used));
                let back = Fault::MakeRoom(self.site.number);
                scene.within(5_000, 60_000, Happening::Fault(Box::new(back)));
            }
            _ => {
                scene.count("power will go");
                self.disk.fail(nth, Failure::PowerLoss);
            }
        }
    }

    /// There is room on the disk again.
    pub(crate) fn make_room(&self) {
        self.disk.set_capacity(None);
    }

    /// The disk is well for good.
    pub(in crate::node) fn heal_disk(&self) {
        self.disk.set_capacity(None);
        self.disk.fail_no_more();
    }

    /// The last look at what was put aside for people.
    pub(in crate::node) fn at_rest(&self, scene: &mut Scene) -> Verdict {
        let aside = muster_spool::set_aside_entries(&self.disk).map_err(spool_broke)?;
        scene.checker.agent(&self.site).at_rest(&aside)
    }

    /// A new segment begins with what the core knows.
    ///
    /// Everything that the core wants appended must have been: what it knows is gone with the old segment, and an event
    /// that it counts as told and that is not in the spool would never be told.
    pub(super) fn snapshot(&mut self, scene: &mut Scene) -> Verdict {
        let is_stale = self.planted == Some(Planted::SnapshotStale);
        let life = self.life();
        let state = life.core.snapshot();
        let before = life.state_before.replace(state.clone()).filter(|_| is_stale);
        match life.spool.snapshot(&before.unwrap_or(state)) {
            Ok(()) => {
                scene.count("snapshot");
                let last = scene.checker.agent(&self.site).last();
                scene.checker.agent(&self.site).synced(last)
            }
            Err(error) => self.trouble(&error, scene),
        }
    }

    /// Handles a successful sync. If the entries are only in the reserved room, plans another sync to change that.
    fn is_durable(&mut self, last: Seq, scene: &mut Scene) {
        if self.must_begin_segment() {
            scene.count("spool in reserve");
            self.tell(News::InReserve(last), scene);
            self.plan_sync(500..=5_000, scene);
        } else {
            self.tell(News::Durable(last), scene);
        }
        // Set-aside entries that could not be written wait for the next sync.
        if self.life().spool.needs_sync() {
            self.plan_sync(500..=5_000, scene);
        }
    }

    /// The disk works beside the core, which hears of it a moment later and may have appended more by then.
    fn tell(&mut self, news: News, scene: &mut Scene) {
        self.life().news.push_back(news);
        self.machine.plan(scene, 0..=8, Chore::HearOfDisk);
    }

    fn must_begin_segment(&mut self) -> bool {
        self.life().spool.wants_snapshot()
    }

    fn not_synced(&mut self, error: &SpoolError, scene: &mut Scene) -> Verdict {
        self.trouble(error, scene)?;
        if self.life.is_some() {
            scene.count("sync failed");
            self.tell(News::Failed, scene);
            self.plan_sync(500..=5_000, scene);
        }
        Ok(())
    }

    /// Handles an error of the disk. A failed operation is retried later; a PC without power goes down.
    pub(super) fn trouble(&mut self, error: &SpoolError, scene: &mut Scene) -> Verdict {
        scene.note(|| format!("{}: {error}", self.site.name));
        if let SpoolError::Damaged { .. } | SpoolError::Version { .. } | SpoolError::TooLong { .. } = error {
            return Err(Broken::new("spool_damaged", error.to_string()));
        }
        if self.disk.is_powerless() {
            self.lose_power(scene);
            self.machine.plan_restart(scene, 500..=60_000);
        }
        Ok(())
    }

    fn plan_sync(&mut self, ms: RangeInclusive<i64>, scene: &mut Scene) {
        if !std::mem::replace(&mut self.life().is_sync_planned, true) {
            self.machine.plan(scene, ms, Chore::Sync);
        }
    }
}

/// A spool that fails without having been told to is broken.
pub(super) fn spool_broke(error: SpoolError) -> Broken {
    Broken::new("spool", error.to_string())
}
