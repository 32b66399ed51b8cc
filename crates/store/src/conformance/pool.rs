//! What every store must do with the pool.

pub(super) mod lists;
pub(super) mod loads;
pub(super) mod records;
pub(super) mod replacing;
mod samples;

use super::{Case, Fixture, desk, named};
