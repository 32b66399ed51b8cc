//! `muster job submit`.

use super::{Telling, watch};
use crate::{
    client::Client,
    command::{parameters::text_argument, watch::print_members},
    failure::{Exit, Failure},
};
use clap::Args;
use muster_contract_pool::{JobRequest, JsonText, to_bytes};
use serde_json::Value;

#[derive(Debug, Args)]
pub(super) struct Submit {
    /// What the worker gets: JSON, or @FILE to read it from there; sent as it is
    payload: String,
    /// 0 to 100; more comes first
    #[arg(long, default_value_t = 0)]
    priority: u8,
    /// Only workers of this region
    #[arg(long)]
    region: Option<String>,
    /// Only workers that have these: a JSON object; numbers are met by more, all else by the same
    #[arg(long, value_name = "JSON|@FILE")]
    requires: Option<String>,
    /// How often it is tried
    #[arg(long, value_name = "N")]
    max_attempts: Option<u8>,
    /// How long one attempt may take
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,
    /// So many workers of different owners do it, and a majority must agree
    #[arg(long, value_name = "K")]
    redundancy: Option<u8>,
    /// Refuse results whose hash is not that of their output
    #[arg(long)]
    verify_output_hash: bool,
    /// Submitting the same again under this key is harmless
    #[arg(long)]
    key: Option<String>,
    /// Wait for the job to end; ends with 1 unless it completed
    #[arg(long)]
    wait: bool,
}

impl Submit {
    pub(super) async fn run(self, client: &Client, json: bool) -> Result<Exit, Failure> {
        let job = client.post_text(&["jobs"], self.body()?, self.key.as_deref()).await?;
        if let Some(id) = job.get("id").and_then(Value::as_u64).filter(|_| self.wait) {
            return watch(client, &id.to_string(), Telling::once(json)).await;
        }
        print_members(&job, json);
        Ok(Exit::Fine)
    }

    /// The submission as the contract has it. JSON that was given is not touched: its numbers may be longer than any of
    /// ours.
    fn body(&self) -> Result<String, Failure> {
        let requires = self.requires.as_deref().map(|text| json_text("--requires", text)).transpose()?;
        let request = JobRequest {
            priority: self.priority,
            region: self.region.as_deref().map(Into::into),
            requires,
            max_attempts: self.max_attempts,
            timeout_s: self.timeout,
            verify_output_hash: self.verify_output_hash,
            redundancy: self.redundancy,
            ..JobRequest::new(json_text("PAYLOAD", &self.payload)?)
        };
        Ok(String::from_utf8(to_bytes(&request)).expect("JSON is text"))
    }
}

fn json_text(flag: &str, argument: &str) -> Result<JsonText, Failure> {
    let text = text_argument(flag, argument)?;
    let checked = muster_proof::canonical(text.as_bytes());
    checked.map_err(|refused| Failure::Usage(format!("{flag} must be JSON (or @FILE): {refused}")))?;
    Ok(text.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        submit: Submit,
    }

    fn body(arguments: &[&str]) -> Result<String, Failure> {
        let line = ["submit"].into_iter().chain(arguments.iter().copied());
        Line::try_parse_from(line).unwrap().submit.body()
    }

    /// P13: a submission has the names of the contract, and a payload goes out as it was given.
    #[test]
    fn a_submission_speaks_the_contract() {
        let plain =
            r#"{"payload":{"n": 123456789012345678901234567890},"priority":0,"verify_output_hash":false}"#;
        assert_eq!(body(&[r#"{"n": 123456789012345678901234567890}"#]).unwrap(), plain);
        let more = body(&["1", "--priority", "9", "--region", "a\"b", "--requires", "{\"vram\":8}"]).unwrap();
        let said =
            r#"{"payload":1,"priority":9,"region":"a\"b","requires":{"vram":8},"verify_output_hash":false}"#;
        assert_eq!(more, said);
        assert_eq!(body(&["{"]).unwrap_err().exit(), Exit::Usage);
    }
}
