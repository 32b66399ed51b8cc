//! One server end to end: the interface of the binary, commands, the dashboard, backups, explanations, hostile input.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod backup;
mod commands;
mod doors;
mod explain;
mod feed;
mod hostile;
mod openapi;
mod serve;
mod terminal;
