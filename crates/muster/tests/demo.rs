//! `muster demo` from its first line to its exit code.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::Value;
use std::process::Command;

/// I2, I4: work flows through all five contracts, faults included; one document tells what each did, and 0 that every
/// piece of work ended as it should.
#[test]
fn the_demo_ends_well() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_muster"));
    let demo = demo.args(["demo", "--exit-when-done", "--json"]).output().unwrap();
    let told = String::from_utf8_lossy(&demo.stderr);
    let document: Value = serde_json::from_slice(&demo.stdout).unwrap();
    assert_eq!(demo.status.code(), Some(0), "{document:#}\n{told}");
    assert_eq!(document["ok"], true);
    assert!(told.contains("Dashboard http://127.0.0.1:"), "{told}");
    let rows = document["contracts"].as_array().unwrap();
    let word = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let contracts: Vec<String> = rows.iter().map(|row| word(row, "contract")).collect();
    assert_eq!(contracts, ["nodes", "operations", "simulation", "pool", "court"]);
    let faults: Vec<String> = rows.iter().map(|row| word(row, "faults")).collect();
    for planned in ["agents killed: 1", "runs withdrawn: 1", "workers killed: 1", "banned: 1", "killed: 1"] {
        assert!(faults.iter().any(|faults| faults.contains(planned)), "{planned}: {faults:?}");
    }
}
