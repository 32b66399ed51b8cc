//! Leadership among the servers of a world (S18): watching the leader, reading ahead, taking over, and showing life.

use super::{
    Coordinator,
    server::{Chore, Cut, StoreView, TakeoverRequest},
};
use crate::{
    checker::{Broken, Takeover, Verdict},
    coordinator::{
        Life,
        end::DeposeCause,
        life::{LifeSetup, load, store_broke},
        server::{Renewal, RenewalResult, TermClock},
    },
    planted::Planted,
    scene::Scene,
};
use muster_coordinator::{Lease, LeaseTimes, Step, Watch};
use muster_engine::Restoring;
use muster_model::Timestamp;
use muster_store::{Election, Standing, Store, StoreError, Term};
use std::ops::RangeInclusive;

/// State of a follower.
pub(crate) struct FollowerState {
    watch: Watch,
    pub(super) times: LeaseTimes,
    /// The leader, as far as this server knows.
    pub(super) lead: Option<usize>,
    pub(super) ahead: Option<Preloaded>,
    epoch_seen: u64,
    /// Counts how often it began to follow; what belongs to an earlier time is not done.
    pub(super) round: u32,
    pub(super) taken: Option<GrantedTerm>,
    /// Since when the store does not answer.
    blind_since: Option<Timestamp>,
}

/// State that was read before the term began.
pub(super) struct Preloaded {
    pub(super) memory: Restoring,
    pub(super) commits: u64,
}

impl FollowerState {
    pub(super) fn new(times: LeaseTimes, node: &str) -> Self {
        Self {
            watch: Watch::new(times).known_as(node),
            times,
            lead: None,
            ahead: None,
            epoch_seen: 0,
            round: 0,
            taken: None,
            blind_since: None,
        }
    }

    /// It sees nothing: after a while it does not know any more who leads.
    fn blinded(&mut self, clock: Timestamp) {
        self.watch.blinded();
        let since = *self.blind_since.get_or_insert(clock);
        if clock - since >= self.times.lease {
            self.lead = None;
        }
    }
}

impl Coordinator {
    /// A server comes up, or leads no more: it follows, as one that has seen nothing yet.
    pub(super) fn follow(&mut self, server: usize, pause: RangeInclusive<i64>, scene: &mut Scene) {
        let place = &mut self.servers[server];
        (place.life, place.tenure) = (None, None);
        let FollowerState { times, epoch_seen, round, .. } = place.post;
        place.post = FollowerState {
            epoch_seen,
            round: round + 1,
            ..FollowerState::new(times, &place.candidate().node)
        };
        place.plan(pause, Chore::Look(round + 1), scene);
        self.troubled_at = self.troubled_at.max(scene.now);
    }

    /// It asks who leads; now and then it takes a while until it knows.
    pub(super) fn look(&mut self, server: usize, round: u32, scene: &mut Scene) {
        if self.servers[server].post.round != round {
            return;
        }
        let is_slow = Self::is_slow(scene);
        let asked = self.servers[server].clock(scene.now);
        let standing = self.reaches(server, Cut::Store, scene.now).then(|| Box::new(self.standing()));
        let view = StoreView { round, asked, standing };
        if is_slow || view.standing.is_none() {
            let delay = Self::delay(scene);
            return self.servers[server].plan(delay, Chore::Sees(view), scene);
        }
        self.sees(server, view, scene);
    }

    /// It sees who leads, or nothing.
    pub(super) fn sees(&mut self, server: usize, view: StoreView, scene: &mut Scene) {
        let StoreView { round, asked, standing } = view;
        let standing = standing.filter(|_| self.reaches(server, Cut::Store, scene.now));
        let is_forgetful = self.planted == Some(Planted::BlindnessForgotten);
        let place = &mut self.servers[server];
        if place.post.round != round {
            return;
        }
        let clock = place.clock(scene.now);
        let is_late = clock - asked >= place.post.times.renew_every();
        if is_forgetful {
            place.post.watch.was_busy_until(clock);
        } else if standing.is_none() {
            place.post.blinded(clock);
        }
        if is_late || standing.is_none() {
            self.troubled_at = self.troubled_at.max(scene.now);
        }
        let asked = if is_forgetful { clock } else { asked };
        let step = standing.as_ref().map_or(Step::Wait, |standing| place.saw(standing, asked, clock));
        match (step, standing) {
            (Step::Take, Some(seen)) => return self.wish(server, *seen, scene),
            (Step::Preload, _) => self.read_ahead(server, scene),
            _ => {}
        }
        let every = self.servers[server].post.times.look_every().0;
        self.servers[server].plan(every..=every, Chore::Look(round), scene);
    }

