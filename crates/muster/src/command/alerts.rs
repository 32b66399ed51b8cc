//! `muster alerts`.

use super::converse;
use crate::{
    client::Listing,
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::Args;

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
