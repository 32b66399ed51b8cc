//! The rules of contract S as little scripts.

mod assignment;
mod bad_frames;
mod explain;
mod failover;
mod ids;
mod sessions;
mod workers;
