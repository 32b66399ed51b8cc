//! P10 beside python3: the same documents, the same bytes, and nothing refused but what is listed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use muster_proof::{Reason, canonical};
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

/// P10: random documents come out byte for byte as Python writes them, and what P10 refuses beyond Python is refused for a
/// reason that is there. `MUSTER_DOCUMENTS` says how many, `MUSTER_SEED` which.
#[test]
fn random_documents_come_out_as_python_writes_them() {
    let (seed, count) = (setting("MUSTER_SEED", 1), setting("MUSTER_DOCUMENTS", 4_000));
    println!("repeat with MUSTER_SEED={seed} MUSTER_DOCUMENTS={count}");
    let mut python = Command::new("python3");
    python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documents.py"));
    python.args([seed.to_string(), count.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut python = python.spawn().expect("python3 must be installed");
    let mut tally = Tally::default();
    for line in BufReader::new(python.stdout.take().unwrap()).lines() {
        tally.compare(&line.unwrap());
    }
    assert!(python.wait().unwrap().success());
    assert_eq!(tally.taken + tally.refused + tally.no_json, count);
    assert!(tally.taken > count / 2 && tally.refused > count / 50 && tally.no_json > count / 50, "{tally:?}");
}

#[derive(Debug, Default)]
struct Tally {
    taken: u64,
    refused: u64,
    no_json: u64,
}

impl Tally {
    fn compare(&mut self, line: &str) {
        let (document, verdict) = line.split_once('\t').unwrap();
        let document = unhex(document);
        let ours = canonical(&document);
        let shown = String::from_utf8_lossy(&document);
        match (&ours, verdict.split_at(1)) {
            (Ok(form), ("=", theirs)) => {
                self.taken += 1;
                assert_eq!(String::from_utf8_lossy(form), String::from_utf8_lossy(&unhex(theirs)), "{shown}");
                assert_eq!(canonical(form).as_ref(), Ok(form), "the form of a form is itself: {shown}");
            }
            (Err(refused), ("!", reasons)) => {
                self.refused += 1;
                let ours = name(&refused.reason).unwrap_or_else(|| panic!("{refused}: {shown}"));
                assert!(reasons.split(',').any(|reason| reason == ours), "{refused}, not {reasons}: {shown}");
                assert!(refused.at <= document.len(), "{refused}: {shown}");
            }
            (Err(refused), ("-", _)) => {
                self.no_json += 1;
                assert!(refused.at <= document.len(), "{refused}: {shown}");
            }
            _ => panic!("python: {verdict}, here: {ours:?}: {shown}"),
        }
    }
}

/// The reasons that are not Python's.
fn name(reason: &Reason) -> Option<&'static str> {
    match reason {
        Reason::NotANumber(_) => Some("NotANumber"),
        Reason::BeyondFloat => Some("BeyondFloat"),
        Reason::LoneSurrogate(_) => Some("LoneSurrogate"),
        Reason::TooDeep => Some("TooDeep"),
        Reason::DuplicateKey(_) => Some("DuplicateKey"),
        Reason::End
        | Reason::Unexpected(_)
        | Reason::Trailing(_)
        | Reason::NotUtf8
        | Reason::ByteOrderMark
        | Reason::ControlCharacter(_)
        | Reason::Escape(_)
        | Reason::UnicodeEscape
        | Reason::IntegerTooLong(_) => None,
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().as_chunks::<2>().0;
    digits.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
