//! `muster session submit|list|show|watch|pause|resume|cancel` (S26).

mod strip;
mod submit;

pub(super) use strip::strip;

use super::{
    converse,
    watch::{Telling, Watched, print_members},
};
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::Reach,
    reason::Reason,
};
use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::io::IsTerminal;

#[derive(Debug, Args)]
pub(crate) struct Session {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Submit a session of frames
    Submit(submit::Submit),
    /// List sessions, newest first
    List {
        /// Only with this status
        #[arg(long)]
        status: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Show one session: how far it is, which frames were given out anew, which were dropped
    Show {
        /// Which one
        id: String,
    },
    /// Wait for a session to end; ends with 1 unless it completed. With --json: one document per line whenever something changed
    Watch {
        /// Which one
        id: String,
    },
    /// Give out no more of its frames for now; what is held may be completed
    Pause {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Give out its frames again
    Resume {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// End a session; workers at it are told to stop
    Cancel {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
}

impl Session {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        let json = reach.json;
        converse(&reach, async |client| match action {
            Action::Submit(submit) => submit.run(client, json).await,
            Action::List { status, limit } => list(client, status, limit, json).await,
            Action::Show { id } => show(client, &id, json).await,
            Action::Watch { id } => watch(client, &id, Telling::all_along(json)).await,
            Action::Pause { id, reason } => steer(client, [&id, "pause"], &reason, json).await,
            Action::Resume { id, reason } => steer(client, [&id, "resume"], &reason, json).await,
            Action::Cancel { id, reason } => steer(client, [&id, "cancel"], &reason, json).await,
        })
    }
}

async fn list(client: &Client, status: Option<String>, limit: usize, json: bool) -> Result<Exit, Failure> {
    let query = status.map(|status| ("status", status)).into_iter().collect();
    let listing = Listing { path: &SESSIONS, name: "sessions", query, limit };
    let columns =
        ["sessionId", "status", "completedFrames", "totalFrames", "qualityMode", "createdAt", "error"];
    output::listing(&client.list(listing).await?, "sessions", &columns, json);
    Ok(Exit::Fine)
}

async fn show(client: &Client, id: &str, json: bool) -> Result<Exit, Failure> {
    print(&client.get(&path_of(id), &[]).await?, json);
    Ok(Exit::Fine)
}

async fn steer(client: &Client, [id, verb]: [&str; 2], reason: &Reason, json: bool) -> Result<Exit, Failure> {
    let [api, version, sessions, id] = path_of(id);
    print_members(&client.order(&[api, version, sessions, id, verb], reason).await?, json);
    Ok(Exit::Fine)
}

/// Waits for a session to end, with its frames as a strip on a terminal; then prints it.
async fn watch(client: &Client, id: &str, telling: Telling) -> Result<Exit, Failure> {
    let template = "{msg}\n{wide_bar} {pos}/{len}";
    let watched = Watched { path: &path_of(id), template, end_of, show: draw, print };
    watched.until_ended(client, telling).await
}

/// How a session ended, if it did (S26).
fn end_of(status: &str) -> Option<Exit> {
    match status {
        "completed" => Some(Exit::Fine),
        "failed" | "cancelled" => Some(Exit::Failed),
        _ => None,
    }
}

fn draw(bar: &ProgressBar, session: &Value) {
    let number = |name: &str| session.get(name).and_then(Value::as_u64).unwrap_or(0);
    bar.set_length(number("totalFrames"));
    bar.set_position(number("completedFrames"));
    bar.set_message(format!("{}  {}", strip(session, STRIP_CELLS), summary(session)));
}

/// What there is to say in one line.
fn summary(session: &Value) -> String {
    let count = |name: &str| session.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    let status = session.get("status").and_then(Value::as_str).unwrap_or_default();
    let rate = session.get("rate").and_then(Value::as_f64).unwrap_or(0.0);
    let mut line = format!("{status}, {rate:.1} frames/s, {} given out anew", count("replays"));
    if let Some(seconds) = session.get("etaSeconds").and_then(Value::as_f64) {
        line.push_str(&format!(", {seconds:.0} s left"));
    }
    if count("drops") > 0 {
        line.push_str(&format!(", {} with dropped frames", count("drops")));
    }
    line
}

/// The document, or for people its members without the long lists, and its frames as a strip on a terminal.
fn print(session: &Value, json: bool) {
    if json {
        return output::document(session);
    }
    let mut short = session.clone();
    if let Some(members) = short.as_object_mut() {
        for list in ["coverage", "replays", "drops"] {
            if let Some(length) = members.get(list).and_then(Value::as_array).map(Vec::len) {
                members.insert(list.to_owned(), json!(length));
            }
        }
    }
    output::members(&short);
    if std::io::stdout().is_terminal() {
        output::line(&strip(session, STRIP_CELLS));
    }
}

fn path_of(id: &str) -> [&str; 4] {
    let [api, version, sessions] = SESSIONS;
    [api, version, sessions, id]
}

const SESSIONS: [&str; 3] = ["api", "v1", "sessions"];
/// Fits a terminal of 80 columns with something beside it.
const STRIP_CELLS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    /// I4, S26: a session that failed or was cancelled ends with 1.
    #[test]
    fn the_end_of_a_session_is_the_exit_code() {
        assert_eq!(end_of("completed"), Some(Exit::Fine));
        assert_eq!(end_of("failed"), Some(Exit::Failed));
        assert_eq!(end_of("cancelled"), Some(Exit::Failed));
        assert_eq!(end_of("running"), None);
        assert_eq!(end_of("paused"), None);
    }

    #[test]
    fn a_line_says_how_far_it_is() {
        let session =
            json!({"status": "running", "rate": 12.34, "etaSeconds": 7.6, "replays": [1, 2], "drops": []});
        assert_eq!(summary(&session), "running, 12.3 frames/s, 2 given out anew, 8 s left");
    }
}
