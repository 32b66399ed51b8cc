//! `muster session submit`.

use super::{Telling, watch};
use crate::{
    client::Client,
    command::{parameters::json_argument, watch::print_members},
    failure::{Exit, Failure},
};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(super) struct Submit {
    /// What the session is called: a–z, 0–9, _ and -; submitting the same again is harmless
    id: String,
    /// How many frames
    #[arg(long, value_name = "N")]
    frames: u64,
    /// Frames per task at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    frames_per_task: u64,
    /// What to render: JSON, or @FILE to read it from there
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    scenario: String,
    /// The cameras: JSON, or @FILE to read it from there
    #[arg(long, value_name = "JSON|@FILE", default_value = "[]")]
    cameras: String,
    /// Whether ranges with dropped frames are refused or recorded
    #[arg(long, value_enum, default_value_t = Quality::Strict)]
    quality: Quality,
    /// Its directory, relative to the server's output root, if not session_ and its name
    #[arg(long, value_name = "DIR")]
    output: Option<String>,
    /// Wait for the session to end; ends with 1 unless it completed with all its frames
    #[arg(long)]
    wait: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Quality {
    Strict,
    Relaxed,
}

impl Submit {
    pub(super) async fn run(self, client: &Client, json: bool) -> Result<Exit, Failure> {
        let session = client.post(&super::SESSIONS, &self.body()?).await?;
        if self.wait {
            return watch(client, &self.id, Telling::once(json)).await;
        }
        print_members(&session, json);
        Ok(Exit::Fine)
    }

    /// The submission as the server takes it; what was not given is left to the server.
    fn body(&self) -> Result<Value, Failure> {
        let mut body = json!({
            "sessionId": self.id,
            "totalFrames": self.frames,
            "framesPerTask": self.frames_per_task,
            "scenario": json_argument("--scenario", &self.scenario)?,
            "cameras": json_argument("--cameras", &self.cameras)?,
            "qualityMode": match self.quality {
                Quality::Strict => "strict",
                Quality::Relaxed => "relaxed",
            },
        });
        if let (Some(output), Some(members)) = (&self.output, body.as_object_mut()) {
            members.insert("outputDirectory".to_owned(), json!(output));
        }
        Ok(body)
    }
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

    fn body(arguments: &[&str]) -> Result<Value, Failure> {
        let line = ["submit", "s", "--frames", "10"].into_iter().chain(arguments.iter().copied());
        Line::try_parse_from(line).unwrap().submit.body()
    }

    /// S26: a submission has the names of the contract; what was not said is not sent.
    #[test]
    fn a_submission_speaks_the_contract() {
        let plain = json!({"sessionId": "s", "totalFrames": 10, "framesPerTask": 100, "scenario": {}, "cameras": [],
            "qualityMode": "strict"});
        assert_eq!(body(&[]).unwrap(), plain);
        let more = body(&[
            "--frames-per-task",
            "5",
            "--quality",
            "relaxed",
            "--output",
            "x",
            "--scenario",
            "{\"a\":1}",
        ]);
        let more = more.unwrap();
        assert_eq!((&more["framesPerTask"], &more["qualityMode"]), (&json!(5), &json!("relaxed")));
        assert_eq!((&more["outputDirectory"], &more["scenario"]), (&json!("x"), &json!({"a": 1})));
        assert_eq!(body(&["--cameras", "["]).unwrap_err().exit(), Exit::Usage);
    }
}