    /// True if something at the store takes its time.
    pub(super) fn is_slow(scene: &mut Scene) -> bool {
        let slow = scene.plan.servers.as_ref().map_or(0, |plan| plan.slow);
        !scene.calm && scene.dice.chance(slow)
    }

    /// Delay of a slow store: now and then as long as a lease.
    pub(super) fn delay(scene: &mut Scene) -> RangeInclusive<i64> {
        let lease = scene.plan.servers.as_ref().map_or(0, |plan| plan.times.lease.0);
        let long = scene.dice.chance(200);
        1..=if long { lease } else { lease / 6 }
    }

    fn wish(&mut self, server: usize, seen: Standing, scene: &mut Scene) {
        let late = if Self::is_slow(scene) { 200 } else { 3 };
        let place = &self.servers[server];
        let (candidate, sent) = (place.candidate(), place.clock(scene.now));
        let FollowerState { round, epoch_seen, .. } = place.post;
        let wish = TakeoverRequest { server, round, seen, candidate, epoch_seen, sent };
        place.plan(0..=late, Chore::Take(Box::new(wish)), scene);
    }

    fn read_ahead(&mut self, server: usize, scene: &mut Scene) {
        let loaded = load(scene.plan.settings, self.planted, |sink| self.store.preload(sink));
        if let Ok((memory, commits)) = loaded {
            scene.count("memory read ahead");
            self.servers[server].post.ahead = Some(Preloaded { memory, commits });
        }
    }

    fn standing(&self) -> Standing {
        self.store.look().expect("a store in memory can be asked")
    }
}

impl super::Server {
    /// It sees how things stand. A leader that lives after all has gone on since anything was read ahead.
    fn saw(&mut self, standing: &Standing, asked: Timestamp, clock: Timestamp) -> Step {
        let leader = standing.leader.as_ref().and_then(|leader| leader.address.parse().ok());
        let post = &mut self.post;
        post.blind_since = None;
        post.epoch_seen = post.epoch_seen.max(standing.epoch);
        post.lead = leader.filter(|leader| *leader != self.number);
        let step = post.watch.saw(standing, asked, clock);
        if !post.watch.is_alarmed() && step != Step::Take {
            post.ahead = None;
        }
        step
    }
}

/// A term that the store has begun.
pub(super) struct GrantedTerm {
    term: Term,
    life: u32,
}

