//! `muster receipt verify`: a result's proof, checked without asking anybody (P17).

use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand};
use muster_proof::Receipt as Proof;
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct Receipt {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check a receipt offline
    Verify {
        /// The receipt, as GET /jobs/{id}/receipt gave it
        file: PathBuf,
        /// The worker's public key (base64url), known from elsewhere; without it the receipt is only found to agree with itself
        #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
        key: Option<String>,
    },
}

impl Receipt {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Action::Verify { file, key } = self.action;
        match verify(&file, key.as_deref()) {
            Ok(receipt) => {
                tell(&receipt, key.is_some());
                Ok(Exit::Fine)
            }
            Err(reason) => {
                eprintln!("not verified: {}: {reason}", file.display());
                Ok(Exit::Failed)
            }
        }
    }
}

fn verify(file: &Path, key: Option<&str>) -> Result<Proof, String> {
    let text = read(file)?;
    let receipt = Proof::parse(&text).map_err(|error| error.to_string())?;
    receipt.check(key).map_err(|fault| fault.to_string())?;
    Ok(receipt)
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(RECEIPT_BYTES_MAX + 1).read_to_end(&mut text));
    read.map_err(|error| format!("cannot read it: {error}"))?;
    if text.len() as u64 > RECEIPT_BYTES_MAX {
        return Err(format!("longer than {RECEIPT_BYTES_MAX} bytes, so no receipt"));
    }
    Ok(text)
}

fn tell(receipt: &Proof, is_key_known: bool) {
    let Proof { assignment_id, job_id, worker_id, public_key, .. } = receipt;
    let hash =
        receipt.output_hash.as_ref().map_or_else(|| "no output_hash".to_owned(), |hash| format!("{hash:?}"));
    output::line(&format!(
        "verified: {public_key} signed {hash} for assignment {assignment_id} of job {job_id} (worker {worker_id})"
    ));
    if !is_key_known {
        eprintln!("note: the receipt agrees with itself; whose key it is shows only with --key");
    }
}

/// Every field is short; this is many times what a receipt needs.
const RECEIPT_BYTES_MAX: u64 = 64 << 10;
