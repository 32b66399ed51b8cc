//! What will happen when.

use crate::{
    client,
    coordinator::{Errand, Push, PushAnswer, ServerChore},
    farm,
    fault::Fault,
    network::Ticket,
    node, pool,
};
use muster_model::{Rejection, Reply, Timestamp};
use std::collections::BTreeMap;

/// One thing that happens in the world.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// A request reaches the coordinator.
    Arrives(Box<Ticket>),
    /// An answer reaches whoever asked.
    Returns(Box<(Ticket, Result<Reply, Rejection>)>),
    /// Whoever asked is told that the coordinator is away.
    TurnedAway(Box<Ticket>),
    /// Whoever asked is told that its token is not known.
    TurnedOut(Box<Ticket>),
    /// The coordinator looks at its inbox.
    Serve { life: u32 },
    /// The store has made the batch durable, or failed to.
    Durable { life: u32 },
    /// The coordinator hears that its batch is durable.
    Heard { life: u32 },
    /// The coordinator's next deadline.
    Wake { life: u32 },
    /// A server starts: alone, it begins its next life; of several, it follows whoever leads.
    Start(usize),
    /// A request reaches the server that another believes to lead.
    Forwarded(Box<Ticket>),
    /// A server of several does something, or has it done at the store.
    Server(Box<ServerChore>),
    /// A node does something; one that has crashed meanwhile does not.
    Node { node: usize, incarnation: u32, chore: node::Chore },
    /// Something is done beside the coordinator.
    Errand { life: u32, errand: Box<Errand> },
    /// A task that was pushed reaches its worker.
    Pushed(Box<Push>),
    /// What the worker says to it reaches the coordinator.
    Acked(PushAnswer),
    /// A worker of sessions does something; one that has crashed meanwhile does not.
    Renderer { renderer: usize, incarnation: u32, chore: farm::Chore },
    /// Somebody who wants sessions, or looks after their workers, does something.
    Director(farm::Duty),
    /// A worker of the pool does something; one that has crashed meanwhile does not.
    Member { member: usize, incarnation: u32, chore: pool::Chore },
    /// Somebody who hands in jobs to the pool, or looks after its workers, does something.
    Patron(pool::Duty),
    /// A client or operator does something.
    Client(client::Chore),
    /// Something goes wrong, or right again.
    Fault(Box<Fault>),
}

/// All of them, soonest first; of two at the same moment the one planned first.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BTreeMap<(Timestamp, u64), Happening>,
    next: u64,
}

impl Agenda {
    pub(crate) fn plan(&mut self, at: Timestamp, happening: Happening) {
        self.next += 1;
        self.entries.insert((at, self.next), happening);
    }

    /// When the next thing happens.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.entries.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn next(&mut self) -> Option<(Timestamp, Happening)> {
        self.entries.pop_first().map(|((at, _), happening)| (at, happening))
    }
}
