//! `muster canonical`: documents in their canonical form (P10). `muster receipt verify`: a result's proof, checked without
//! asking anybody (P17, P20).

use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand};
use muster_proof::{Proof, Receipt as ProofReceipt, canonical};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct Canonical {
    /// Read one document per line; a refused one becomes a line `error: …`
    #[arg(long)]
    lines: bool,
}

impl Canonical {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let (input, output) = (io::stdin().lock(), io::stdout().lock());
        let done = if self.lines { each_line(input, output) } else { one(input, output) };
        match done {
            // The reader closed the pipe because it has enough, and needs no error message.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Failed),
            done => Ok(done?),
        }
    }
}

/// Writes exactly the bytes of the form, or nothing.
fn one(input: impl Read, mut output: impl Write) -> io::Result<Exit> {
    let mut document = Vec::new();
    input.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut document)?;
    match form(&document) {
        Ok(bytes) => {
            output.write_all(&bytes)?;
            output.flush()?;
            Ok(Exit::Fine)
        }
        Err(reason) => {
            eprintln!("refused: {reason}");
            Ok(Exit::Failed)
        }
    }
}

/// Answers line by line. What was asked is answered before more is waited for, so that a program at the other end of two
/// pipes can ask one document at a time.
fn each_line(input: impl Read, output: impl Write) -> io::Result<Exit> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, output);
    let (mut line, mut exit) = (Vec::new(), Exit::Fine);
    while next_line(&mut input, &mut line)? {
        if !is_blank(&line) {
            exit = if answer(&line, &mut output)? { exit } else { Exit::Failed };
        }
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    output.flush()?;
    Ok(exit)
}

/// Says whether the document was taken.
fn answer(line: &[u8], output: &mut impl Write) -> io::Result<bool> {
    let form = form(line);
    match &form {
        Ok(bytes) => output.write_all(bytes)?,
        Err(reason) => write!(output, "error: {reason}")?,
    }
    output.write_all(b"\n")?;
    Ok(form.is_ok())
}

fn form(document: &[u8]) -> Result<Vec<u8>, String> {
    if document.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(format!("the document is longer than {DOCUMENT_BYTES_MAX} bytes"));
    }
    canonical(document).map_err(|refused| refused.to_string())
}

/// Reads the next line without its end. Of one that is too long only so much is kept that it is seen to be.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if input.by_ref().take(DOCUMENT_BYTES_MAX + 1).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > DOCUMENT_BYTES_MAX {
        input.skip_until(b'\n')?;
    }
    Ok(true)
}

fn is_blank(line: &[u8]) -> bool {
    line.len() as u64 <= DOCUMENT_BYTES_MAX && line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// More than any result may have; in memory a document can take fifty times its text.
const DOCUMENT_BYTES_MAX: u64 = 16 << 20;
const BUFFER_BYTES: usize = 64 << 10;

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

fn verify(file: &Path, key: Option<&str>) -> Result<ProofReceipt, String> {
    let text = read_receipt(file)?;
    let receipt = ProofReceipt::parse(&text).map_err(|error| error.to_string())?;
    receipt.check(key).map_err(|fault| fault.to_string())?;
    Ok(receipt)
}

fn read_receipt(file: &Path) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(RECEIPT_BYTES_MAX + 1).read_to_end(&mut text));
    read.map_err(|error| format!("cannot read it: {error}"))?;
    if text.len() as u64 > RECEIPT_BYTES_MAX {
        return Err(format!("longer than {RECEIPT_BYTES_MAX} bytes, so no receipt"));
    }
    Ok(text)
}

fn tell(receipt: &ProofReceipt, is_key_known: bool) {
    let ProofReceipt { assignment_id, job_id, worker_id, public_key, .. } = receipt;
    let hash =
        receipt.output_hash.as_ref().map_or_else(|| "no output_hash".to_owned(), |hash| format!("{hash:?}"));
    let place = match &receipt.proof {
        Proof::Single(_) => String::new(),
        Proof::Batch(batch) => format!(", result {} of {} in a batch", batch.index + 1, batch.count),
    };
    output::line(&format!(
        "verified: {public_key} signed {hash} for assignment {assignment_id} of job {job_id} (worker {worker_id}{place})"
    ));
    if !is_key_known {
        eprintln!("note: the receipt agrees with itself; whose key it is shows only with --key");
    }
}

/// Every field is short; this is many times what a receipt needs.
const RECEIPT_BYTES_MAX: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> (Exit, String) {
        let mut output = Vec::new();
        let exit = each_line(input, &mut output).unwrap();
        (exit, String::from_utf8(output).unwrap())
    }

    /// P10: one line per document, an error in its place, blank lines skipped.
    #[test]
    fn lines_are_answered_in_their_order() {
        let (exit, output) = lines(b"{\"b\":1, \"a\":2}\r\n\n \t\r\n[1e999]\n1E5");
        assert_eq!(
            output,
            "{\"a\":2,\"b\":1}\nerror: the number is beyond a 64-bit float at byte 1\n100000.0\n"
        );
        assert_eq!(exit, Exit::Failed);
        assert_eq!(lines(b"1\n2\n"), (Exit::Fine, "1\n2\n".to_owned()));
        assert_eq!(lines(b""), (Exit::Fine, String::new()));
    }

    /// P10: one document gives exactly its bytes; one that is refused gives none.
    #[test]
    fn one_document_gives_its_bytes() {
        let mut output = Vec::new();
        assert_eq!(one(&b"\n{\"a\" :\n1.0}\n"[..], &mut output).unwrap(), Exit::Fine);
        assert_eq!(output, b"{\"a\":1.0}");
        let mut output = Vec::new();
        for refused in [&b"NaN"[..], b"", b" \n", b"{} {}"] {
            assert_eq!(one(refused, &mut output).unwrap(), Exit::Failed);
        }
        assert_eq!(output, b"");
    }

    /// P10: a line without end does not fill the memory, and the next one is read.
    #[test]
    fn a_line_that_is_too_long_is_refused_in_its_place() {
        let long = io::repeat(b' ').take(DOCUMENT_BYTES_MAX + 5).chain(&b"1\n2\n"[..]);
        let mut output = Vec::new();
        assert_eq!(each_line(long, &mut output).unwrap(), Exit::Failed);
        assert_eq!(
            output,
            format!("error: the document is longer than {DOCUMENT_BYTES_MAX} bytes\n2\n").as_bytes()
        );
    }
}
