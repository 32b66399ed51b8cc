//! The dashboard's server side, through the real binary: files for anybody, snapshots for operators, and that a snapshot and
//! the feed after it are together what a later snapshot says.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod believed;
mod figures;
mod follower;
mod pages;
mod snapshots;
