//! PostgreSQL servers for tests: started, stopped, promoted, and gone when the test is.
//!
//! A [`Cluster`] is a server of its own in a temporary directory, made of the programs that Debian's package `postgresql`
//! installs. It listens on a free port of 127.0.0.1, asks for passwords there, and syncs its writes as a real one does.
//! PostgreSQL refuses to run as root; tests that do run it as the user `postgres` or `nobody`. A small process beside
//! each cluster waits for the test's end, however that comes, then stops the server and deletes the directory. A
//! [`Lodging`] puts it elsewhere: on a small disk, or in a network namespace.
#![allow(clippy::missing_panics_doc, reason = "a test that cannot go on has failed")]

mod binaries;
mod cluster;
mod guard;
mod replication;
mod tls;

pub use cluster::{Cluster, Lodging};
