//! Contract S end to end: sessions of frames, checkpoints and manifests, on the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checkpoint;
mod manifest;
mod session_kill;
mod sessions;
