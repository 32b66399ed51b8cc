//! `muster run watch`, and the waiting of `muster run submit --wait`.

use super::print;
use crate::{
    client::Client,
    command::watch::{Telling, Watched},
    failure::{Exit, Failure},
};
use indicatif::ProgressBar;
use serde_json::Value;

/// Waits for a run to end, showing how far it is on a terminal; then prints the run.
pub(super) async fn watch(client: &Client, id: &str, telling: Telling) -> Result<Exit, Failure> {
    let path = ["api", "runs", id];
    let watched = Watched { path: &path, template: "{wide_bar} {pos}/{len} {msg}", end_of, show, print };
    watched.until_ended(client, telling).await
}

/// What follows a submission: it is printed, or waited for.
pub(super) async fn end(client: &Client, run: &Value, wait: bool, json: bool) -> Result<Exit, Failure> {
    match run.get("run_id").and_then(Value::as_str) {
        Some(id) if wait => watch(client, id, Telling::once(json)).await,
        _ => {
            print(run, json);
            Ok(Exit::Fine)
        }
    }
}

/// How a run ended, if it did (Q2).
fn end_of(status: &str) -> Option<Exit> {
    match status {
        "success" => Some(Exit::Fine),
        "failed" | "cancelled" => Some(Exit::Failed),
        _ => None,
    }
}

fn show(bar: &ProgressBar, run: &Value) {
    let count = |name: &str| run.pointer(&format!("/counts/{name}")).and_then(Value::as_u64).unwrap_or(0);
    let status = run.get("status").and_then(Value::as_str).unwrap_or_default();
    let ended = count("completed") + count("failed") + count("cancelled");
    bar.set_length(ended + count("pending") + count("running"));
    bar.set_position(ended);
    bar.set_message(format!("done; {status}, {} running, {} failed", count("running"), count("failed")));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I4: work that failed or was cancelled ends with 1.
    #[test]
    fn the_end_of_a_run_is_the_exit_code() {
        assert_eq!(end_of("success"), Some(Exit::Fine));
        assert_eq!(end_of("failed"), Some(Exit::Failed));
        assert_eq!(end_of("cancelled"), Some(Exit::Failed));
        assert_eq!(end_of("running"), None);
        assert_eq!(end_of("pending"), None);
    }
}
