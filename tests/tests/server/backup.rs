//! Backup, restore and migration by commands: copies and exit codes.

use muster_pg_harness::Cluster;
use muster_tests::{FakeNode, Server, muster_command, run, wait_until};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

/// Work of every kind on a server, some of it over, some on its way.
fn work(server: &Server) -> String {
    let admin = server.admin();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let run = json!({"workflow_id": "hello", "title": "a \u{f8ff}0 b", "scope": {"pcs": ["PC-01"]}});
    let run = admin.post("/api/runs", &run).expect(201)["run_id"].as_str().unwrap().to_owned();
    assert_eq!(node.jobs(2).len(), 2);
    let session = json!({"sessionId": "night", "totalFrames": 100, "framesPerTask": 10});
    let _ = admin.post("/api/v1/sessions", &session).expect(201);
    let user = json!({"username": "carol", "password": "a-good-password", "roles": ["CLIENT"]});
    let _ = admin.post("/users", &user).expect(201);
    run
}

/// Responses that show the server's content to people.
fn seen(server: &Server, run: &str) -> Vec<Value> {
    let pages = [
        format!("/api/runs/{run}"),
        format!("/api/runs/{run}/task_devices"),
        "/api/v1/sessions/night".to_owned(),
        "/users".to_owned(),
        "/audit".to_owned(),
    ];
    pages.iter().map(|page| server.admin().get(page).expect(200)).collect()
}

fn muster(line: &[&str]) -> Command {
    let mut command = muster_command();
    command.args(line);
    command
}

fn backup(file: &Path, [flag, place]: [&str; 2]) -> Command {
    muster(&["backup", file.to_str().unwrap(), flag, place, "--json"])
}

fn restore(file: &Path, [flag, place]: [&str; 2]) -> Command {
    muster(&["restore", file.to_str().unwrap(), flag, place, "--json"])
}

fn migrate(data: &Path, url: &str) -> Command {
    muster(&["migrate", "--data", data.to_str().unwrap(), "--to", url, "--json"])
}

fn secret(url: &str) -> Command {
    muster(&["secret", "show", "admin", "--store", url])
}

fn serve(url: &str, data: &Path) -> Command {
    muster(&["serve", "--listen", "127.0.0.1:0", "--store", url, "--data", data.to_str().unwrap()])
}

fn wait_for(child: &mut Child, words: &str) {
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    let told = lines.by_ref().map(Result::unwrap).find(|line| line.contains(words));
    assert!(told.is_some(), "it ended before it said {words:?}");
}

/// A backup of a running server, restored into a database or a directory, is that server: its work, its users, its
/// secrets (I6), whatever secrets were there before; and its epochs are new to every worker (S18).
#[test]
fn a_backup_brings_a_server_back() {
    let mut server = Server::start();
    let submitted = work(&server);
    let (place, data) = (tempfile::tempdir().unwrap(), server.data());
    let (first, second) = (place.path().join("first.backup"), place.path().join("second.backup"));
    let embedded = ["--data", data.to_str().unwrap()];
    let told = run(&mut backup(&first, embedded)).json();
    assert!(told["rows"].as_u64() > Some(10), "{told}");
    run(&mut backup(&first, embedded)).refused(4, "is there already");
    run(&mut restore(&first, embedded)).refused(1, "in use");
    let (before, token) = (seen(&server, &submitted), server.admin_token());
    let _ = server.terminate();
    run(&mut restore(&first, embedded)).refused(4, "not empty");

    let url = Cluster::shared().fresh_database();
    let told = run(&mut restore(&first, ["--store", &url])).json();
    assert_eq!((&told["verified"], &told["secrets"]), (&json!(true), &json!(5)));
    run(&mut restore(&first, ["--store", &url])).refused(4, "not empty");
    let _ = run(&mut backup(&second, ["--store", &url])).json();

    std::fs::remove_dir_all(&data).unwrap();
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("admin-token"), "what-somebody-else-made").unwrap();
    let told = run(&mut restore(&second, embedded)).json();
    server.restart();
    assert_eq!(server.admin_token(), token, "tokens go with the tables that know them");
    let epoch = server.anonymous().get("/healthz").epoch();
    assert_eq!(epoch, told["epoch"].as_u64().map(|epoch| epoch + 1));
    assert!(epoch > Some(1_000_000), "no worker has seen that many: {epoch:?}");
    assert_eq!(seen(&server, &submitted), before);
}

