//! The election among servers that share a store (S18).
//!
//! No clock is read and none compared: a leader shows life by counting `renewals` up, and whoever sees that number
//! stand still for the length of a lease, by a clock of its own, may take its place. Safety does not rest on that:
//! every commit checks in its own transaction that its term is still the newest.

use crate::{Loaded, StoreError, Term};

/// A server that leads or could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Different for every start of every server.
    pub node: String,
    /// Address for other servers: `http://host:port`.
    pub address: String,
}

/// Leadership, as the store tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The newest term's; 0: there was none yet.
    pub epoch: u64,
    /// Counted up by the leader for as long as it lives.
    pub renewals: u64,
    /// The leader; `None`: there is none, or the last one resigned.
    pub leader: Option<Candidate>,
    /// True if the store still sees the connection by which the leader shows life. A leader that lost it may come
    /// back with another.
    pub connected: bool,
}

impl Standing {
    /// True if somebody leads, and the store sees their connection.
    #[must_use]
    pub fn is_led(&self) -> bool {
        self.leader.is_some() && self.connected
    }
}

/// Leadership over a store that several servers share.
#[allow(clippy::missing_errors_doc, reason = "each fails when the database does; what else is said")]
pub trait Election: Send + Sync {
    /// The current state of leadership.
    fn look(&self) -> Result<Standing, StoreError>;

    /// Begins a term if leadership still stands as `seen`; `None`: somebody was quicker, or the leader lives.
    ///
    /// The epoch is one more than the store's and than `epoch_seen`, whichever is larger: a database that was set back
    /// to an earlier state must not give an epoch a second time.
    fn take(
        &self,
        seen: &Standing,
        candidate: &Candidate,
        epoch_seen: u64,
    ) -> Result<Option<Term>, StoreError>;

    /// Shows that the leader of a term lives. `Superseded`: it leads no more, replaced or resigned.
    fn renew(&self, epoch: u64) -> Result<(), StoreError>;

    /// Gives leadership back, so that nobody need wait for silence. No error if it is somebody else's by now.
    fn resign(&self, epoch: u64) -> Result<(), StoreError>;

    /// Hands over what [`crate::Writer::load`] would, without a term; answers how many commits that state has seen.
    ///
    /// A term whose [`Term::commits`] is the same number begins with that very state.
    fn preload(&self, sink: &mut dyn FnMut(Loaded)) -> Result<u64, StoreError>;
}
