//! `muster run retry` and `muster run failures`.

use super::{
    allowed::AllowedFailures,
    watch::{self, Waiting},
};
use crate::{
    client::Client,
    command::watch::Telling,
    failure::{Exit, Failure},
    output,
    reason::Reason,
};
use clap::Args;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// Which run
    id: String,
    /// Only the devices that failed so, as `muster run failures` names it
    #[arg(long, value_name = "ERROR")]
    failure_reason: Option<String>,
    /// For people [default: whose retry it is]
    #[arg(long)]
    title: Option<String>,
    /// Return those of the devices to service that are out of it
    #[arg(long)]
    return_to_service: bool,
    /// Makes a repeat of this very request harmless, also by another call [default: one made up for this call]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for the new run to end; exits with 1 unless every device completed
    #[arg(long)]
    wait: bool,
    /// With --wait: exit with 0 although so many devices, or so many percent of them, did not complete
    #[arg(long, value_name = "N|N%", requires = "wait")]
    allow_failures: Option<AllowedFailures>,
    #[command(flatten)]
    reason: Reason,
}

impl Retry {
    pub(super) async fn run(self, client: &Client, json: bool) -> Result<Exit, Failure> {
        let body = json!({"failure_reason": self.failure_reason, "title": self.title,
            "return_to_service": self.return_to_service});
        // With a key it may go to another server when one hangs or dies, and is still one run.
        let key = self.idempotency_key.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>()));
        let path = ["api", "runs", &self.id, "retry"];
        let run = client.order_once(&path, (&body, &key), &self.reason).await?;
        let waiting =
            self.wait.then(|| Waiting { telling: Telling::once(json), allowed: self.allow_failures });
        watch::end(client, &run, waiting, json).await
    }
}

pub(super) async fn failures(client: &Client, id: &str, json: bool) -> Result<Exit, Failure> {
    let failures: Value = client.get(&["api", "runs", id, "failures"], &[]).await?;
    output::listing(&failures, "failures", &["count", "error"], json);
    Ok(Exit::Fine)
}