impl Coordinator {
    /// A wish to lead reaches the store; whoever sent it may be gone.
    pub(super) fn take(&mut self, wish: &TakeoverRequest, scene: &mut Scene) -> Verdict {
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
        scene.checker.terms.begins(&Takeover {
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
    pub(super) fn begin(&mut self, server: usize, scene: &mut Scene) -> Verdict {
        let Some(GrantedTerm { mut term, life }) = self.servers[server].post.taken.take() else {
            return Ok(());
        };
        if !self.reaches(server, Cut::Store, scene.now) {
            self.depose(server, DeposeCause::Failed, scene);
            return Ok(());
        }
        let (memory, is_ahead) = self.memory(server, &mut term, scene)?;
        let office = LifeSetup {
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
            life.check_memory(scene)?;
        }
        life.settle_in(now, scene)
    }

    /// The store has begun a term for a server, which hears of it some time later, unless it is gone.
    fn take_office(&mut self, wish: &TakeoverRequest, term: Term, scene: &mut Scene) {
        let TakeoverRequest { server, round, sent, .. } = *wish;
        let life = self.lives;
        self.troubled_at = self.troubled_at.max(scene.now);
        let place = &mut self.servers[server];
        if !place.up || place.post.round != round {
            return scene.count("lead taken by one that is gone");
        }
        let lease = Lease::taken(place.post.times, sent);
        place.tenure = Some(LeaderTerm { life, epoch: term.epoch, lease });
        place.post.taken = Some(GrantedTerm { term, life });
        place.post.round += 1;
        let long = if scene.dice.chance(150) { place.post.times.lease.0 } else { 20 };
        place.plan(1..=long, Chore::Begin(place.post.round), scene);
        self.plan_renewal(server, scene);
    }

    /// Initial memory of a term: the preloaded state, if nothing was written since.
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

/// A term that a server has, as far as it knows.
pub(crate) struct LeaderTerm {
    pub(super) life: u32,
    pub(super) epoch: u64,
    pub(super) lease: Lease,
}

impl Coordinator {
    /// A leader shows that it lives.
    pub(super) fn renew(&mut self, renewal: Renewal, scene: &mut Scene) {
        let Renewal { server, life, .. } = renewal;
        let Some(epoch) = self.epoch_of(server, life) else {
            return;
        };
        let is_slow = Self::is_slow(scene);
        if !is_slow && self.reaches(server, Cut::Renewals, scene.now) {
            let result = self.show(epoch, scene);
            return self.shown(renewal, result, scene);
        }
        let delay = Self::delay(scene);
        self.servers[server].plan(delay, Chore::Shows(renewal), scene);
    }

    /// A sign of life that takes its time is at the store.
    pub(super) fn shows_late(&mut self, renewal: Renewal, scene: &mut Scene) {
        let Renewal { server, life, .. } = renewal;
        let epoch = self.epoch_of(server, life).filter(|_| self.reaches(server, Cut::Renewals, scene.now));
        let result = epoch.map_or(RenewalResult::Nothing, |epoch| self.show(epoch, scene));
        let delay = Self::delay(scene);
        self.servers[server].plan(delay, Chore::Shown(renewal, result), scene);
    }

    /// It hears what became of its sign of life, and plans the next.
    pub(super) fn shown(&mut self, renewal: Renewal, result: RenewalResult, scene: &mut Scene) {
        let Renewal { server, life, sent } = renewal;
        let is_deaf = !self.reaches(server, Cut::Renewals, scene.now);
        let (planted, clock) = (self.planted, self.servers[server].clock(scene.now));
        let Some(tenure) = self.servers[server].tenure.as_mut().filter(|tenure| tenure.life == life) else {
            return;
        };
        let lease = &mut tenure.lease;
        match if is_deaf { RenewalResult::Nothing } else { result } {
            RenewalResult::Taken if planted == Some(Planted::LeaseFromAnswer) => lease.renewed(clock),
            RenewalResult::Taken => lease.renewed(sent),
            RenewalResult::Superseded if planted == Some(Planted::DeposedGoesOn) => lease.failed(clock),
            RenewalResult::Superseded => return self.depose(server, DeposeCause::Superseded, scene),
            RenewalResult::Nothing if lease.has_run_out(clock) => {
                return self.depose(server, DeposeCause::Silent, scene);
            }
            RenewalResult::Nothing => lease.failed(clock),
        }
        self.plan_renewal(server, scene);
    }

    /// Plans the next sign of life of a leader, by its server's clock.
    pub(super) fn plan_renewal(&self, server: usize, scene: &mut Scene) {
        let place = &self.servers[server];
        let Some(LeaderTerm { life, lease, .. }) = &place.tenure else {
            return;
        };
        let pause = (place.ticker.when(lease.next_renewal()) - scene.now).0.max(0);
        place.plan(pause..=pause, Chore::Renew(*life), scene);
    }

    /// The term of a life, if the server still believes in it.
    fn epoch_of(&self, server: usize, life: u32) -> Option<u64> {
        let tenure = self.servers[server].tenure.as_ref();
        tenure.filter(|tenure| tenure.life == life).map(|tenure| tenure.epoch)
    }

    fn show(&self, epoch: u64, scene: &mut Scene) -> RenewalResult {
        match self.store.renew(epoch) {
            Ok(()) => {
                scene.checker.terms.shown(scene.now);
                RenewalResult::Taken
            }
            Err(StoreError::Superseded) => {
                scene.count("sign of life refused");
                RenewalResult::Superseded
            }
            Err(_) => RenewalResult::Nothing,
        }
    }
}
