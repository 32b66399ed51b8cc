//! Sessions of frames (contract S): the same idea as for devices, on ranges of frames instead of lanes.
//!
//! A session is a job, a range of its frames a task, an assignment a lease whose ids travel with it. Ranges are cut
//! when they are given out; what was given out once is given out again whole. Nothing of it touches the state of
//! devices: [`Farm`] stands beside it in the same engine, behind the same one writer.

mod apply;
mod decide;
mod explain;
mod invariant;
mod record;
mod restore;
mod rule;
#[cfg(test)]
mod script;
mod settle;
mod state;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use decide::{decide, decide_due, keys};
pub(crate) use state::Farm;