/// A server at work moves to a database: what it took while it was being copied is there, too, and it goes on with the
/// same secrets; the old directory is not served again by mistake.
#[test]
fn a_server_moves_to_a_database() {
    let mut server = Server::start();
    let submitted = work(&server);
    let (url, data) = (Cluster::shared().fresh_database(), server.data());
    let mut moving = migrate(&data, &url).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&mut moving, "stop the server now");
    // Taken after the first copy was made.
    let late = json!({"workflow_id": "late", "scope": {"pcs": ["PC-01"]}});
    let late = server.admin().post("/api/runs", &late).expect(201)["run_id"].clone();
    let (before, token) = (seen(&server, &submitted), server.admin_token());
    let _ = server.terminate();
    let moved = moving.wait_with_output().unwrap();
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    let told: Value = serde_json::from_slice(&moved.stdout).unwrap();
    assert_eq!(told["verified"], true);
    assert!(
        told["copied_in_the_pause"].as_u64() > Some(0) && told["copied_while_serving"].as_u64() > Some(0)
    );

    run(muster_command().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data))
        .refused(1, "were moved to");
    run(&mut migrate(&data, &url)).refused(1, "were moved to");
    server.set("MUSTER_SERVER__STORE", &url);
    server.restart();
    let admin = server.anonymous().with_token(&token);
    let _ = admin.get(&format!("/api/runs/{}", late.as_str().unwrap())).expect(200);
    assert_eq!(seen(&server, &submitted), before);
    let other = Server::start();
    run(&mut migrate(&other.data(), &url)).refused(4, "has served from that database");
}

/// I4: 2, what was not understood; no password is repeated (I6).
#[test]
fn what_is_not_understood_ends_with_2() {
    let place = tempfile::tempdir().unwrap();
    let (file, nowhere) = (place.path().join("x"), place.path().join("no/such/file"));
    let form = "postgres://USER@HOST/DATABASE";
    run(&mut muster(&["serve", "--store", "host=h password=hunter2"])).refused(2, form);
    run(&mut muster(&["secret", "show", "admin", "--store", "postgres//u:hunter2@h"])).refused(2, form);
    run(&mut backup(&file, ["--store", "memory"])).refused(2, "the store is memory");
    run(&mut backup(&nowhere, ["--data", Server::start().data().to_str().unwrap()]))
        .refused(2, "cannot write");
    run(&mut restore(&nowhere, ["--store", "sqlite"])).refused(2, "cannot read");
    run(&mut muster(&["migrate"])).refused(2, "--to must name the database to move to: postgres://USER@HOST");
    let wrong = migrate(place.path(), "mysql://u:hunter2@h/db").output().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.status.code() == Some(2) && said.contains(form) && !said.contains("hunter2"), "{said}");
}

/// I4: 5, there is nothing; and nothing was made by looking.
#[test]
fn what_is_not_there_ends_with_5() {
    let (url, place) = (Cluster::shared().fresh_database(), tempfile::tempdir().unwrap());
    let empty = place.path().join("empty");
    let data = ["--data", empty.to_str().unwrap()];
    let file = place.path().join("a.backup");
    run(&mut backup(&file, data)).refused(5, "there is no muster.db");
    run(&mut backup(&file, ["--store", &url])).refused(5, "is it the right database?");
    run(&mut migrate(&empty, &url)).refused(5, "there is no muster.db");
    run(&mut muster(&["secret", "show", "admin", "--data", data[1]]))
        .refused(5, "start `muster serve` there once");
    run(&mut secret(&url)).refused(5, "is it the right database?");
    assert_eq!(Cluster::shared().sql(&url, "SELECT to_regnamespace('muster') IS NULL"), "t");
    assert!(!file.exists() && !empty.exists());
}

