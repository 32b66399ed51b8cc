//! The mind, on folders of its own, with the time handed in.

mod crash;
mod order;
mod refusing;
mod retries;
mod scene;
mod verdicts;
