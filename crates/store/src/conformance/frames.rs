//! What every store must do with sessions of frames.

pub(super) mod lists;
pub(super) mod loads;
pub(super) mod pruning;
pub(super) mod records;
pub(super) mod replacing;
pub(super) mod samples;

use super::{Case, Fixture, desk, named};
