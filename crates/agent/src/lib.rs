//! The device agent: takes jobs of a coordinator, runs them on devices, reports without loss.
//!
//! [`core`] decides everything and touches nothing; [`driver`] reaches devices; [`execute`] walks a device through a
//! workflow.

mod backend;
pub mod core;
pub mod driver;
pub mod execute;
pub mod http;
mod job;
pub mod png;
pub mod process;
pub mod runtime;
pub mod upload;
pub mod wire;
pub mod workflow;

pub use backend::Backend;
pub use job::{Artifact, Attached, End, Job, StepStatus, Text};
