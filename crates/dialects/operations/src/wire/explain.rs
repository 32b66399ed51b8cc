//! Why something is not running (Q16).

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The one rule that holds something back.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct Why {
    /// What was asked about: `run`, `device`, `task_device` or `node`.
    pub kind: &'static str,
    /// Which one.
    pub id: String,
    /// The code scripts match on.
    pub code: &'static str,
    /// The rule of the contract that says so.
    pub rule: &'static str,
    /// The answer for people.
    pub sentence: String,
    /// The objects and figures it refers to.
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
}
