//! Client commands: I4, I5.

use muster_tests::{FakeNode, Server, muster_command};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, process::Output};

fn muster(server: &Server, arguments: &[&str]) -> Output {
    server.client_command(arguments).output().unwrap()
}

fn exit(server: &Server, arguments: &[&str]) -> i32 {
    muster(server, arguments).status.code().unwrap()
}

/// I4: `--json` prints one document and nothing else, for every listing.
#[test]
fn json_is_one_document() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let submitted = muster(&server, &["run", "submit", "--workflow", "w", "--json"]);
    assert_eq!(submitted.status.code(), Some(0));
    let run: Value = serde_json::from_slice(&submitted.stdout).unwrap();
    let id = run["run_id"].as_str().unwrap();
    let job = node.job();
    let task = job["task_id"].as_str().unwrap();
    for (arguments, key) in [
        (vec!["run", "list"], "runs"),
        (vec!["run", "show", id], "counts"),
        (vec!["device", "list"], "devices"),
        (vec!["node", "list"], "pcs"),
        (vec!["alerts"], "alerts"),
        (vec!["explain", "run", id], "sentence"),
        (vec!["explain", "task_device", task], "code"),
        (vec!["node", "drain", "PC-01"], "draining"),
        (vec!["node", "resume", "PC-01"], "draining"),
        (vec!["config"], "nodes.lease_s"),
        (vec!["run", "cancel", id], "status"),
    ] {
        let output = muster(&server, &[&arguments[..], &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?} {output:?}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(document.get(key).is_some(), "{arguments:?} {document}");
        assert!(output.stderr.is_empty(), "{arguments:?} {output:?}");
    }
}

/// I4, Q6: whoever mistypes a node hears of it at once, on standard error; the document is as ever.
#[test]
fn a_typo_in_a_scope_is_told() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    for flags in [&[][..], &["--json"]] {
        let arguments = [&["run", "submit", "--workflow", "w", "--pcs", "PC-O1"], flags].concat();
        let output = muster(&server, &arguments);
        assert_eq!(output.status.code(), Some(0));
        let (told, words) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(words.starts_with("warning: no node is called PC-O1; did you mean PC-01?\n"), "{words}");
        assert!(words.contains("holds its queue for 120 s") && !told.contains("warning"), "{words}{told}");
    }
    let right = muster(&server, &["run", "submit", "--workflow", "w", "--pcs", "PC-01"]);
    assert!(right.status.success() && right.stderr.is_empty(), "{right:?}");
}

/// I4, Q17: schedules are made, listed, shown and deleted on the command line.
#[test]
fn schedules_come_and_go() {
    let server = Server::start();
    let add = ["schedule", "add", "--cron", "0 6 * * MON", "--timezone", "Asia/Seoul", "--workflow", "w"];
    let made = muster(&server, &[&add[..], &["--missed", "once", "--json"]].concat());
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let id = made["schedule_id"].as_str().unwrap();
    let document =
        |arguments: &[&str]| -> Value { serde_json::from_slice(&muster(&server, arguments).stdout).unwrap() };
    let shown = document(&["schedule", "show", id, "--json"]);
    assert_eq!([&shown["missed"], &shown["run"]["workflow_id"]], ["once", "w"]);
    assert_eq!(document(&["schedule", "list", "--json"]), json!({"schedules": [shown]}));
    let wrong = |flag: &str| exit(&server, &["schedule", "add", "--cron", flag, "--workflow", "w"]);
    assert_eq!([wrong("61 * * * *"), exit(&server, &["schedule", "add", "--workflow", "w"])], [2, 2]);
    assert_eq!([(); 2].map(|()| exit(&server, &["schedule", "delete", id])), [0, 5]);
    assert_eq!(exit(&server, &["schedule", "show", id]), 5);
}

/// I4: in a pipe there is neither colour nor progress.
#[test]
fn a_pipe_gets_plain_text() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 2);
    for arguments in [["device", "list"], ["node", "list"], ["run", "list"]] {
        let output = muster(&server, &arguments);
        assert_eq!(output.status.code(), Some(0));
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{output:?}");
    }
    let text = String::from_utf8(muster(&server, &["device", "list"]).stdout).unwrap();
    assert!(text.contains("PC-01-d1") && text.contains("ONLINE"), "{text}");
}

