//! What a node asks with.

use super::value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ArrayBuilder, Type},
    },
};

/// A node's request for work (N1).
#[derive(Debug, ToSchema)]
pub struct PullRequest {
    /// Who asks.
    #[schema(schema_with = node_id)]
    pub node_id: String,
    /// At most so many jobs; 0 is a mere report.
    #[schema(schema_with = max_jobs)]
    pub max_jobs: u32,
    /// How long to wait for work to appear; more than 30000 counts as 30000.
    #[schema(schema_with = wait_ms, required = false)]
    pub wait_ms: Option<u64>,
    /// All devices attached now; absent: no report.
    #[schema(schema_with = devices, required = false)]
    pub devices: Option<Vec<DeviceEntry>>,
}

/// The name of a node, as a parameter.
#[derive(Clone, Copy, Debug)]
pub struct NodeName;

impl PartialSchema for NodeName {
    fn schema() -> RefOr<Schema> {
        node_id()
    }
}

impl ToSchema for NodeName {}

/// One attached device (N1b).
#[derive(Debug, ToSchema)]
pub struct DeviceEntry {
    /// The immutable serial.
    #[schema(schema_with = node_id)]
    pub device_id: String,
    /// Whatever reaches it now; the serial where absent.
    #[schema(schema_with = handle, required = false)]
    pub runtime_handle: Option<String>,
    /// `online` counts; everything else counts as offline.
    #[schema(schema_with = status)]
    pub status: String,
}

/// No device stands twice in a report; that the ids differ is more than a schema can say.
fn devices() -> RefOr<Schema> {
    let entries = ArrayBuilder::new().items(DeviceEntry::schema()).max_items(Some(10_000)).unique_items(true);
    RefOr::T(Schema::Array(entries.schema_type(value::nullable(Type::Array)).build()))
}

fn node_id() -> RefOr<Schema> {
    value::schema(value::name())
}

fn handle() -> RefOr<Schema> {
    value::schema(value::name_or_null())
}

fn max_jobs() -> RefOr<Schema> {
    value::schema(value::between(0, 1000))
}

fn wait_ms() -> RefOr<Schema> {
    value::schema(value::between_or_null(0, value::WHOLE_MAX))
}

fn status() -> RefOr<Schema> {
    value::schema(value::one_of(&["online", "offline", "unauthorized", "error"]))
}
