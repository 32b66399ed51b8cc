//! A wire that loses, delays, doubles and reorders, and is cut for a while.

use crate::{
    message::Response,
    scene::{Happening, Scene},
};
use muster_model::{Command, Millis, Rejection, Reply, Timestamp};
use std::{cell::Cell, collections::BTreeSet, rc::Rc};

/// Sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sender {
    /// A node, by number.
    Node(usize),
    /// A worker of sessions, by number.
    Renderer(usize),
    /// A worker of the pool, by number.
    Member(usize),
    /// Work outside the coordinator once a decision is durable: it runs beside the coordinator.
    Errand,
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
    /// Token that a worker of sessions presents, or gets when it registers.
    pub(crate) token: Option<Token>,
    /// True if the connection is known to be broken.
    pub(crate) broken: Rc<Cell<bool>>,
    pub(crate) way: Way,
    /// The response, once it has left, where the sender reads it as bytes.
    pub(crate) response: Option<Rc<Response>>,
}

/// The way of a request and its answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    /// The server that it was sent to, where there are several.
    pub(crate) entry: Option<usize>,
    /// Which that one believes to lead.
    pub(crate) leader: Option<usize>,
    /// The starts of these two when they got it: what waits at a server is lost with it.
    pub(crate) starts: (u32, u32),
    /// Servers that were found to be down.
    pub(crate) tried: usize,
    /// Deadline for a leader to be found.
    pub(crate) until: Timestamp,
    /// The term of whoever answers it.
    pub(crate) epoch: u64,
}

impl Way {
    /// Server that has the request now.
    pub(crate) fn at(&self) -> Option<usize> {
        self.leader.or(self.entry)
    }
}

/// SHA-256 of the token of a worker of sessions.
pub(crate) type Token = [u8; 32];

/// The state of the wire.
#[derive(Debug, Default)]
pub(crate) struct Network {
    cut: BTreeSet<Sender>,
    exchanges: u64,
}

impl Network {
    pub(crate) fn set_cut(&mut self, place: Sender, is_cut: bool) {
        match is_cut {
            true => self.cut.insert(place),
            false => self.cut.remove(&place),
        };
    }

    pub(crate) fn is_cut(&self, place: Sender) -> bool {
        self.cut.contains(&place)
    }
}

impl Scene {
    /// Sends a request; answers the number its answer will bear.
    pub(crate) fn ask(&mut self, sender: Sender, command: Command, wait: Option<Millis>) -> Ticket {
        let ticket = self.ticket(sender, command);
        self.send(Ticket { wait, ..ticket })
    }

    /// Sends a request that was prepared with [`Self::ticket`].
    pub(crate) fn send(&mut self, ticket: Ticket) -> Ticket {
        self.transmit(ticket.sender, Happening::Arrives(Box::new(ticket.clone())));
        ticket
    }

    /// A request that is not on its way yet.
    pub(crate) fn ticket(&mut self, sender: Sender, command: Command) -> Ticket {
        self.network.exchanges += 1;
        Ticket {
            sender,
            exchange: self.network.exchanges,
            command: Rc::new(command),
            wait: None,
            token: None,
            broken: Rc::new(Cell::new(false)),
            way: Way::default(),
            response: None,
        }
    }

    /// Sends an answer back.
    pub(crate) fn answer(&mut self, ticket: Ticket, result: Result<Reply, Rejection>) {
        self.transmit(ticket.sender, Happening::Returns(Box::new((ticket, result))));
    }

    /// Something before the coordinator refuses a report of one of these nodes, or several at once, whatever they say.
    pub(crate) fn refuses(&mut self, ticket: &Ticket, nodes: impl Fn(usize) -> bool) -> bool {
        let is_theirs = matches!(ticket.sender, Sender::Node(node) if nodes(node));
        let refused = match *ticket.command {
            Command::Report(_) => self.plan.refused,
            Command::ReportBatch(_) => BATCHES_REFUSED,
            _ => 0,
        };
        is_theirs && !self.calm && refused > 0 && self.dice.chance(refused)
    }

    /// Something before the coordinator, which is away, says so.
    pub(crate) fn turn_away(&mut self, ticket: Ticket) {
        self.transmit(ticket.sender, Happening::TurnedAway(Box::new(ticket)));
    }

    /// Something at the coordinator's door does not know a token.
    pub(crate) fn turn_out(&mut self, ticket: Ticket) {
        self.transmit(ticket.sender, Happening::TurnedOut(Box::new(ticket)));
    }

    /// Sends a message to or from somebody; it may be lost, late or doubled.
    pub(crate) fn transmit(&mut self, place: Sender, message: Happening) {
        if self.network.is_cut(place) {
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

/// In a thousand: requests with several reports that find a server of an older version, which does not know the address.
const BATCHES_REFUSED: u32 = 40;
