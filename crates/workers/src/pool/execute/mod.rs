//! Executing assignments: with the built-in handler, or with any program (P16).

mod builtin;
mod program;

pub use program::Exec;

use super::core::{End, Outcome, Work};
use muster_proof::json::{Kind, parse};
use muster_worker_kit::Text;
use tokio_util::sync::CancellationToken;

/// What executes.
#[derive(Debug)]
pub enum Handler {
    /// The built-in one: small things that come out the same everywhere, so that redundancy agrees (P15).
    BuiltIn,
    /// A program, run once per assignment.
    Exec(Exec),
}

/// Why there is no output, and whose fault that is.
enum Fault {
    /// The assignment fails.
    Job(String),
    /// Somewhere else, or later, it may be executed well.
    Machine(String),
}

impl Handler {
    /// Executes an assignment. Returns when nothing of it runs any more.
    pub(super) async fn run(&self, work: &Work, cancel: &CancellationToken) -> End {
        let outcome = match self {
            Self::BuiltIn => tokio::select! {
                biased;
                () = cancel.cancelled() => return End::Stopped,
                outcome = builtin::run(&work.assignment.job) => outcome.map_err(Fault::Job),
            },
            Self::Exec(exec) => exec.run(work, cancel).await,
        };
        match outcome {
            // What a program says while it is killed counts for nothing.
            Err(_) if cancel.is_cancelled() => End::Stopped,
            Ok(output) => End::Done(Outcome::Output(output)),
            Err(Fault::Job(error)) => End::Done(Outcome::Error(error.into())),
            Err(Fault::Machine(why)) => End::Unable(why.into()),
        }
    }
}

/// The canonical form of an output, which must be an object (P7, P10).
fn output(text: &[u8]) -> Result<Text, String> {
    let value = parse(text).map_err(|refused| format!("the output is no JSON: {refused}"))?;
    if !matches!(value.kind, Kind::Object(_)) {
        return Err("the output is no JSON object".to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    value.write_canonical(&mut bytes);
    Ok(String::from_utf8(bytes).expect("canonical JSON is UTF-8").into())
}
