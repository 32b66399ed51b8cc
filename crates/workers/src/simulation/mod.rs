//! The reference worker of simulation sessions (S27).
//!
//! [`mod@core`] decides everything and touches nothing; [`render`] makes the files of a range; [`runtime`] puts a network,
//! programs, files and a clock around them.

pub mod core;
mod master;
mod push;
pub mod render;
pub mod runtime;

pub use master::Master;
pub use muster_contract_simulation::{RegisterRequest, Task};
pub use muster_worker_kit::Secret;

/// A task that is in order, for tests.
#[cfg(test)]
fn example() -> Task {
    use muster_contract_simulation::JsonText;
    use muster_model::{FrameRange, IdRange};
    Task {
        id: "demo.00000000".into(),
        session: "demo".into(),
        scenario: JsonText::new("{}").expect("JSON"),
        cameras: None,
        frames: FrameRange { start: 0, end: 10 },
        ids: IdRange { chunk: 5, start: 4_000_000, end: 5_000_000 },
        attempt: 1,
        epoch: 1,
        directory: "/out/session_demo/chunks/5".into(),
        replay: false,
    }
}
