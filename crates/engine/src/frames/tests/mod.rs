//! The rules of contract S as little scripts.

mod assignment;
mod failover;
mod ids;
mod sessions;
mod workers;
