//! S17, S20b: `muster chunk retire`.

use crate::farm::Farm;
use muster_tests::{SimWorker, until};
use serde_json::{Value, json};

/// S17, S20b: a chunk is retired from the command line with a reason. Its frames go out again with another chunk, and
/// the diagnostics say so.
#[test]
fn a_chunk_is_retired() {
    let farm = Farm::start(&[]);
    let _worker = SimWorker::start(&farm.server, "W1", &["--fps", "1"]);
    let submitted = farm.muster("session submit night --frames 1000 --frames-per-task 1000");
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let live = |farm: &Farm| -> Option<Value> {
        let chunks = farm.document("chunk list --session night --state live");
        chunks["chunks"].as_array().unwrap().first().cloned()
    };
    let chunk = until("a chunk is given out", || live(&farm));
    let id = chunk["chunkId"].as_u64().unwrap();
    assert_eq!(farm.muster(&format!("chunk retire {id}")).code, 2, "a reason is needed");
    assert_eq!(farm.muster("chunk retire 999999 --reason wrong-ids").code, 5);
    let retired = farm.document(&format!("chunk retire {id} --reason wrong-ids"));
    assert_eq!((&retired["chunkId"], &retired["state"]), (&json!(id), &json!("retired")));
    let listed = farm.document("chunk list --session night --state retired");
    assert_eq!(listed["chunks"][0]["chunkId"], id);
    assert!(listed["chunks"][0]["reason"].is_string(), "{listed}");
    let next = until("the frames go out again", || live(&farm));
    assert_eq!(next["taskId"], chunk["taskId"]);
    assert!(next["chunkId"].as_u64().unwrap() > id);
    let kinds = until("it is in the diagnostics", || {
        Some(farm.kinds("night")).filter(|kinds| kinds.iter().any(|kind| kind == "retired"))
    });
    assert!(kinds.iter().any(|kind| kind == "reassigned"), "{kinds:?}");
    let said = farm.muster("session diagnostics night").stdout;
    assert!(said.contains("wrong-ids"), "the reason is missing: {said}");
    assert_eq!(farm.muster("session cancel night").code, 0);
}
