//! The roles: each a mind that does one step at a time on the folder, and a runtime around it.

pub mod chamberlain;
pub mod envoy;
pub mod general;
pub mod king;
pub mod sentinel;

pub use crate::presence::Heartbeat;

use crate::Folder;
use jiff::Timestamp;

/// The folder and the time of one step of a mind.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The court.
    pub folder: &'a Folder,
    /// The time.
    pub now: Timestamp,
}
