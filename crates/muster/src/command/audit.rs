//! `muster audit` (the actions of privileged users, I7) and `muster alerts`.

use super::converse;
use crate::{
    client::Listing,
    failure::{Exit, Failure},
    output,
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
        let filters = [("action", action), ("actor", actor), ("subject_contains", about)];
        let query = filters.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        converse(&reach, async |client| {
            let listing = Listing { path: &["audit"], name: "acts", query, limit };
            let columns = ["at", "username", "action", "subject"];
            output::listing(&client.list(listing).await?, "acts", &columns, reach.json);
            Ok(Exit::Fine)
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Alerts {
    #[command(flatten)]
    reach: Reach,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    limit: usize,
}

impl Alerts {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        converse(&self.reach, async |client| {
            let listing =
                Listing { path: &["api", "alerts"], name: "alerts", query: Vec::new(), limit: self.limit };
            let alerts = client.list(listing).await?;
            output::listing(
                &alerts,
                "alerts",
                &["at", "kind", "pc_id", "run_id", "message"],
                self.reach.json,
            );
            Ok(Exit::Fine)
        })
    }
}
