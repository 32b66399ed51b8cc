//! `muster canonical` and `muster receipt verify`, as scripts meet them, and receipts that are checked without the server: P10,
//! P17, I4.

use crate::{Pool, hand_in, plain, told};
use muster_tests::{Dice, Ended, FakePoolWorker, muster_command, number_from, output_with, run};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

/// Checks a receipt offline: nothing of the server is told to the command.
pub(crate) fn verify(file: &Path, flags: &[&str]) -> Ended {
    let mut command = muster_command();
    command.args(["receipt", "verify"]).arg(file).args(flags);
    run(command.env("MUSTER_SERVER", "http://127.0.0.1:1"))
}

fn exit(file: &Path, receipt: &Value, flags: &[&str]) -> i32 {
    fs::write(file, receipt.to_string()).unwrap();
    verify(file, flags).code
}

/// P17: a completed result has a receipt that verifies offline; with one thing changed, or another key, it does not.
#[test]
fn a_receipt_verifies_offline() {
    let pool = Pool::start();
    let id = hand_in(&pool.client, &plain(1));
    let unfinished = pool.client.get(&format!("/jobs/{id}/receipt"));
    assert_eq!(told(&unfinished), (404, "Receipt not found".to_owned()));
    let result = pool.worker.work_off(&json!({"ok": true}));
    let receipt = pool.receipt(id);
    for (field, expected) in [
        ("assignment_id", &result["assignment_id"]),
        ("job_id", &json!(id)),
        ("worker_id", &json!(pool.worker.id)),
        ("public_key", &json!(pool.worker.public_key())),
        ("signature", &result["signature"]),
        ("output_hash", &result["output_hash"]),
        ("finished_at", &pool.job(id)["finished_at"]),
    ] {
        assert_eq!(&receipt[field], expected, "{field}");
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("receipt.json");
    let other = FakePoolWorker::registered(pool.worker.owner(), "worker-b").public_key();
    assert_eq!(exit(&file, &receipt, &[]), 0);
    assert_eq!(exit(&file, &receipt, &["--key", &pool.worker.public_key()]), 0);
    assert_eq!(exit(&file, &receipt, &["--key", &other]), 1);
    for field in ["public_key", "signed_bytes", "signature", "output_hash"] {
        let text = receipt[field].as_str().unwrap();
        for at in 0..text.len() {
            let mut changed = receipt.clone();
            let byte = if text.as_bytes()[at] == b'a' { "b" } else { "a" };
            changed[field] = json!(format!("{}{byte}{}", &text[..at], &text[at + 1..]));
            // All of them would take minutes; those at both ends are where encodings have room to play.
            if at < 2 || at + 3 > text.len() || at == text.len() / 2 {
                assert_eq!(exit(&file, &changed, &[]), 1, "{field} at {at}");
            }
        }
    }
    let mut changed = receipt.clone();
    changed["assignment_id"] = json!(receipt["assignment_id"].as_u64().unwrap() + 1);
    assert_eq!(exit(&file, &changed, &[]), 1);
    let mut without = receipt.clone();
    without.as_object_mut().unwrap().remove("signature");
    assert_eq!(exit(&file, &without, &[]), 1);
    fs::write(&file, &receipt.to_string()[1..]).unwrap();
    assert_eq!(verify(&file, &[]).code, 1);
}

/// P10: random documents through the binary equal what python3 makes of them, byte for byte; a line `error: …` stands for
/// each that P10 refuses and for no other. `MUSTER_DOCUMENTS` says how many.
#[test]
fn documents_by_the_line_equal_pythons() {
    let seed = Dice::announced().roll();
    let cases: Vec<Case> = python(seed, documents()).filter_map(|line| Case::on_one_line(&line)).collect();
    let mut child = canonical();
    let mut input = child.stdin.take().unwrap();
    let sent: Vec<u8> =
        cases.iter().flat_map(|case| [&case.document[..], b"\n", case.blank()].concat()).collect();
    let sender = thread::spawn(move || input.write_all(&sent).unwrap());
    let mut answers = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    for case in &cases {
        case.compare(&answers.next().expect("a line for each document").unwrap());
    }
    assert!(answers.next().is_none());
    sender.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "some were refused");
    assert!(cases.len() as u64 > documents() * 9 / 10);
}

/// A document and the canonical form that Python gives it, unless P10 refuses it.
struct Case {
    document: Vec<u8>,
    form: Option<Vec<u8>>,
}

