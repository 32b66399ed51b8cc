//! A wire that loses, delays, doubles and reorders, and is cut for a while.

use crate::{agenda::Happening, scene::Scene};
use muster_model::{Command, Millis, Rejection, Reply};
use std::{cell::Cell, rc::Rc};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A node, by number.
    Node(usize),
    /// A client or operator.
    Client,
}

/// A request under way, and what its answer is recognised by.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) sender: Sender,
    /// The sender's number for this exchange; copies of one request share it.
    pub(crate) exchange: u64,
    pub(crate) command: Rc<Command>,
    /// For a pull: how long it may wait.
    pub(crate) wait: Option<Millis>,
    /// Whether the connection is known to be broken.
    pub(crate) broken: Rc<Cell<bool>>,
}

/// The state of the wire.
#[derive(Debug)]
pub(crate) struct Network {
    cut: Vec<bool>,
    exchanges: u64,
}

impl Network {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { cut: vec![false; nodes], exchanges: 0 }
    }

    pub(crate) fn set_cut(&mut self, node: usize, cut: bool) {
        self.cut[node] = cut;
    }

    pub(crate) fn is_cut(&self, node: usize) -> bool {
        self.cut[node]
    }
}

impl Scene {
    /// Sends a request; answers the number its answer will bear.
    pub(crate) fn ask(&mut self, sender: Sender, command: Command, wait: Option<Millis>) -> Ticket {
        self.network.exchanges += 1;
        let ticket = Ticket {
            sender,
            exchange: self.network.exchanges,
            command: Rc::new(command),
            wait,
            broken: Rc::new(Cell::new(false)),
        };
        self.transmit(sender, Happening::Arrives(Box::new(ticket.clone())));
        ticket
    }

    /// Sends an answer back.
    pub(crate) fn answer(&mut self, ticket: Ticket, result: Result<Reply, Rejection>) {
        self.transmit(ticket.sender, Happening::Returns(Box::new((ticket, result))));
    }

    /// Something before the coordinator refuses a report of one of these nodes, whatever it says.
    pub(crate) fn refuses(&mut self, ticket: &Ticket, nodes: impl Fn(usize) -> bool) -> bool {
        let is_theirs = matches!(ticket.sender, Sender::Node(node) if nodes(node));
        let is_report = is_theirs && matches!(*ticket.command, Command::Report(_));
        is_report && !self.calm && self.plan.refused > 0 && self.dice.chance(self.plan.refused)
    }

    /// Something before the coordinator, which is away, says so.
    pub(crate) fn turn_away(&mut self, ticket: Ticket) {
        self.transmit(ticket.sender, Happening::TurnedAway(Box::new(ticket)));
    }

    fn transmit(&mut self, sender: Sender, message: Happening) {
        if matches!(sender, Sender::Node(node) if self.network.is_cut(node)) {
            self.count("message lost in a partition");
            return;
        }
        if self.calm {
            self.within(1, 5, message);
            return;
        }
        if self.dice.chance(self.plan.lost) {
            self.count("message lost");
            return;
        }
        if self.dice.chance(self.plan.doubled) {
            self.count("message doubled");
            self.within(1, 8_000, message.clone());
        }
        if self.dice.chance(self.plan.slow) {
            self.count("message slow");
            self.within(200, 6_000, message);
        } else {
            self.within(1, 40, message);
        }
    }
}
