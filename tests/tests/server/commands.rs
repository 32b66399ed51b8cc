//! Client commands: I4, I5.

use muster_tests::{FakeNode, Server, muster_command, run};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt};

/// I4: `--json` prints one document and nothing else, for every listing.
#[test]
fn json_is_one_document() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let submitted = server.muster(&["run", "submit", "--workflow", "w", "--json"]);
    let run = submitted.json();
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
        let output = server.muster(&[&arguments[..], &["--json"]].concat());
        assert_eq!(output.code, 0, "{arguments:?} {output:?}");
        assert!(output.stderr.is_empty(), "{arguments:?} {output:?}");
        let document = output.json();
        assert!(document.get(key).is_some(), "{arguments:?} {document}");
    }
}

/// I4, Q6: whoever mistypes a node hears of it at once, on standard error; the document is as ever.
#[test]
fn a_typo_in_a_scope_is_told() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    for flags in [&[][..], &["--json"]] {
        let arguments = [&["run", "submit", "--workflow", "w", "--pcs", "PC-O1"], flags].concat();
        let output = server.muster(&arguments);
        assert_eq!(output.code, 0);
        let (told, words) = (output.stdout, output.stderr);
        assert!(words.starts_with("warning: no node is called PC-O1; did you mean PC-01?\n"), "{words}");
        assert!(words.contains("holds its queue for 120 s") && !told.contains("warning"), "{words}{told}");
    }
    let right = server.muster(&["run", "submit", "--workflow", "w", "--pcs", "PC-01"]);
    assert!(right.code == 0 && right.stderr.is_empty(), "{right:?}");
}

/// I4, Q17: schedules are made, listed, shown and deleted on the command line.
#[test]
fn schedules_come_and_go() {
    let server = Server::start();
    let add = ["schedule", "add", "--cron", "0 6 * * MON", "--timezone", "Asia/Seoul", "--workflow", "w"];
    let made = server.muster(&[&add[..], &["--missed", "once", "--json"]].concat());
    let made = made.json();
    let id = made["schedule_id"].as_str().unwrap();
    let document = |arguments: &[&str]| server.muster(arguments).json();
    let shown = document(&["schedule", "show", id, "--json"]);
    assert_eq!([&shown["missed"], &shown["run"]["workflow_id"]], ["once", "w"]);
    assert_eq!(document(&["schedule", "list", "--json"]), json!({"schedules": [shown]}));
    let wrong = |flag: &str| server.muster(&["schedule", "add", "--cron", flag, "--workflow", "w"]).code;
    assert_eq!([wrong("61 * * * *"), server.muster(&["schedule", "add", "--workflow", "w"]).code], [2, 2]);
    assert_eq!([(); 2].map(|()| server.muster(&["schedule", "delete", id]).code), [0, 5]);
    assert_eq!(server.muster(&["schedule", "show", id]).code, 5);
}

/// I4: in a pipe there is neither colour nor progress.
#[test]
fn a_pipe_gets_plain_text() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 2);
    for arguments in [["device", "list"], ["node", "list"], ["run", "list"]] {
        let output = server.muster(&arguments);
        assert_eq!(output.code, 0);
        assert!(!output.stdout.contains('\u{1b}') && !output.stderr.contains('\u{1b}'), "{output:?}");
    }
    let text = server.muster(&["device", "list"]).stdout;
    assert!(text.contains("PC-01-d1") && text.contains("ONLINE"), "{text}");
}

/// I4: 0 fine, 1 the work failed, 2 usage, 3 unreachable, 4 refused, 5 not found; words go to stderr.
#[test]
fn every_exit_code_has_its_cause() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}, "max_attempts": 1}));
    node.fail(&node.job());
    assert_eq!(server.muster(&["run", "show", &run]).code, 0);
    assert_eq!(server.muster(&["run", "watch", &run]).code, 1);
    assert_eq!(server.muster(&["run", "submit"]).code, 2);
    assert_eq!(server.muster(&["run", "submit", "--workflow", "w", "--params", "{"]).code, 2);
    assert_eq!(server.muster(&["dance"]).code, 2);
    assert_eq!(server.muster(&["run", "list", "--server", "http://127.0.0.1:1"]).code, 3);
    assert_eq!(server.muster(&["run", "cancel", &run]).code, 4);
    assert_eq!(server.muster(&["run", "show", "nothing"]).code, 5);
    assert_eq!(server.muster(&["device", "return", "nobody"]).code, 5);
    assert_eq!(server.muster(&["device", "return", "PC-01-d1", "--note", "new cable"]).code, 0);
    assert_eq!(server.muster(&["explain", "run", "nothing"]).code, 5);
    let again = server.submit(&json!({"workflow_id": "w", "params": {}}));
    node.succeed(&node.job());
    assert_eq!(server.muster(&["run", "watch", &again]).code, 0);
    assert_eq!(server.muster(&["run", "watch", &again, "--allow-failures", "many"]).code, 2);
    let wrong =
        muster_tests::run(server.client_command(&["run", "list"]).env("MUSTER_TOKEN", "wrong-wrong-wrong"));
    assert_eq!(wrong.code, 4);
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
    let list = server.muster(&["run", "list"]);
    assert!(list.stdout.contains("partial"), "{list:?}");
    let watch = server.muster(&["run", "watch", &run]);
    assert_eq!(watch.code, 1);
    assert!(watch.stderr.contains("3 of 4 devices completed"), "{watch:?}");
    for (allowed, expected) in [("1", 0), ("25%", 0), ("0", 1), ("24.9%", 1)] {
        let code = server.muster(&["run", "watch", &run, "--allow-failures", allowed]).code;
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
        run(command.envs(variables.iter().copied())).code
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
