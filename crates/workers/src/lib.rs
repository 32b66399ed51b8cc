//! Workers that people run: `sim-worker`.
