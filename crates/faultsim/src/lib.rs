//! A deterministic world in which the engine lives, crashes and is checked.
//!
//! One number decides everything: the fleet, the network, the clients, every fault and its moment.
//! The write path, the engine, the rules and what decides who leads are the real ones; clock, threads, disk and wire are played. After
//! every step the invariants are checked, and a ledger that shares no code with the engine compares what
//! was promised with what is durable. In some worlds several servers share the store, and any of them may crash, stand
//! still or be cut off at any moment. At last the faults stop, and every run must end.

mod checker;
mod client;
mod coordinator;
mod dice;
mod farm;
mod fault;
mod machine;
mod message;
mod network;
mod node;
mod plan;
mod planted;
mod pool;
mod rpc;
mod scenario;
mod scene;
mod stage;
mod world;

pub use planted::Planted;
pub use scenario::{Failure, STEPS, Scenario, Summary, run};
pub use scene::Coverage;
pub use stage::{Account, Blow, Stage};
