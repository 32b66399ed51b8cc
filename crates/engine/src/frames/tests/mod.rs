//! The rules of contract S as little scripts.

mod assignment;
mod bad_frames;
mod failover;
mod sessions;
mod workers;
