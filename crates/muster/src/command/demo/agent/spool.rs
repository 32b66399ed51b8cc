//! What a dead agent has left to say.

use muster_spool::{Directory, Limits, Spool, SpoolError};
use serde_json::Value;
use std::path::Path;

/// The ids of the events in a spool that nobody has taken.
pub(super) fn event_ids(directory: &Path) -> Result<Vec<String>, SpoolError> {
    let (_spool, recovered) = Spool::open(Directory::open(directory)?, Limits::default())?;
    let id = |bytes: &[u8]| {
        let event: Value = serde_json::from_slice(bytes).unwrap_or_default();
        event["event_id"].as_str().unwrap_or_default().to_owned()
    };
    Ok(recovered.pending.iter().map(|(_, bytes)| id(bytes)).collect())
}
