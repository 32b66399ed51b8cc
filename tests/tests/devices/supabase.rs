//! The RPCs with the client they are made for: the real supabase-js, unchanged.

use muster_tests::{FakeNode, Server};
use serde_json::{Value, json};
use std::{path::Path, process::Command};

/// Q14: supabase-js claims, renews, completes, fails and times rows out, and understands every refusal.
#[test]
fn supabase_js_works_unchanged() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 4);
    let params = json!({"greeting": "grüß dich"});
    let run = server.submit(&json!({"workflow_id": "w", "params": params, "max_attempts": 2}));
    let told = work_off(&server);
    let status = |key: &str| {
        let rows = server.rows(&run);
        let row = rows.iter().find(|row| row["id"] == told[key]).unwrap();
        row["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(["completed", "failed", "timedOut"].map(status), ["completed", "failed", "completed"]);
    let words: Vec<String> =
        server.history(told["timedOut"].as_str().unwrap()).into_iter().map(|(_, word)| word).collect();
    let expected = ["CREATED", "SENT", "ACKED", "TIMEOUT", "RETRY_SCHEDULED", "SENT", "ACKED", "SUCCEEDED"];
    assert_eq!(words, expected);
}

fn work_off(server: &Server) -> Value {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("node");
    assert!(
        directory.join("node_modules/@supabase/supabase-js").is_dir(),
        "supabase-js is not installed: run `npm --prefix tests/node ci`"
    );
    let output = Command::new("node")
        .arg("claims.mjs")
        .current_dir(directory)
        .env("MUSTER_URL", server.anonymous().url())
        .env("MUSTER_NODE_SECRET", server.node_secret())
        .output()
        .unwrap_or_else(|error| panic!("node cannot be run ({error}): install Node.js 18 or later"));
    let (out, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{words}");
    serde_json::from_str(out.trim()).unwrap()
}
