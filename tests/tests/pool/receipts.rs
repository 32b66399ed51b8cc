//! Receipts: downloaded, and checked without the server: P17.

use crate::{Pool, hand_in, plain, told};
use muster_tests::{FakePoolWorker, muster_command};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Output};

/// Checks a receipt offline: nothing of the server is told to the command.
pub(crate) fn verify(file: &Path, flags: &[&str]) -> Output {
    let mut command = muster_command();
    command.args(["receipt", "verify"]).arg(file).args(flags);
    command.env("MUSTER_SERVER", "http://127.0.0.1:1").output().unwrap()
}

fn exit(file: &Path, receipt: &Value, flags: &[&str]) -> i32 {
    fs::write(file, receipt.to_string()).unwrap();
    verify(file, flags).status.code().unwrap()
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
    assert_eq!(verify(&file, &[]).status.code(), Some(1));
}
