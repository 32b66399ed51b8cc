//! The device agent: takes jobs of a coordinator, runs them on devices, reports without loss.
//!
//! [`core`] decides everything and touches nothing; [`driver`] reaches devices; [`execute`] walks a device through a
//! workflow.

mod backend;
pub mod core;
pub mod driver;
pub mod execute;
mod outgoing;
pub mod runtime;
pub mod upload;
pub mod workflow;

pub use self::core::End;
pub use backend::Backend;
pub use muster_contract_nodes::{Artifact, Attached, Job};
pub use muster_model::StepStatus;
pub use muster_worker_kit::Text;
