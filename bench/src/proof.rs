//! Signatures and canonical forms, beside the bare arithmetic and beside Python.

use crate::stopwatch::{busy, percentile};
use muster_proof::{KeyPair, PublicKey, Signature, canonical, decode_signature, sha256_hex, signed_bytes};
use std::{fs, hint::black_box, path::Path, process::Command, time::Duration};

const WORKERS: u8 = 64;
const SUBMISSIONS: u64 = 4_096;
const TURNS: usize = 15;
const PASSES: usize = 5;
/// Enough text of each kind for a pass to take a while.
const TEXT_BYTES: usize = 4 << 20;

pub(crate) fn measure() {
    verification();
    forms();
}

/// All that a signature costs beside what Ed25519 alone does.
fn verification() {
    println!(
        "proof: {SUBMISSIONS} submissions of {WORKERS} workers; per core, medians of {TURNS} turns; beside ed25519-dalek's verify_strict on bytes, keys and signatures that are ready"
    );
    let submissions: Vec<Submission> = (1..=SUBMISSIONS).map(Submission::new).collect();
    let mut turns = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        let ways: [fn(&Submission) -> bool; 3] =
            [Submission::bare, Submission::check, Submission::check_anew];
        for (turn, way) in turns.iter_mut().zip(ways) {
            turn.push(busy(|| assert!(submissions.iter().all(|one| black_box(way(one))), "all are valid")).0);
        }
    }
    let bare = rate(&mut turns[0]);
    println!("  bare verify_strict                                  {bare:>9.0}/s");
    for (turn, name) in turns[1..].iter_mut().zip([
        "signature decoded, bytes built, verified            ",
        "the same, and the public key decoded every time     ",
    ]) {
        let rate = rate(turn);
        println!("  {name}{rate:>9.0}/s, ratio {:.3}", rate / bare);
    }
}

fn rate(turns: &mut [Duration]) -> f64 {
    SUBMISSIONS as f64 / percentile(turns, 50).as_secs_f64()
}

/// A worker's message, and the same prepared for the bare arithmetic.
struct Submission {
    assignment_id: u64,
    nonce: String,
    output_hash: String,
    signature: String,
    key_text: String,
    key: PublicKey,
    bare: (Vec<u8>, ed25519_dalek::VerifyingKey, ed25519_dalek::Signature),
}

impl Submission {
    fn new(number: u64) -> Self {
        let pair = KeyPair::from_seed(&[u8::try_from(number % u64::from(WORKERS)).expect("it is small"); 32]);
        let (assignment_id, output_hash) = (number * 64 + 1, sha256_hex(&number.to_le_bytes()));
        let nonce = output_hash.chars().rev().take(32).collect::<String>();
        let bytes = signed_bytes(assignment_id, &nonce, Some(&output_hash));
        let signature: Signature = pair.sign(&bytes);
        let key = pair.public_key();
        let bare_key =
            ed25519_dalek::VerifyingKey::from_bytes(key.bytes()).expect("a key that was just made");
        let bare_signature = muster_proof::decode_base64url(&signature.to_text()).expect("just encoded");
        let bare_signature = ed25519_dalek::Signature::from_slice(&bare_signature).expect("64 bytes");
        let bare = (bytes, bare_key, bare_signature);
        let (signature, key_text) = (signature.to_text(), key.to_text());
        Self { assignment_id, nonce, output_hash, signature, key_text, key, bare }
    }

    fn bare(&self) -> bool {
        let (bytes, key, signature) = &self.bare;
        key.verify_strict(bytes, signature).is_ok()
    }

    fn check(&self) -> bool {
        self.check_with(&self.key)
    }

    fn check_anew(&self) -> bool {
        self.check_with(&PublicKey::decode(&self.key_text).expect("a key"))
    }

    fn check_with(&self, key: &PublicKey) -> bool {
        let signature = decode_signature(&self.signature).expect("a signature");
        key.verify(&signed_bytes(self.assignment_id, &self.nonce, Some(&self.output_hash)), &signature)
    }
}

/// The canonical form of documents of several kinds.
fn forms() {
    println!(
        "  canonical JSON: one core, best of {PASSES}, beside json.loads and json.dumps of python3 on the same documents"
    );
    println!(
        "  {:>28} {:>10} {:>10} {:>14} {:>13}",
        "documents", "bytes each", "MB/s", "python3 MB/s", "this/python3"
    );
    let small: Vec<String> = (0..).map(|number| result(number, 2)).take(TEXT_BYTES / 250).collect();
    let large: Vec<String> = (0..).map(|number| result(number, 100)).take(TEXT_BYTES / 10_000).collect();
    for (name, documents) in
        [("small results", small), ("large results", large), ("random, as in the tests", random())]
    {
        compare(name, &documents);
    }
}

/// A typical result: text, numbers, a list of small objects.
fn result(number: u64, items: u64) -> String {
    let item = |item: u64| {
        let (score, text) =
            ((number * 31 + item * 7919) % 1_000_003, "a finding, described in a few plain words");
        format!(
            r#"{{"id": {}, "score": {}, "label": "{text} \u00e9", "ok": true}}"#,
            number * 1000 + item,
            score as f64 / 1e6
        )
    };
    let items: Vec<String> = (0..items).map(item).collect();
    format!(r#"{{"ok": true, "model": "m-{number}", "items": [{}], "seconds": 1.25}}"#, items.join(", "))
}

/// The documents of the differential test that have a form.
fn random() -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/proof/tests/documents.py");
    let output = Command::new("python3").args([script, "1", "6000"]).output().expect("python3 is there");
    let lines = String::from_utf8(output.stdout).expect("hexadecimal digits");
    let taken = lines.lines().filter_map(|line| line.split_once("\t=")).map(|(document, _)| unhex(document));
    taken.map(|document| document.replace(['\n', '\r'], " ")).collect()
}

fn unhex(text: &str) -> String {
    let digits = text.as_bytes().as_chunks::<2>().0.iter().filter_map(|pair| str::from_utf8(pair).ok());
    let bytes = digits.map(|pair| u8::from_str_radix(pair, 16).expect("two digits")).collect();
    String::from_utf8(bytes).expect("a document is text")
}

fn compare(name: &str, documents: &[String]) {
    let form = |document: &String| canonical(document.as_bytes()).expect("a document that has a form");
    let pass = || busy(|| documents.iter().for_each(|document| drop(black_box(form(document))))).0;
    let ours = (0..PASSES).map(|_| pass()).min().unwrap_or_default();
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("documents");
    fs::write(&file, documents.join("\n")).expect("a file");
    let (theirs, hash) = python(&file);
    let forms: Vec<Vec<u8>> = documents.iter().map(form).collect();
    assert_eq!(sha256_hex(&forms.join(&b'\n')), hash, "two forms are compared only if they are the same");
    let bytes: usize = documents.iter().map(String::len).sum();
    println!(
        "  {name:>28} {:>10} {:>10.1} {:>14.1} {:>13.1}",
        bytes / documents.len(),
        bytes as f64 / 1e6 / ours.as_secs_f64(),
        bytes as f64 / 1e6 / theirs,
        theirs / ours.as_secs_f64()
    );
}

/// Seconds, and the hash of what came out.
fn python(file: &Path) -> (f64, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/proof_reference.py");
    let output = Command::new("python3").arg(script).arg(file).arg(PASSES.to_string()).output();
    let text = String::from_utf8(output.expect("python3 is there").stdout).expect("two words");
    let (seconds, hash) = text.trim().split_once(' ').expect("two words");
    (seconds.parse().expect("seconds"), hash.to_owned())
}
