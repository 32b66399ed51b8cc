//! Waiting for work to end, with a bar that shows how far it is.

use crate::{
    client::{Answer, Client, ClientError},
    failure::{Exit, Failure},
    output,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use muster_coordinator::instant_now;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{io::IsTerminal, time::Duration};
use tokio::time::Instant;

/// Audience and form of progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reporting {
    /// A bar on a terminal, elsewhere a line now and then; then what became of it.
    People,
    /// One document, when it has ended.
    Document,
    /// One document per line, whenever something changed; the last is how it ended.
    Lines,
}

impl Reporting {
    /// Form for `--wait`, with `--json` and without.
    pub(super) const fn once(json: bool) -> Self {
        if json { Self::Document } else { Self::People }
    }

    /// Form for `watch`, with `--json` and without.
    pub(super) const fn all_along(json: bool) -> Self {
        if json { Self::Lines } else { Self::People }
    }
}

/// The work that is waited for, as its contract reads it.
pub(super) struct WatchedWork<'a, T> {
    /// Route of the work.
    pub(super) path: &'a [&'a str],
    /// Template of the line on the terminal.
    pub(super) template: &'static str,
    /// The exit code, once the work has ended.
    pub(super) end_of: &'a dyn Fn(&T) -> Option<Exit>,
    /// Puts what was answered on the bar.
    pub(super) show: fn(&ProgressBar, &T),
    /// Prints what was answered last.
    pub(super) print: fn(&Answer<T>, bool),
}

impl<T: DeserializeOwned> WatchedWork<'_, T> {
    /// Looks until it has ended, telling how far it is; then prints it.
    pub(super) async fn until_ended(self, client: &Client, telling: Reporting) -> Result<Exit, Failure> {
        let bar = bar(self.template);
        let mut plain = PlainLines::default();
        let mut told = Value::Null;
        let mut answer: Answer<T> = client.get(self.path, &[]).await?;
        loop {
            if let Some(exit) = (self.end_of)(&answer.read) {
                bar.finish_and_clear();
                match telling {
                    Reporting::Lines => output::line(&answer.raw.to_string()),
                    Reporting::People | Reporting::Document => {
                        (self.print)(&answer, telling == Reporting::Document)
                    }
                }
                return Ok(exit);
            }
            (self.show)(&bar, &answer.read);
            match telling {
                Reporting::People => plain.tell(&bar),
                Reporting::Lines if answer.raw != told => output::line(&answer.raw.to_string()),
                Reporting::Document | Reporting::Lines => {}
            }
            told = answer.raw;
            tokio::time::sleep(BETWEEN_LOOKS).await;
            answer = self.look_again(client, &bar).await?;
        }
    }

    /// Looks again. A server that was there comes back, or another takes over: that is waited for.
    async fn look_again(&self, client: &Client, bar: &ProgressBar) -> Result<Answer<T>, ClientError> {
        let mut misses = 0;
        loop {
            match client.get(self.path, &[]).await {
                Err(error) if error.exit() == Exit::Unreachable && misses < MISSES_MAX => {
                    if misses == 0 {
                        bar.suspend(|| eprintln!("{error}; looking again"));
                    }
                    misses += 1;
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                }
                answer => return answer,
            }
        }
    }
}

/// Progress lines without a terminal: on standard error, when something changed, and not too often.
#[derive(Default)]
struct PlainLines {
    told: String,
    told_at: Option<Instant>,
}

impl PlainLines {
    fn tell(&mut self, bar: &ProgressBar) {
        let is_soon = self.told_at.is_some_and(|at| at.elapsed() < BETWEEN_LINES);
        let line = plain_line(bar);
        if std::io::stderr().is_terminal() || is_soon || line == self.told {
            return;
        }
        eprintln!("{line}");
        (self.told, self.told_at) = (line, Some(instant_now()));
    }
}

/// Progress, if it is known, and the message.
fn plain_line(bar: &ProgressBar) -> String {
    let message = bar.message().replace(char::is_control, " ");
    match bar.length() {
        Some(length) if length > 0 => format!("{}/{length} {message}", bar.position()),
        _ => message,
    }
}

fn bar(template: &str) -> ProgressBar {
    let is_shown = std::io::stderr().is_terminal();
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template(template).expect("the template is fixed");
    ProgressBar::with_draw_target(Some(0), target).with_style(style)
}

/// Soon enough for people, seldom enough for the server.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// A log of it stays readable.
const BETWEEN_LINES: Duration = Duration::from_secs(2);
/// A minute at least, however quickly they come: more than a failover takes.
const MISSES_MAX: u32 = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::tests::serve;
    use axum::{Json, Router, http::StatusCode, response::IntoResponse};
    use muster_worker_kit::http::Servers;
    use serde_json::json;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    async fn watch(statuses: &'static [u16]) -> (Result<Exit, Failure>, usize) {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let look = move || {
            let look = counted.fetch_add(1, Ordering::Relaxed);
            let status = if look + 1 < statuses.len() { "running" } else { "success" };
            let code = StatusCode::from_u16(statuses[look]).unwrap();
            async move { (code, Json(json!({"status": status}))).into_response() }
        };
        let url = serve(Router::new().fallback(look)).await;
        let client = Client::new(Servers::parse([url.as_str()]).unwrap(), None);
        let end_of = |answer: &Value| (answer["status"] == "success").then_some(Exit::Fine);
        let watched = WatchedWork {
            path: &["x"],
            template: "{msg}",
            end_of: &end_of,
            show: |_, _| {},
            print: |_, _| {},
        };
        let ended = watched.until_ended(&client, Reporting::Document).await;
        (ended, looks.load(Ordering::Relaxed))
    }

    #[test]
    fn without_a_terminal_a_line_says_how_far_it_is() {
        let bar = ProgressBar::hidden();
        bar.set_message("running\u{1b}, 2 failed");
        assert_eq!(plain_line(&bar), "running , 2 failed");
        bar.set_length(10);
        bar.set_position(4);
        assert_eq!(plain_line(&bar), "4/10 running , 2 failed");
    }

    /// I4, S19: whoever watches survives a failover; a server that is not there from the beginning is told at once, and
    /// so is a refusal.
    #[tokio::test]
    async fn watching_survives_a_failover() {
        let (ended, looks) = watch(&[200, 503, 502, 200]).await;
        assert_eq!((ended.unwrap(), looks), (Exit::Fine, 4));
        let (ended, looks) = watch(&[503, 200]).await;
        assert_eq!((ended.unwrap_err().exit(), looks), (Exit::Unreachable, 1));
        let (ended, looks) = watch(&[200, 404]).await;
        assert_eq!((ended.unwrap_err().exit(), looks), (Exit::NotFound, 2));
    }
}
