//! `muster run submit|list|show|failures|cancel|retry|watch`.

mod allowed;
mod flags;
mod retry;
mod submit;
mod watch;

pub(super) use flags::RunFlags;

use super::{
    converse,
    watch::{Telling, print_members as print},
};
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::Reach,
    reason::Reason,
};
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Submit a run
    Submit(submit::Submit),
    /// List runs, newest first
    List(List),
    /// Show one run and how far it is
    Show {
        /// Which one
        id: String,
    },
    /// Cancel a run; devices at work are told to stop
    Cancel {
        /// Which one
        id: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Count how a run's devices failed, the most frequent first
    Failures {
        /// Which one
        id: String,
    },
    /// Submit a run again for the devices on which it failed; those out of service wait until they are returned
    Retry(retry::Retry),
    /// Wait for a run to end; exits with 1 unless every device completed. With --json: one document per line whenever
    /// something changed
    Watch {
        /// Which one
        id: String,
        /// Exit with 0 although so many devices, or so many percent of them, did not complete
        #[arg(long, value_name = "N|N%")]
        allow_failures: Option<allowed::AllowedFailures>,
    },
}

#[derive(Debug, Args)]
struct List {
    /// Only with this status
    #[arg(long)]
    status: Option<String>,
    /// Only of this queue
    #[arg(long)]
    queue: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    limit: usize,
}

impl Run {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        converse(&reach, async |client| match action {
            Action::Submit(submit) => submit.run(client, reach.json).await,
            Action::List(list) => list.run(client, reach.json).await,
            Action::Show { id } => show(client, &id, reach.json).await,
            Action::Cancel { id, reason } => cancel(client, &id, &reason, reach.json).await,
            Action::Failures { id } => retry::failures(client, &id, reach.json).await,
            Action::Retry(retry) => retry.run(client, reach.json).await,
            Action::Watch { id, allow_failures: allowed } => {
                let telling = Telling::all_along(reach.json);
                watch::watch(client, &id, watch::Waiting { telling, allowed }).await
            }
        })
    }
}

impl List {
    async fn run(self, client: &Client, json: bool) -> Result<Exit, Failure> {
        let filters = [("status", self.status), ("queue", self.queue)];
        let query = filters.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        let runs =
            client.list(Listing { path: &["api", "runs"], name: "runs", query, limit: self.limit }).await?;
        output::listing(
            &runs,
            "runs",
            &["run_id", "status", "outcome", "workflow_id", "queue", "title", "error"],
            json,
        );
        Ok(Exit::Fine)
    }
}

async fn show(client: &Client, id: &str, json: bool) -> Result<Exit, Failure> {
    print(&client.get(&["api", "runs", id], &[]).await?, json);
    Ok(Exit::Fine)
}

async fn cancel(client: &Client, id: &str, reason: &Reason, json: bool) -> Result<Exit, Failure> {
    print(&client.order(&["api", "runs", id, "cancel"], reason).await?, json);
    Ok(Exit::Fine)
}
