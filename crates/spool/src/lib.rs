//! An append-only, checksummed log on disk of what must not be lost (N19).
//!
//! Payloads are bytes; the log knows nothing of what they mean. It blocks, starts no thread, reads no clock
//! and draws no randomness, so the simulated world runs this very code over a simulated disk.
//!
//! An entry is **appended** (in memory), **synced** (durable, many at once), and some day **acked** or **set
//! aside**, in any order. What was synced and not acked comes back after a crash at any byte, in order and
//! unaltered. What was not synced may come back or not, but never altered and never behind a gap.
//!
//! The log lies in segments. When one is full the owner gives its state, which begins the next; older ones go
//! when everything in them is acked. A segment takes all its room from the disk when it begins, with a reserve
//! behind it: entries that fit in [`Spool::room`] can be synced on a disk that is full, as long as the file
//! system keeps what it allocated (ext4, xfs and tmpfs do; one that copies on write may not). Beginning a
//! segment and writing down what was set aside need room of their own.
//!
//! A torn end is cut when the log is opened. Damage to what had been synced is never passed over: opening
//! fails, names the file and the byte, and changes nothing.

mod aside;
mod disk;
mod error;
mod header;
mod record;
mod recovery;
mod segments;
mod spool;

pub use aside::{SetAside, set_aside_entries};
pub use disk::{Directory, Disk};
pub use error::SpoolError;
pub use spool::{Cut, Limits, Recovered, Seq, Spool};

#[cfg(feature = "simulated")]
mod simulated;

#[cfg(feature = "simulated")]
pub use simulated::{Failure, SimulatedDisk, SimulatedFile};
