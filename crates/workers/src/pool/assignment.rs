//! What a worker is given to do.

use muster_worker_kit::Text;

/// An assignment, as a server handed it out (P6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Which.
    pub id: u64,
    /// What its result must bear.
    pub nonce: Text,
    /// The payload of the job: JSON, as it was written.
    pub job: Text,
}
