//! End to end: the real binary, kill -9 included.
//!
//! Shared code of the tests: a server on a directory of its own ([`Server`]), a gateway before it ([`Gateway`]),
//! clients that speak plain HTTP ([`Client`]), users among them ([`Server::user`]), the agent of a PC ([`Agent`]), a
//! simulation worker ([`SimWorker`]), a pool worker ([`PoolWorker`]), nodes and workers that exist only here
//! ([`FakeNode`], [`FakeSimWorker`], [`FakePoolWorker`]), the tables as any SQL client sees them ([`Database`],
//! [`Postgres`]), and repeatable random choices ([`Dice`]). For the drivers of the agent there are the real adb server
//! ([`AdbServer`]) with a device for it ([`AdbDevice`]), and a vendor's program ([`VendorServer`]); for several servers
//! on one database ([`Cluster`]) there is a network that can be cut ([`Network`]), clocks that can be wrong
//! ([`WallClock`]), disks that can be full ([`SmallDisk`]), and the load of a fleet with a ledger of all that was
//! acknowledged ([`load`]); for the court ([`Court`]) there are a Slack ([`Slack`]) and any other service
//! ([`StandIn`]). Nothing here uses a crate of the server: the tests see only the binary and its output.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::missing_panics_doc, reason = "a test that cannot go on has failed")]

mod adb;
mod agent;
mod client;
mod clock;
mod cluster;
mod court;
mod database;
pub mod frames;
pub mod load;
mod machine;
mod network;
mod node;
mod process;
mod server;
mod stand_in;
mod workers;

pub use adb::{AdbDevice, AdbServer, Manner};
pub use agent::{Agent, AgentSetup};
pub use client::{Address, Answer, Client, EventStream, FeedEvent, Request, percent_encode};
pub use clock::{Dice, Stopwatch, now_ms, until, wait_until, work_off};
pub use cluster::{Cluster, ClusterSetup, Epochs, Leader, Standing};
pub use court::Court;
pub use database::{Database, Postgres};
pub use machine::{SmallDisk, WallClock};
pub use network::{Network, Place, in_own_network};
pub use node::{Event, FAILURE_REASONS, FakeNode};
pub use process::{Ended, Process, binary, muster_command, number_from, output_with, run, run_with, venv};
pub use server::{Gateway, Route, Server, ServerSetup, password_of};
pub use stand_in::{Reply, SLACK_TOKEN, Slack, SlackPost, StandIn, VendorReply, VendorServer, Visit};
pub use workers::{FakePoolWorker, FakeSimWorker, PoolWorker, SimWorker, sha256_hex, sim_registration};
