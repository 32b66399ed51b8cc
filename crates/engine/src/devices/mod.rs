//! Devices (contracts N and Q): runs of jobs on the devices of a lab, one lease per device.
//!
//! `decide/` has a file per command, `rule/` a file per rule, `apply/` changes memory by events, `state/` holds the
//! indexes, `invariant.rs` lists what must hold after every step, `restore.rs` builds the state back from rows.

pub(crate) mod apply;
pub(crate) mod decide;
pub(crate) mod explain;
mod invariant;
mod record;
pub(crate) mod restore;
pub(crate) mod rule;
#[cfg(test)]
pub(crate) mod script;
pub(crate) mod state;
