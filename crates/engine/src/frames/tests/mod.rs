//! The rules of contract S as little scripts.

mod assignment;
mod explain;
mod failover;
mod ids;
mod sessions;
mod workers;
