//! `muster run submit`.

use super::{flags::RunFlags, watch};
use crate::{
    client::Client,
    failure::{Exit, Failure},
};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    run: RunFlags,
    /// Makes a repeat of this very submission harmless, also by another call [default: one made up for this call]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for the run to end; ends with 1 unless it succeeded
    #[arg(long)]
    wait: bool,
}

impl Submit {
    pub(super) async fn run(self, client: &Client, json: bool) -> Result<Exit, Failure> {
        let body = self.run.body()?;
        let path = ["api", "runs"];
        // With a key it may go to another server when one hangs or dies, and is still one run.
        let key = self.idempotency_key.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>()));
        let run = client.post_once(&path, &body, &key).await?;
        watch::end(client, &run, self.wait, json).await
    }
}
