//! A server takes the place of a leader that is gone, and begins to lead (S18).

use super::{
    Coordinator, Life,
    clock::TermClock,
    end::Why,
    lease::Tenure,
    life::Office,
    load::{load, store_broke},
    server::{Chore, Cut, Wish},
};
use crate::{
    checker::{Broken, Checker, Takeover, Verdict},
    planted::Planted,
    scene::Scene,
};
use muster_coordinator::Lease;
use muster_engine::Restoring;
use muster_model::Timestamp;
use muster_store::{Election, Store, Term};

/// A term that the store has begun.
pub(super) struct Taken {
    term: Term,
    life: u32,
}

impl Coordinator {
    /// A wish to lead reaches the store; whoever sent it may be gone.
    pub(super) fn take(&mut self, wish: &Wish, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        let server = wish.server;
        let place = &self.servers[server];
        let every = place.post.times.look_every().0;
        place.plan(every..=every * 2, Chore::Look(wish.round), scene);
        if !self.reaches(server, Cut::Store, scene.now) {
            return Ok(());
        }
        self.store.set_clock(self.store_clock(scene));
        let term = self.store.take(&wish.seen, &wish.candidate, wish.epoch_seen).map_err(store_broke)?;
        let Some(mut term) = term else {
            scene.count("lead taken by another");
            return Ok(());
        };
        self.lives += 1;
        term.epoch -= u64::from(self.planted == Some(Planted::EpochKept));
        scene.count("lead taken");
        scene.note(|| format!("server {server}: leads, term {} begins as life {}", term.epoch, self.lives));
        scene.note(|| format!("it saw {:?}", wish.seen));
        checker.terms.begins(&Takeover {
            epoch: term.epoch,
            life: self.lives,
            now: scene.now,
            seen: Some(&wish.seen).filter(|seen| seen.leader != Some(wish.candidate.clone())),
            stalled_until: self.servers[server].stalled_until,
        })?;
        self.take_office(wish, term, scene);
        Ok(())
    }

    /// A server that was given the lead has its memory: its life begins.
    pub(super) fn begin(&mut self, server: usize, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        let Some(Taken { mut term, life }) = self.servers[server].post.taken.take() else {
            return Ok(());
        };
        if !self.reaches(server, Cut::Store, scene.now) {
            self.depose(server, Why::Failed, scene);
            return Ok(());
        }
        let (memory, is_ahead) = self.memory(server, &mut term, scene)?;
        let office = Office {
            server,
            number: life,
            clock: self.term_clock(server, &term, scene),
            reader: self.store.reader(),
            planted: self.planted,
        };
        let life = Life::begin(term, memory, office, scene);
        let (now, place) = (self.store_clock(scene), &mut self.servers[server]);
        place.well_since = scene.now;
        let is_fresh = place.is_sole(scene.now);
        let life = place.life.insert(life);
        life.is_fresh = is_fresh;
        if is_ahead {
            life.check_memory(scene, checker)?;
        }
        life.settle_in(now, scene, checker)
    }

    /// The store has begun a term for a server, which hears of it some time later, unless it is gone.
    fn take_office(&mut self, wish: &Wish, term: Term, scene: &mut Scene) {
        let Wish { server, round, sent, .. } = *wish;
        let life = self.lives;
        self.troubled_at = self.troubled_at.max(scene.now);
        let place = &mut self.servers[server];
        if !place.up || place.post.round != round {
            return scene.count("lead taken by one that is gone");
        }
        let lease = Lease::taken(place.post.times, sent);
        place.tenure = Some(Tenure { life, epoch: term.epoch, lease });
        place.post.taken = Some(Taken { term, life });
        place.post.round += 1;
        let long = if scene.dice.chance(150) { place.post.times.lease.0 } else { 20 };
        place.plan(1..=long, Chore::Begin(place.post.round), scene);
        self.plan_renewal(server, scene);
    }

    /// What a term begins with: what was read ahead, if nothing was written since.
    fn memory(
        &mut self,
        server: usize,
        term: &mut Term,
        scene: &mut Scene,
    ) -> Result<(Restoring, bool), Broken> {
        let is_rash = self.planted == Some(Planted::PreloadTrusted);
        if let Some(ahead) = self.servers[server].post.ahead.take() {
            if ahead.commits == term.commits || is_rash {
                scene.count("memory read ahead used");
                return Ok((ahead.memory, true));
            }
            scene.count("memory read ahead too old");
        }
        let loaded = load(scene.plan.settings, self.planted, |sink| term.writer.load(sink));
        loaded.map(|(memory, ())| (memory, false))
    }

    /// A term goes by the store's clock, carried on by the server's; what an earlier term of it knew is not undone.
    fn term_clock(&mut self, server: usize, term: &Term, scene: &Scene) -> TermClock {
        let place = &mut self.servers[server];
        let own = scene.now + place.wall_off;
        let stores = term.now.filter(|_| self.planted != Some(Planted::OwnWallClock));
        let ahead = stores.unwrap_or(own) - place.clock(scene.now);
        let ahead = place.ahead.map_or(ahead, |before| before.max(ahead));
        place.ahead = Some(ahead);
        TermClock::new(place.ticker, ahead)
    }

    fn store_clock(&self, scene: &Scene) -> Timestamp {
        scene.now + self.store_off
    }
}