/// I4: 1, the work failed: what is no backup, a store in use, a database that is not there.
#[test]
fn what_fails_ends_with_1() {
    let (url, place) = (Cluster::shared().fresh_database(), tempfile::tempdir().unwrap());
    let server = Server::start();
    let (file, data) = (place.path().join("a.backup"), server.data());
    fs::write(&file, "{\"muster\": 1}\n").unwrap();
    run(&mut restore(&file, ["--store", &url])).refused(1, "line 1 of the backup: it is no muster backup");
    fs::write(&file, [0x28, 0xb5, 0x2f, 0xfd, 0xff]).unwrap();
    run(&mut restore(&file, ["--store", &url])).refused(1, "unpack it");
    assert_eq!(Cluster::shared().sql(&url, "SELECT to_regnamespace('muster') IS NULL"), "t");
    run(muster(&["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data)).refused(1, "in use");
    let absent = format!("{url}_absent");
    run(&mut backup(&place.path().join("b"), ["--store", &absent])).refused(1, "createdb");
    run(&mut muster(&["secret", "show", "node", "--store", &absent])).refused(1, "createdb");
    run(&mut migrate(&data, &absent)).refused(1, "createdb");
    run(&mut serve(&absent, place.path())).refused(1, "createdb");
}

/// I4: a backup on standard output is a backup and nothing else; what is told of it goes to standard error.
#[test]
fn a_backup_in_a_pipe_is_nothing_else() {
    let (server, place) = (Server::start(), tempfile::tempdir().unwrap());
    let written = backup(Path::new("-"), ["--data", server.data().to_str().unwrap()]).output().unwrap();
    assert!(written.status.success());
    let told: Value = serde_json::from_slice(&written.stderr).unwrap();
    let last = written.stdout.split(|byte| *byte == b'\n').rev().nth(1).unwrap();
    let last: Value = serde_json::from_slice(last).unwrap();
    assert_eq!((&last["complete"], &last["rows"]), (&Value::Bool(true), &told["rows"]));
    let (file, data) = (place.path().join("a.backup"), place.path().join("data"));
    fs::write(&file, &written.stdout).unwrap();
    let _ = run(&mut restore(&file, ["--data", data.to_str().unwrap()])).json();
}

/// I4: a wish for the log that means nothing is told, not silently followed into silence.
#[test]
fn a_senseless_log_level_is_told() {
    let server = Server::with(&[("MUSTER_LOG", "verbse")]);
    let log = server.log();
    assert!(log.contains("\"verbse\", which is no level") && log.contains("INFO"), "{log}");
}

/// A move that broke off leaves a database that nobody serves from, copies, or moves something else to; run again, it is
/// brought to its end.
#[test]
fn half_a_move_is_not_served() {
    let mut server = Server::start();
    let _ = work(&server);
    let (url, data, place) =
        (Cluster::shared().fresh_database(), server.data(), tempfile::tempdir().unwrap());
    let mut moving = migrate(&data, &url).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&mut moving, "stop the server now");
    moving.kill().unwrap();
    let _ = moving.wait().unwrap();

    let file = place.path().join("half.backup");
    let remedy = "DROP SCHEMA muster CASCADE";
    run(&mut serve(&url, place.path())).refused(1, remedy);
    run(&mut secret(&url)).refused(1, remedy);
    run(&mut backup(&file, ["--store", &url])).refused(1, remedy);
    assert!(!file.exists());
    let _ = run(&mut backup(&file, ["--data", data.to_str().unwrap()])).json();
    run(&mut restore(&file, ["--store", &url])).refused(1, remedy);
    let other = Server::start();
    run(&mut migrate(&other.data(), &url)).refused(4, "came from another installation");

    let token = server.admin_token();
    let _ = server.terminate();
    assert_eq!(run(&mut migrate(&data, &url)).json()["verified"], true);
    let shown = secret(&url).output().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap().trim(), token);
    server.set("MUSTER_SERVER__STORE", &url);
    server.restart();
}

/// A restore is one transaction: killed in the middle, it leaves a database as empty as it was, secrets included.
#[test]
fn half_a_restore_leaves_nothing() {
    let server = Server::start();
    let _ = work(&server);
    let (url, place) = (Cluster::shared().fresh_database(), tempfile::tempdir().unwrap());
    let file = place.path().join("a.backup");
    let _ = run(&mut backup(&file, ["--data", server.data().to_str().unwrap()])).json();
    let content = fs::read(&file).unwrap();
    let mut half = restore(Path::new("-"), ["--store", &url]).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = half.stdin.take().unwrap();
    pipe.write_all(&content[..content.len() * 3 / 4]).unwrap();
    // It has put rows into this table, and waits for more.
    let waits = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity a USING (pid) WHERE a.datname = current_database() \
                 AND relation = to_regclass('muster.task_devices') AND mode = 'RowExclusiveLock' \
                 AND state = 'idle in transaction'";
    wait_until("the restore is in the middle", || Cluster::shared().sql(&url, waits) == "1");
    half.kill().unwrap();
    let _ = half.wait().unwrap();
    drop(pipe);
    wait_until("the database has noticed", || Cluster::shared().sql(&url, waits) == "0");
    for table in ["server_secrets", "tasks", "task_devices"] {
        assert_eq!(
            Cluster::shared().sql(&url, &format!("SELECT count(*) FROM muster.{table}")),
            "0",
            "{table}"
        );
    }
    run(&mut secret(&url)).refused(5, "start `muster serve` there once");
    assert_eq!(run(&mut restore(&file, ["--store", &url])).json()["verified"], true);
}

/// I6: where a server once began and made secrets, those of the backup replace them: tokens and signatures of what was
/// restored go on to count.
#[test]
fn a_restore_brings_its_secrets() {
    let server = Server::start();
    let _ = work(&server);
    let (url, place) = (Cluster::shared().fresh_database(), tempfile::tempdir().unwrap());
    let file = place.path().join("a.backup");
    let _ = run(&mut backup(&file, ["--data", server.data().to_str().unwrap()])).json();
    let mut early = Server::with(&[("MUSTER_SERVER__STORE", &url)]);
    let theirs = secret(&url).output().unwrap().stdout;
    run(&mut restore(&file, ["--store", &url])).refused(1, "stop all servers on it first");
    let _ = early.terminate();
    run(&mut migrate(&server.data(), &url)).refused(4, "has served from that database");
    let _ = run(&mut restore(&file, ["--store", &url])).json();
    let shown = secret(&url).output().unwrap().stdout;
    assert_ne!(shown, theirs);
    assert_eq!(String::from_utf8(shown).unwrap().trim(), server.admin_token());
}

/// S18, S20: a checkpoint is not restored under a server that leads, and takes no term from it.
#[test]
fn a_checkpoint_is_not_restored_under_a_leader() {
    let (url, place) = (Cluster::shared().fresh_database(), tempfile::tempdir().unwrap());
    let mut server = Server::with(&[("MUSTER_SERVER__STORE", &url)]);
    let file = place.path().join("checkpoint.json");
    let mut export = muster_command();
    export.args(["checkpoint", "export", "--server", &server.anonymous().url()]).arg(&file);
    let token = secret(&url).output().unwrap().stdout;
    export.env("MUSTER_TOKEN", String::from_utf8(token).unwrap().trim());
    assert!(export.output().unwrap().status.success());
    let restore = || {
        let mut command = muster_command();
        command.args(["checkpoint", "restore", "--json", "--store", &url]).arg(&file);
        command.arg("--data").arg(place.path());
        command
    };
    let epoch = || Cluster::shared().sql(&url, "SELECT epoch FROM muster.leader");
    let before = epoch();
    run(&mut restore()).refused(1, "stop all servers on it first");
    assert_eq!(epoch(), before);
    let _ = server.terminate();
    let restored = run(&mut restore()).json();
    assert_eq!(restored["epoch"].to_string(), epoch());
    assert_eq!(Cluster::shared().sql(&url, "SELECT node IS NULL FROM muster.leader"), "t");
    server.restart();
}
