//! The simulation worker as it runs, against a stand-in of the master.

mod exec;
mod failover;
mod master;
mod process;
mod pull;
mod push;
mod scene;
