//! `muster run watch`, and the waiting of `muster run submit --wait`.

use super::{allowed::AllowedFailures, print};
use crate::{
    client::Client,
    command::watch::{Telling, Watched, status_of},
    failure::{Exit, Failure},
};
use indicatif::ProgressBar;
use serde_json::Value;

/// How a run is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) telling: Telling,
    pub(super) allowed: Option<AllowedFailures>,
}

/// Waits for a run to end, showing its progress on a terminal; then prints the run.
pub(super) async fn watch(client: &Client, id: &str, waiting: Waiting) -> Result<Exit, Failure> {
    let path = ["api", "runs", id];
    let end_of = |run: &Value| end_of(run, waiting.allowed);
    let watched =
        Watched { path: &path, template: "{wide_bar} {pos}/{len} {msg}", end_of: &end_of, show, print };
    watched.until_ended(client, waiting.telling).await
}

/// Follows a submission: waits for the run, or prints it.
pub(super) async fn end(
    client: &Client,
    run: &Value,
    waiting: Option<Waiting>,
    json: bool,
) -> Result<Exit, Failure> {
    match (run.get("run_id").and_then(Value::as_str), waiting) {
        (Some(id), Some(waiting)) => watch(client, id, waiting).await,
        _ => {
            print(run, json);
            Ok(Exit::Fine)
        }
    }
}

/// The exit code of a run that has ended (Q7b); says on standard error what is missing.
fn end_of(run: &Value, allowed: Option<AllowedFailures>) -> Option<Exit> {
    // A server of an earlier version has no outcome: then the status decides.
    let outcome = run.get("outcome").and_then(Value::as_str).unwrap_or_else(|| status_of(run));
    match outcome {
        "complete" | "success" => Some(Exit::Fine),
        "partial" => {
            let (rows, completed) = (rows(run), count(run, "completed"));
            let missing = rows.saturating_sub(completed);
            let id = run.get("run_id").and_then(Value::as_str).unwrap_or_default();
            eprintln!(
                "partial: {completed} of {rows} devices completed, {missing} did not; \
                 `muster run failures {id}` counts the reasons"
            );
            let is_allowed = allowed.is_some_and(|allowed| allowed.covers(missing, rows));
            Some(if is_allowed { Exit::Fine } else { Exit::Failed })
        }
        "failed" | "cancelled" => Some(Exit::Failed),
        _ => None,
    }
}

fn show(bar: &ProgressBar, run: &Value) {
    let ended = count(run, "completed") + count(run, "failed") + count(run, "cancelled");
    bar.set_length(rows(run));
    bar.set_position(ended);
    let (status, running, failed) = (status_of(run), count(run, "running"), count(run, "failed"));
    bar.set_message(format!("done; {status}, {running} running, {failed} failed"));
}

fn rows(run: &Value) -> u64 {
    ["pending", "running", "completed", "failed", "cancelled"].map(|name| count(run, name)).iter().sum()
}

fn count(run: &Value, name: &str) -> u64 {
    run.pointer(&format!("/counts/{name}")).and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn exit(outcome: &str, allowed: Option<&str>) -> Option<Exit> {
        let counts = json!({"pending": 0, "running": 0, "completed": 297, "failed": 2, "cancelled": 1});
        let run = json!({"status": "success", "outcome": outcome, "counts": counts});
        end_of(&run, allowed.map(|text| text.parse().unwrap()))
    }

    /// Q7b, I4: only a complete run ends with 0; a partial one does within the bound that was allowed.
    #[test]
    fn the_outcome_of_a_run_is_the_exit_code() {
        assert_eq!(exit("complete", None), Some(Exit::Fine));
        assert_eq!(exit("partial", None), Some(Exit::Failed));
        for (allowed, expected) in [
            ("3", Exit::Fine),
            ("2", Exit::Failed),
            ("1%", Exit::Fine),
            ("0.9%", Exit::Failed),
            ("100%", Exit::Fine),
            ("0", Exit::Failed),
        ] {
            assert_eq!(exit("partial", Some(allowed)), Some(expected), "{allowed}");
        }
        for outcome in ["failed", "cancelled"] {
            assert_eq!(exit(outcome, Some("100%")), Some(Exit::Failed), "{outcome}");
        }
        assert_eq!(exit("open", None), None);
    }

    #[test]
    fn without_an_outcome_the_status_decides() {
        let end = |status: &str| end_of(&json!({"status": status}), None);
        assert_eq!(["success", "failed", "running"].map(end), [Some(Exit::Fine), Some(Exit::Failed), None]);
    }
}
