//! Faults between servers and their store, and of their clocks; and the check that there is a leader all the same.

use super::{
    Coordinator,
    end::DeposeCause,
    server::{Cut, Server},
};
use crate::{
    checker::{Verdict, broken},
    scene::{Happening, Scene},
};
use muster_model::{Millis, Timestamp};
use muster_store::Election;

impl Coordinator {
    /// A server comes up.
    pub(super) fn come_up(&mut self, server: usize, scene: &mut Scene) {
        if self.servers[server].up {
            return;
        }
        scene.count("server started");
        scene.note(|| format!("server {server}: starts"));
        let place = &mut self.servers[server];
        (place.up, place.well_since) = (true, scene.now);
        self.follow(server, 0..=200, scene);
    }

    /// A process stands still, and goes on later as if nothing had been.
    pub(crate) fn stall(&mut self, server: usize, span: Millis, scene: &mut Scene) {
        let place = &mut self.servers[server];
        scene.count(if place.life.is_some() { "leader stands still" } else { "follower stands still" });
        scene.note(|| format!("server {server}: stands still for {} ms", span.0));
        place.stalled_until = place.stalled_until.max(scene.now + span);
        place.well_since = place.well_since.max(place.stalled_until);
        self.troubled_at = self.troubled_at.max(place.stalled_until);
    }

    /// Until when what concerns a server waits.
    pub(crate) fn thaws_at(&self, server: usize, now: Timestamp) -> Option<Timestamp> {
        Some(self.servers[server].stalled_until).filter(|until| *until > now)
    }

    /// Until when a happening waits because its server stands still. What it had sent arrives all the same.
    pub(crate) fn waits_until(&self, happening: &Happening, scene: &mut Scene) -> Option<Timestamp> {
        let (server, is_sent) = match happening {
            Happening::Server(chore) => (Some(chore.server), chore.chore.is_at_the_store()),
            Happening::Durable { life } => (self.server_of(*life), true),
            Happening::Serve { life }
            | Happening::Heard { life }
            | Happening::Wake { life }
            | Happening::Errand { life, .. } => (self.server_of(*life), false),
            Happening::Acked(answer) => (self.server_of(answer.life), false),
            Happening::Returns(answer) => (answer.0.way.entry, false),
            Happening::Arrives(ticket) | Happening::Forwarded(ticket) => (ticket.way.at(), false),
            _ => return None,
        };
        let until = self.thaws_at(server?, scene.now)?;
        let is_on_its_way = is_sent && scene.dice.chance(500);
        (!is_on_its_way).then_some(until)
    }

    /// A server cannot reach somebody any more.
    pub(crate) fn cut_off(&mut self, server: usize, cut: Cut, scene: &mut Scene) {
        scene.count(match cut {
            Cut::Store => "server cut off from the store",
            Cut::Renewals => "server cannot show that it lives",
            Cut::Outside => "server cut off from everybody outside",
            Cut::Others => "server cut off from the others",
        });
        scene.note(|| format!("server {server}: cut off ({cut:?})"));
        let place = &mut self.servers[server];
        place.cuts.push(cut);
        place.cut_since = scene.now;
    }

    /// It reaches them again.
    pub(crate) fn heal(&mut self, server: usize, cut: Cut, scene: &Scene) {
        let place = &mut self.servers[server];
        place.cuts.retain(|other| *other != cut);
        place.well_since = place.well_since.max(scene.now);
        self.troubled_at = self.troubled_at.max(scene.now);
    }

    /// The store is away for everybody, and comes back with other connections and perhaps another clock.
    pub(crate) fn lose_store(&mut self, span: Millis, scene: &mut Scene) {
        scene.count("store away");
        scene.note(|| format!("store: away for {} ms", span.0));
        self.away_until = self.away_until.max(scene.now + span);
        self.store_off = Millis(scene.dice.between(-STORE_OFF_MAX, STORE_OFF_MAX));
        self.store.set_connected(false);
        scene.checker.terms.cut(scene.now);
        let lease = scene.plan.servers.as_ref().map_or(0, |plan| plan.times.lease.0);
        if span.0 > lease * 3 / 2 {
            scene.checker.terms.blinds_until(self.away_until);
        }
        for place in &mut self.servers {
            place.cut_since = scene.now;
            place.well_since = place.well_since.max(self.away_until);
        }
        self.troubled_at = self.troubled_at.max(self.away_until);
    }

