//! A client that shares no code with us: Python and its `cryptography` package. P1, P3 to P9, P13, P15, P17.

use muster_tests::{Server, password_of, venv};
use std::{path::Path, process::Command};

/// P1, P3, P4, P5, P6, P7, P8, P9, P13, P15, P17: a plain Python client logs in, registers, polls, signs what `json.dumps`
/// makes, submits and checks the answers, with padding and without; workers of two owners agree on a redundant job.
#[test]
fn a_plain_python_client_takes_part() {
    let server = Server::start();
    server.add_user("carl", &["CLIENT"]);
    server.add_user("olga", &["WORKER_OWNER"]);
    server.add_user("otto", &["WORKER_OWNER"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/pool_client.py");
    let output = Command::new(venv().join("bin/python"))
        .arg(script)
        .env("POOL_URL", server.anonymous().url())
        .env("POOL_CLIENT", format!("carl {}", password_of("carl")))
        .env("POOL_OWNER", format!("olga {}", password_of("olga")))
        .env("POOL_SECOND_OWNER", format!("otto {}", password_of("otto")))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{told}");
    assert!(said.trim_end().ends_with("jobs, all as they should be"), "{said}");
    let jobs = server.admin().get("/jobs?status=completed").expect(200);
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 13);
}
