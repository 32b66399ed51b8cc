//! `muster audit` (the actions of privileged users, I7) and `muster alerts`.

use super::client_command::{Limit, converse, given};
use crate::{
    client::Listing,
    failure::{Exit, Failure},
    reach::Reach,
};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(flatten)]
    reach: Reach,
    /// Only this: cancel_run, drain_node, …
    #[arg(long)]
    action: Option<String>,
    /// Only by whoever had this name
    #[arg(long, value_name = "USER")]
    actor: Option<String>,
    /// Only about something with this in it: the id of a run, a word of a reason
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// At most so many, newest first
    #[arg(long, default_value_t = 1000)]
    limit: usize,
}

impl Audit {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action, actor, about, limit } = self;
        let query = given([("action", action), ("actor", actor), ("subject_contains", about)]);
        converse(&reach, async |talk| {
            let listing = Listing { path: &["audit"], name: "acts", query, limit };
            talk.list(listing, &["at", "username", "action", "subject"]).await
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Alerts {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    limit: Limit<100>,
}

impl Alerts {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, limit: Limit { limit } } = self;
        converse(&reach, async |talk| {
            let listing = Listing { path: &["api", "alerts"], name: "alerts", query: Vec::new(), limit };
            talk.list(listing, &["at", "kind", "pc_id", "run_id", "message"]).await
        })
    }
}
