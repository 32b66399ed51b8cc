//! A real Chromium, driven by `bench/node/dashboard.mjs`, which measures in the page.

use crate::server::ADMIN_TOKEN;
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
};

/// Has the browser look at the overview; `None` where there is none.
pub(super) fn look(address: SocketAddr, seconds: u64) -> Option<Value> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("node");
    if !directory.join("node_modules/playwright-core").is_dir() {
        return None;
    }
    let settings = json!({"url": format!("http://{address}"), "token": ADMIN_TOKEN, "seconds": seconds});
    let output = Command::new("node")
        .args(["dashboard.mjs", &settings.to_string()])
        .current_dir(directory)
        .stderr(Stdio::inherit())
        .output()
        .ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

pub(super) fn print(told: &Value) {
    let figure = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
    println!(
        "  page, {:.0} s of overview: {:.0} entries taken ({:.0}/s), {:.1} % of the main thread",
        figure("seconds"),
        figure("entries"),
        figure("entries") / figure("seconds"),
        figure("busyPercent")
    );
    println!(
        "  tasks of the main thread over 50 ms: {:.0}, the longest {:.0} ms; between frames p50 {:.1} ms, p99 {:.1} ms, longest {:.0} ms",
        figure("longTasks"),
        figure("longestTaskMs"),
        figure("frameP50Ms"),
        figure("frameP99Ms"),
        figure("frameMaxMs")
    );
    println!(
        "  a click on the filter is answered within p50 {:.0} ms, longest {:.0} ms ({} tries)",
        figure("inputP50Ms"),
        figure("inputMaxMs"),
        told["inputs"]
    );
    println!(
        "  heap after collection: {:.1} MiB after a quarter, {:.1} MiB at the end; {} DOM nodes, then {}",
        figure("heapQuarterMib"),
        figure("heapEndMib"),
        told["nodesQuarter"],
        told["nodesEnd"]
    );
}
