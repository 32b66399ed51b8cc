//! `muster run submit`.

use super::{
    allowed::AllowedFailures,
    flags::RunFlags,
    watch::{self, Waiting},
};
use crate::{
    client::Client,
    command::watch::Telling,
    failure::{Exit, Failure},
};
use clap::Args;
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    run: RunFlags,
    /// Makes a repeat of this very submission harmless, also by another call [default: one made up for this call]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for the run to end; exits with 1 unless every device completed
    #[arg(long)]
    wait: bool,
    /// With --wait: exit with 0 although so many devices, or so many percent of them, did not complete
    #[arg(long, value_name = "N|N%", requires = "wait")]
    allow_failures: Option<AllowedFailures>,
}

impl Submit {
    pub(super) async fn run(self, client: &Client, json: bool) -> Result<Exit, Failure> {
        let body = self.run.body()?;
        let path = ["api", "runs"];
        // With a key it may go to another server when one hangs or dies, and is still one run.
        let key = self.idempotency_key.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>()));
        let mut run = client.post_once(&path, &body, &key).await?;
        warn(&mut run);
        let waiting =
            self.wait.then(|| Waiting { telling: Telling::once(json), allowed: self.allow_failures });
        watch::end(client, &run, waiting, json).await
    }
}

/// Tells on standard error what the run names and nobody knows; the answer itself keeps its shape.
fn warn(run: &mut Value) {
    let told = run.as_object_mut().and_then(|run| run.remove("warnings"));
    for warning in told.as_ref().and_then(Value::as_array).into_iter().flatten() {
        if let Some(message) = warning.get("message").and_then(Value::as_str) {
            eprintln!("warning: {}", message.replace(char::is_control, "\u{fffd}"));
        }
    }
}
