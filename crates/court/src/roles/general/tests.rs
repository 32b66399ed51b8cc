//! The mind, on folders of its own, with the time handed in.

mod crash;
mod order;
mod retries;
mod scene;
mod verdicts;
