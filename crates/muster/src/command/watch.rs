//! Waiting for work to end, with a bar that shows how far it is.

use crate::{
    client::{Client, ClientError},
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
        let mut answer = client.get(self.path, &[]).await?;
        loop {
            let status = answer.get("status").and_then(Value::as_str).unwrap_or_default();
            if let Some(exit) = (self.end_of)(status) {
                bar.finish_and_clear();
                (self.print)(&answer, json);
                return Ok(exit);
            }
            (self.show)(&bar, &answer);
            tokio::time::sleep(BETWEEN_LOOKS).await;
            answer = self.look_again(client, &bar).await?;
        }
    }

    /// Looks again. A server that was there comes back, or another takes over: that is waited for.
    async fn look_again(&self, client: &Client, bar: &ProgressBar) -> Result<Value, ClientError> {
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
/// A minute at least, however quickly they come: more than a failover takes.
const MISSES_MAX: u32 = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Json, Router, http::StatusCode, response::IntoResponse};
    use muster_agent::http::Servers;
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
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(look)).await });
        let client = Client::new(Servers::parse([url.as_str()]).unwrap(), None);
        let end_of = |status: &str| (status == "success").then_some(Exit::Fine);
        let watched = Watched { path: &["x"], template: "{msg}", end_of, show: |_, _| {}, print: |_, _| {} };
        let ended = watched.until_ended(&client, true).await;
        (ended, looks.load(Ordering::Relaxed))
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
