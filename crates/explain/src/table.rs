//! One row per code.

mod devices;
mod frames;
mod pool;

use crate::Row;

/// Every code that the engine's causes have. Those of court tasks stand with the court.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    devices::ROWS.iter().chain(frames::ROWS).chain(pool::ROWS)
}
