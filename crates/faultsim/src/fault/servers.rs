//! What goes wrong with servers that share a store (S18).

use super::Fault;
use crate::{
    checker::Verdict,
    coordinator::{CommitFault, Cut, Ending, ServerEnd},
    scene::Happening,
    world::World,
};
use muster_model::Millis;

impl World {
    /// All servers start, at about the same time.
    pub(crate) fn start_servers(&mut self) {
        let late = if self.coordinator.is_shared() { 2_000 } else { 0 };
        for server in 0..self.coordinator.servers.len() {
            match late {
                0 => self.scene.after(Millis(0), Happening::Start(server)),
                late => self.scene.within(0, late, Happening::Start(server)),
            }
        }
    }

    /// Whether the next fault is one of servers.
    pub(super) fn strikes_servers(&mut self) -> bool {
        let faults = self.scene.plan.servers.as_ref().map_or(0, |plan| plan.faults);
        faults > 0 && self.scene.dice.chance(faults)
    }

    pub(super) fn draw_server_fault(&mut self) -> Verdict {
        let lease = self.lease();
        let server = self.draw_server();
        match self.scene.dice.below(24) {
            0..3 => return self.end_server(server, Ending::Crash),
            3..5 => return self.end_server(server, Ending::Stop),
            5..7 => self.coordinator.doom(CommitFault::Crash),
            7..10 => self.coordinator.doom(CommitFault::Stall),
            10..14 => self.stall(server),
            14..17 => self.cut_server(server, Cut::Store),
            17..19 => self.cut_server(server, Cut::Renewals),
            19 => self.cut_server(server, Cut::Outside),
            20 => self.cut_server(server, Cut::Others),
            21 => self.coordinator.lose_connection(server, &mut self.scene, &mut self.checker),
            22 => {
                let off = Millis(self.scene.dice.between(-JUMP_MAX, JUMP_MAX));
                self.coordinator.set_wall(server, off);
            }
            _ => {
                let span = Millis(self.scene.dice.between(100, lease * 3));
                self.coordinator.lose_store(span, &mut self.scene, &mut self.checker);
            }
        }
        Ok(())
    }

    /// What waits for the middle of a commit happens, if that has come.
    pub(crate) fn meet_doom(&mut self) -> Verdict {
        match self.coordinator.must_meet_doom() {
            Some(CommitFault::Crash) => self.end_coordinator(Ending::Crash),
            Some(CommitFault::Stall) => {
                self.coordinator.leader().into_iter().for_each(|server| self.stall(server));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Ends a server, and plans its next start.
    pub(super) fn end_server(&mut self, server: usize, ending: Ending) -> Verdict {
        self.coordinator.end(ServerEnd { server, ending }, &mut self.scene, &mut self.checker)?;
        let span = self.scene.outage_ms(5_000);
        self.scene.within(50, span, Happening::Start(server));
        Ok(())
    }

    /// The last fault: all are away.
    pub(crate) fn end_servers(&mut self) -> Verdict {
        let mut servers = 0..self.coordinator.servers.len();
        let (scene, checker) = (&mut self.scene, &mut self.checker);
        servers.try_for_each(|server| {
            self.coordinator.end(ServerEnd { server, ending: Ending::Crash }, scene, checker)
        })
    }

    /// The faults are over: one server at least comes back after a span. Answers how long it takes until one leads.
    pub(crate) fn restart_servers(&mut self, span: Millis) -> Millis {
        if !self.coordinator.is_shared() {
            if self.coordinator.life().is_none() {
                self.scene.after(span, Happening::Start(0));
            }
            return span;
        }
        let settled = self.coordinator.recover(&self.scene);
        let first = self.draw_server();
        for server in 0..self.coordinator.servers.len() {
            if server == first || self.scene.dice.chance(500) {
                self.scene.after(span, Happening::Start(server));
            }
        }
        Millis(span.0 + settled.0)
    }

    /// Mostly the one that leads.
    fn draw_server(&mut self) -> usize {
        let any = self.scene.dice.below(self.coordinator.servers.len());
        let leader = self.coordinator.leader().filter(|_| self.scene.dice.chance(700));
        leader.unwrap_or(any)
    }

    fn stall(&mut self, server: usize) {
        let lease = self.lease();
        let long = self.scene.dice.chance(200);
        let span = Millis(self.scene.dice.between(lease / 4, if long { lease * 8 } else { lease * 2 }));
        self.coordinator.stall(server, span, &mut self.scene);
    }

    fn cut_server(&mut self, server: usize, cut: Cut) {
        let lease = self.lease();
        self.coordinator.cut_off(server, cut, &mut self.scene);
        let back = Fault::HealServer(server, cut);
        self.scene.within(lease / 4, lease * 5, Happening::Fault(Box::new(back)));
    }

    fn lease(&self) -> i64 {
        self.scene.plan.servers.as_ref().map_or(0, |plan| plan.times.lease.0)
    }
}

/// A day.
const JUMP_MAX: i64 = 86_400_000;
