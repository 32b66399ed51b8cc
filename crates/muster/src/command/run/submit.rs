//! `muster run submit`.

use super::{flags::RunFlags, print, watch};
use crate::{
    client::Client,
    failure::{Exit, Failure},
};
use clap::Args;
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    run: RunFlags,
    /// Makes a repeat of this very submission harmless
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
        let run = match &self.idempotency_key {
            Some(key) => client.post_once(&path, &body, key).await?,
            None => client.post(&path, &body).await?,
        };
        match run.get("run_id").and_then(Value::as_str) {
            Some(id) if self.wait => watch::watch(client, id, json).await,
            _ => {
                print(&run, json);
                Ok(Exit::Fine)
            }
        }
    }
}
