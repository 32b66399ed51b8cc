//! `muster audit`: what privileged people did (I7).

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
    /// At most so many, newest first
    #[arg(long, default_value_t = 1000)]
    limit: usize,
}

impl Audit {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, limit } = self;
        converse(&reach, async |client| {
            let listing = Listing { path: &["audit"], name: "acts", query: Vec::new(), limit };
            let columns = ["at", "username", "action", "subject"];
            output::listing(&client.list(listing).await?, "acts", &columns, reach.json);
            Ok(Exit::Fine)
        })
    }
}
