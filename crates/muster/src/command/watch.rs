//! Waiting for work to end, with a bar that shows how far it is.

use crate::{
    client::Client,
    failure::{Exit, Failure},
    output,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use std::{io::IsTerminal, time::Duration};

/// What is waited for, and how it is read.
pub(super) struct Watched<'a> {
    /// Where it is asked for.
    pub(super) path: &'a [&'a str],
    /// How the line on the terminal looks.
    pub(super) template: &'static str,
    /// How it ended, if it did, by its status.
    pub(super) end_of: fn(&str) -> Option<Exit>,
    /// Puts what was answered on the bar.
    pub(super) show: fn(&ProgressBar, &Value),
    /// Prints what was answered last.
    pub(super) print: fn(&Value, bool),
}

impl Watched<'_> {
    /// Looks until it has ended, showing how far it is on a terminal; then prints it.
    pub(super) async fn until_ended(self, client: &Client, json: bool) -> Result<Exit, Failure> {
        let bar = bar(self.template);
        loop {
            let answer = client.get(self.path, &[]).await?;
            let status = answer.get("status").and_then(Value::as_str).unwrap_or_default();
            if let Some(exit) = (self.end_of)(status) {
                bar.finish_and_clear();
                (self.print)(&answer, json);
                return Ok(exit);
            }
            (self.show)(&bar, &answer);
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}

/// One object: the document that `--json` promises, or its members for people.
pub(super) fn print_members(object: &Value, json: bool) {
    if json { output::document(object) } else { output::members(object) }
}

fn bar(template: &str) -> ProgressBar {
    let is_shown = std::io::stderr().is_terminal();
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template(template).expect("the template is fixed");
    ProgressBar::with_draw_target(Some(0), target).with_style(style)
}

/// Soon enough for people, seldom enough for the server.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