impl Case {
    /// Newlines are white space, and any other will do; only where a document is no JSON could they be something else.
    fn on_one_line(line: &str) -> Option<Self> {
        let (document, verdict) = line.split_once('\t').unwrap();
        let mut document = unhex(document);
        let is_blank = document.iter().all(u8::is_ascii_whitespace);
        if is_blank || (verdict == "-" && document.contains(&b'\n')) {
            return None;
        }
        document.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        Some(Self { document, form: verdict.strip_prefix('=').map(unhex) })
    }

    /// Something that is skipped, after some.
    fn blank(&self) -> &'static [u8] {
        if self.document.len().is_multiple_of(7) { b" \t\r\n\n" } else { b"" }
    }

    fn compare(&self, answer: &[u8]) {
        let (document, answer_text) =
            (String::from_utf8_lossy(&self.document), String::from_utf8_lossy(answer));
        match &self.form {
            Some(form) => assert_eq!(answer_text, String::from_utf8_lossy(form), "{document}"),
            None => assert!(
                answer_text.starts_with("error: ") && answer_text.len() > 10,
                "{answer_text}: {document}"
            ),
        }
    }
}

/// P10, I4: one document gives exactly the bytes of its form, without a newline; a refused one gives nothing on stdout, a
/// reason on stderr and 1.
#[test]
fn one_document_gives_exactly_its_bytes() {
    let vectors = fs::read_to_string(vectors("canonical.jsonl")).unwrap();
    for line in vectors.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let hex = case["input_hex"].as_str().map(unhex);
        let document = hex.unwrap_or_else(|| case["input"].as_str().unwrap().as_bytes().to_vec());
        let output = output_with(muster_command().arg("canonical"), &document);
        let Ended { code, stderr, .. } = Ended::of(&output);
        if let Some(form) = case["canonical"].as_str() {
            assert_eq!((code, &*stderr), (0, ""), "{line}");
            assert_eq!(output.stdout, form.as_bytes(), "{line}");
        } else {
            assert_eq!((code, &*output.stdout), (1, &b""[..]), "{line}");
            assert!(stderr.starts_with("refused: ") && stderr.lines().count() == 1, "{stderr}: {line}");
        }
    }
}

/// P10: a program that asks one document at a time is answered one at a time.
#[test]
fn a_line_is_answered_before_the_next_is_asked() {
    let mut child = canonical();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(output).lines();
    for (document, form) in [("{ }", "{}"), ("[1E2 ]", "[100.0]"), ("\"\\u00e9\"", "\"é\"")] {
        writeln!(input, "{document}").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), form);
    }
    drop(input);
    assert!(answers.next().is_none());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// P17: each receipt of the vectors is verified, or not, and the exit code says so; without a key a note says how little
/// that proves.
#[test]
fn receipts_are_verified_offline() {
    let index: Value = serde_json::from_slice(&fs::read(vectors("receipts/index.json")).unwrap()).unwrap();
    for case in index.as_array().unwrap() {
        let file = vectors("receipts").join(case["file"].as_str().unwrap());
        let key = case["key"].as_str().map(|key| format!("--key={key}"));
        let Ended { code, stdout, stderr } =
            verify(&file, &key.iter().map(String::as_str).collect::<Vec<_>>());
        if case["outcome"] == "verified" {
            assert_eq!(code, 0, "{case} {stderr}");
            assert!(stdout.starts_with("verified: "), "{case} {stdout}");
            assert_eq!(stderr.contains("agrees with itself"), case["key"].is_null(), "{case} {stderr}");
        } else {
            assert_eq!((code, &stdout[..]), (1, ""), "{case} {stderr}");
            assert!(stderr.starts_with("not verified: "), "{case} {stderr}");
        }
    }
}

/// P17, I4: a file that is not there, or has no end, is not verified, and no more.
#[test]
fn a_file_that_cannot_be_read_verifies_nothing() {
    for file in ["/nowhere/receipt.json", "/", "/dev/zero"] {
        verify(Path::new(file), &[]).refused(1, &format!("not verified: {file}: "));
    }
}

fn canonical() -> Child {
    let mut command = muster_command();
    command.args(["canonical", "--lines"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Output of the script for random documents, a line for each.
fn python(seed: u64, count: u64) -> impl Iterator<Item = String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/proof/tests/documents.py");
    let mut command = Command::new("python3");
    command.arg(script).args([seed.to_string(), count.to_string()]).stdin(Stdio::null());
    let output = command.stderr(Stdio::inherit()).output().expect("python3 must be installed");
    assert!(output.status.success());
    let lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
    lines.into_iter()
}

fn documents() -> u64 {
    number_from("MUSTER_DOCUMENTS", 2_000)
}

fn vectors(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/vectors")).join(file)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().as_chunks::<2>().0;
    digits.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
