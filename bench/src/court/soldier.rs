//! The soldier: notes when it started, and that is all it does.

use crate::stopwatch::since_epoch;
use serde_json::json;
use std::{env, fs, path::Path, time::Duration};

/// Leaves a result whose summary is the moment of the start.
pub(crate) fn serve() {
    let started = since_epoch();
    let variable = |name: &str| env::var(name).expect("a general says so");
    let result = json!({
        "task_id": variable("MUSTER_TASK_ID"), "status": "success", "summary": started.as_nanos().to_string(),
    });
    fs::write(variable("MUSTER_RESULT_PATH"), result.to_string()).expect("a result");
}

/// When the soldier that left this result started, since 1970.
pub(crate) fn started(result: &Path) -> Duration {
    let summary = super::house::member(result, "/summary");
    Duration::from_nanos(summary.parse().expect("a number of nanoseconds"))
}
