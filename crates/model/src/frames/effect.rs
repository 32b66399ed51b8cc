//! Effects that must happen outside once a decision is durable. Derived again from state after a start.

use super::{FrameHandout, QuarantineRecord, SessionId};
use crate::Name;
use alloc::boxed::Box;

/// Something to be done; each but `WriteSession` is acknowledged by a command of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Bring a task to a worker (S3); `Pushed` tells how it went.
    Push {
        /// To whom.
        worker: Name,
        /// Endpoint of the worker.
        endpoint: Box<str>,
        /// SHA-256 of its token: the key of the signature.
        token_hash: [u8; 32],
        /// The handout.
        handout: Box<FrameHandout>,
    },
    /// Tell a removed worker by push to stop (S6); `Dismissed` tells that it acknowledged.
    Dismiss {
        /// The worker.
        worker: Name,
        /// Endpoint of the worker.
        endpoint: Box<str>,
        /// SHA-256 of its token: the key of the signature.
        token_hash: [u8; 32],
    },
    /// Move files to quarantine (S15); `Moved` tells that it is done.
    Quarantine(Box<QuarantineRecord>),
    /// Write `session.json` anew (S21).
    WriteSession {
        /// Of which session.
        session: SessionId,
    },
    /// Write the manifest of a session whose frames are all done or given up (S21); `Merged` tells that it is done.
    Merge {
        /// Of which session.
        session: SessionId,
        /// Tells this request from earlier ones for the session: a manifest that was overtaken by a retry does not count.
        mark: u64,
    },
}
