//! Servers that do not lead look who does, and read ahead when that one is silent (S18).

use super::{
    Coordinator,
    load::load,
    server::{Chore, Cut, StoreView, Wish},
    takeover::Taken,
};
use crate::{planted::Planted, scene::Scene};
use muster_coordinator::{LeaseTimes, Step, Watch};
use muster_engine::Restoring;
use muster_model::Timestamp;
use muster_store::{Election, Standing};
use std::ops::RangeInclusive;

/// What a server knows that does not lead.
pub(crate) struct Post {
    watch: Watch,
    pub(super) times: LeaseTimes,
    /// Who leads, as far as it knows.
    pub(super) lead: Option<usize>,
    pub(super) ahead: Option<Ahead>,
    epoch_seen: u64,
    /// Counts how often it began to follow; what belongs to an earlier time is not done.
    pub(super) round: u32,
    pub(super) taken: Option<Taken>,
    /// Since when the store does not answer.
    blind_since: Option<Timestamp>,
}

/// What was read before its time.
pub(super) struct Ahead {
    pub(super) memory: Restoring,
    pub(super) commits: u64,
}

impl Post {
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
        let Post { times, epoch_seen, round, .. } = place.post;
        place.post = Post { epoch_seen, round: round + 1, ..Post::new(times, &place.candidate().node) };
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

    /// Whether something at the store takes its time.
    pub(super) fn is_slow(scene: &mut Scene) -> bool {
        let slow = scene.plan.servers.as_ref().map_or(0, |plan| plan.slow);
        !scene.calm && scene.dice.chance(slow)
    }

    /// How long: now and then as long as a leader is waited for.
    pub(super) fn delay(scene: &mut Scene) -> RangeInclusive<i64> {
        let lease = scene.plan.servers.as_ref().map_or(0, |plan| plan.times.lease.0);
        let long = scene.dice.chance(200);
        1..=if long { lease } else { lease / 6 }
    }

    fn wish(&mut self, server: usize, seen: Standing, scene: &mut Scene) {
        let late = if Self::is_slow(scene) { 200 } else { 3 };
        let place = &self.servers[server];
        let (candidate, sent) = (place.candidate(), place.clock(scene.now));
        let Post { round, epoch_seen, .. } = place.post;
        let wish = Wish { server, round, seen, candidate, epoch_seen, sent };
        place.plan(0..=late, Chore::Take(Box::new(wish)), scene);
    }

    fn read_ahead(&mut self, server: usize, scene: &mut Scene) {
        let loaded = load(scene.plan.settings, self.planted, |sink| self.store.preload(sink));
        if let Ok((memory, commits)) = loaded {
            scene.count("memory read ahead");
            self.servers[server].post.ahead = Some(Ahead { memory, commits });
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