/// I4: 0 fine, 1 the work failed, 2 usage, 3 unreachable, 4 refused, 5 not found; words go to stderr.
#[test]
fn every_exit_code_has_its_cause() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}, "max_attempts": 1}));
    node.fail(&node.job());
    assert_eq!(exit(&server, &["run", "show", &run]), 0);
    assert_eq!(exit(&server, &["run", "watch", &run]), 1);
    assert_eq!(exit(&server, &["run", "submit"]), 2);
    assert_eq!(exit(&server, &["run", "submit", "--workflow", "w", "--params", "{"]), 2);
    assert_eq!(exit(&server, &["dance"]), 2);
    assert_eq!(exit(&server, &["run", "list", "--server", "http://127.0.0.1:1"]), 3);
    assert_eq!(exit(&server, &["run", "cancel", &run]), 4);
    assert_eq!(exit(&server, &["run", "show", "nothing"]), 5);
    assert_eq!(exit(&server, &["device", "return", "nobody"]), 5);
    assert_eq!(exit(&server, &["device", "return", "PC-01-d1", "--note", "new cable"]), 0);
    assert_eq!(exit(&server, &["explain", "run", "nothing"]), 5);
    let again = server.submit(&json!({"workflow_id": "w", "params": {}}));
    node.succeed(&node.job());
    assert_eq!(exit(&server, &["run", "watch", &again]), 0);
    assert_eq!(exit(&server, &["run", "watch", &again, "--allow-failures", "many"]), 2);
    let wrong = muster_command()
        .args(["run", "list", "--server", &server.anonymous().url()])
        .env("MUSTER_TOKEN", "wrong-wrong-wrong")
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(4));
    assert!(wrong.stdout.is_empty() && !wrong.stderr.is_empty());
}

/// Q7b: a run that left a device out is `partial` and exits with 1, unless so much was allowed; lists say so.
#[test]
fn a_partial_run_is_no_success() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 4);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}, "max_attempts": 1}));
    let jobs = node.jobs(4);
    node.fail(&jobs[0]);
    jobs[1..].iter().for_each(|job| node.succeed(job));
    let shown = server.run(&run);
    assert_eq!((&shown["status"], &shown["outcome"]), (&json!("success"), &json!("partial")));
    let listed = server.admin().get("/api/runs").expect(200);
    assert_eq!(listed["runs"][0]["outcome"], "partial");
    assert_eq!(server.database().column("SELECT outcome FROM tasks"), ["partial"]);
    let list = muster(&server, &["run", "list"]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("partial"), "{list:?}");
    let watch = muster(&server, &["run", "watch", &run]);
    assert_eq!(watch.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&watch.stderr).contains("3 of 4 devices completed"), "{watch:?}");
    for (allowed, expected) in [("1", 0), ("25%", 0), ("0", 1), ("24.9%", 1)] {
        let code = exit(&server, &["run", "watch", &run, "--allow-failures", allowed]);
        assert_eq!(code, expected, "{allowed}");
    }
}

/// I5: the server by flag, then `MUSTER_SERVER`; the token by `MUSTER_TOKEN`, then the login's file, if only its owner can read it.
#[test]
fn server_and_token_are_found_in_order() {
    let server = Server::start();
    let home = tempfile::tempdir().unwrap();
    let url = server.anonymous().url();
    let list = |variables: &[(&str, &str)], flags: &[&str]| {
        let mut command = muster_command();
        command
            .args(["run", "list", "--json"])
            .args(flags)
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME");
        command.envs(variables.iter().copied()).output().unwrap().status.code().unwrap()
    };
    let token = server.admin_token();
    let nowhere = "http://127.0.0.1:1";
    assert_eq!(list(&[("MUSTER_SERVER", nowhere), ("MUSTER_TOKEN", &token)], &["--server", &url]), 0);
    assert_eq!(list(&[("MUSTER_SERVER", &url), ("MUSTER_TOKEN", &token)], &[]), 0);
    assert_eq!(list(&[("MUSTER_SERVER", &url), ("MUSTER_TOKEN", &token)], &["--server", nowhere]), 3);
    assert_eq!(list(&[("MUSTER_SERVER", &url)], &[]), 4, "no token");
    let file = home.path().join(".config/muster/token");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, &token).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(list(&[("MUSTER_SERVER", &url)], &[]), 4, "others can read it");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(list(&[("MUSTER_SERVER", &url)], &[]), 0);
    assert_eq!(
        list(&[("MUSTER_SERVER", &url), ("MUSTER_TOKEN", "wrong-wrong-wrong")], &[]),
        4,
        "MUSTER_TOKEN first"
    );
}
