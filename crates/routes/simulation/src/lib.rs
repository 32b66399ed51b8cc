//! Speaks contract S: sessions of frames, spread over remote simulation workers.
//!
//! The contract's types stand in `muster_contract_simulation`; `routes` carries them over HTTP, one file per noun.
//! `output` is what lies on disk, `effects` what must happen outside once a decision is
//! durable, `checkpoint` everything in one document. Nothing is decided here.

mod checkpoint;
mod effects;
pub mod output;
mod routes;
mod simulation;

pub use checkpoint::{
    BYTES_MAX as CHECKPOINT_BYTES_MAX, Checkpoint, KeepError, ReadError, RestoreError, Restored,
    keep_checkpoints,
};
pub use routes::routes;
pub use simulation::{Simulation, SimulationSettings};