    /// The store does not see the connection of a server any more, if that leads.
    pub(crate) fn lose_connection(&mut self, server: usize, scene: &mut Scene) {
        let leader = self.store.look().ok().and_then(|standing| standing.leader);
        if leader == Some(self.servers[server].candidate()) && scene.dice.chance(700) {
            scene.count("connection of the leader lost");
            self.store.set_connected(false);
            scene.checker.terms.cut(scene.now);
        }
    }

    /// Sets the wall clock of a server.
    pub(crate) fn set_wall(&mut self, server: usize, off: Millis) {
        self.servers[server].wall_off = off;
    }

    /// The faults stop: nobody is cut off any more. Answers how long it takes until whoever stands still has gone on, the
    /// store is back and somebody leads.
    pub(crate) fn recover(&mut self, scene: &Scene) -> Millis {
        self.doom = None;
        for place in &mut self.servers {
            place.cuts.clear();
            place.well_since = place.well_since.max(scene.now);
        }
        let stalls = self.servers.iter().map(|place| place.stalled_until);
        self.troubled_at = stalls.chain([scene.now, self.away_until]).max().unwrap_or(scene.now);
        self.troubled_at + patience(scene) - scene.now
    }

    /// True if something on its way to the store, or back, hangs; where it does for too long the term ends.
    pub(super) fn hangs(&mut self, life: u32, happening: Happening, scene: &mut Scene) -> bool {
        let is_cut = |server: &usize| !self.reaches(*server, Cut::Store, scene.now);
        let Some(server) = self.server_of(life).filter(is_cut) else {
            return false;
        };
        if !self.loses_patience(server, scene) {
            let lease = self.servers[server].post.times.lease.0;
            scene.within(lease / 12, lease / 3, happening);
        }
        true
    }

    /// True if a server gives up on a store that does not answer.
    pub(super) fn loses_patience(&mut self, server: usize, scene: &mut Scene) -> bool {
        let place = &self.servers[server];
        let is_over = scene.now > place.cut_since + place.post.times.lease + place.post.times.lease;
        if is_over {
            scene.count("store given up");
            self.depose(server, DeposeCause::Failed, scene);
        }
        is_over
    }

    /// Checks that a server leads soon after every fault is over.
    pub(crate) fn check_lead(&mut self, scene: &Scene) -> Verdict {
        if !self.is_shared() {
            return Ok(());
        }
        let is_up = self.servers.iter().any(|server| server.up);
        if !is_up || self.servers.iter().any(Server::is_hampered) {
            self.troubled_at = self.troubled_at.max(scene.now);
            return Ok(());
        }
        let leads = self.life().is_some_and(|life| scene.checker.terms.leads(life.epoch));
        if leads || scene.now <= self.troubled_at + patience(scene) {
            return Ok(());
        }
        broken("nobody_leads", || format!("though nothing is wrong since {:?}", self.troubled_at))
    }
}

/// Maximum time until there is a leader: a lease, the cost of looking, and loading.
fn patience(scene: &Scene) -> Millis {
    let lease = scene.plan.servers.as_ref().map_or(0, |plan| plan.times.lease.0);
    let late = if scene.calm { 0 } else { lease * 2 };
    Millis(lease + lease / 6 + late + LOADING_MAX)
}

/// By how much the store's clock may be off, as servers that follow a primary agree about the time.
pub(crate) const STORE_OFF_MAX: i64 = 1_500;
/// Maximum time to hear of a term and to load, in milliseconds.
const LOADING_MAX: i64 = 1_000;
