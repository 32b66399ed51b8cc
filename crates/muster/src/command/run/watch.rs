//! `muster run watch`, and the waiting of `muster run submit --wait`.

use super::print;
use crate::{
    client::Client,
    failure::{Exit, Failure},
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use std::{io::IsTerminal, time::Duration};

/// Waits for a run to end, showing how far it is on a terminal; then prints the run.
pub(super) async fn watch(client: &Client, id: &str, json: bool) -> Result<Exit, Failure> {
    let bar = progress_bar();
    loop {
        let run = client.get(&["api", "runs", id], &[]).await?;
        let status = run.get("status").and_then(Value::as_str).unwrap_or_default();
        if let Some(exit) = end_of(status) {
            bar.finish_and_clear();
            print(&run, json);
            return Ok(exit);
        }
        show(&bar, &run, status);
        tokio::time::sleep(BETWEEN_LOOKS).await;
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

fn show(bar: &ProgressBar, run: &Value, status: &str) {
    let count = |name: &str| run.pointer(&format!("/counts/{name}")).and_then(Value::as_u64).unwrap_or(0);
    let ended = count("completed") + count("failed") + count("cancelled");
    bar.set_length(ended + count("pending") + count("running"));
    bar.set_position(ended);
    bar.set_message(format!("{status}, {} running, {} failed", count("running"), count("failed")));
}

fn progress_bar() -> ProgressBar {
    let is_shown = std::io::stderr().is_terminal();
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}").expect("the template is fixed");
    ProgressBar::with_draw_target(Some(0), target).with_style(style)
}

/// Soon enough for people, seldom enough for the server.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

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
