//! What a scope names and nobody knows.

use alloc::{boxed::Box, vec::Vec};

/// What a scope names that is not known now, and what is known instead. A device may still appear (Q6), so this is
/// told and never refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strangers {
    /// Names that nobody has; of labels, `key=value`.
    pub unknown: Vec<Box<str>>,
    /// Names of the same kind that somebody has; only where there are unknown ones.
    pub known: Vec<Box<str>>,
    /// Devices in service that the scope matches now.
    pub targets: u32,
}
