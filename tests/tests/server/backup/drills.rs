//! What breaks off, or is tried where others are at work, leaves nothing that could be taken for whole.

use crate::backup::{backup, finished, migrate, refused, restore, wait_for, work};
use muster_pg_harness::Cluster;
use muster_tests::{Server, muster_command, until};
use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

fn secret(url: &str) -> Command {
    let mut command = muster_command();
    command.args(["secret", "show", "admin", "--store", url]);
    command
}

fn serve(url: &str, data: &Path) -> Command {
    let mut command = muster_command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", url, "--data"]).arg(data);
    command
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
    refused(&mut serve(&url, place.path()), 1, remedy);
    refused(&mut secret(&url), 1, remedy);
    refused(&mut backup(&file, ["--store", &url]), 1, remedy);
    assert!(!file.exists());
    let _ = finished(&mut backup(&file, ["--data", data.to_str().unwrap()]));
    refused(&mut restore(&file, ["--store", &url]), 1, remedy);
    let other = Server::start();
    refused(&mut migrate(&other.data(), &url), 4, "came from another installation");

    let token = server.admin_token();
    let _ = server.terminate();
    assert_eq!(finished(&mut migrate(&data, &url))["verified"], true);
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
    let _ = finished(&mut backup(&file, ["--data", server.data().to_str().unwrap()]));
    let content = fs::read(&file).unwrap();
    let mut half = restore(Path::new("-"), ["--store", &url]).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = half.stdin.take().unwrap();
    pipe.write_all(&content[..content.len() * 3 / 4]).unwrap();
    // It has put rows into this table, and waits for more.
    let waits = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity a USING (pid) WHERE a.datname = current_database() \
                 AND relation = to_regclass('muster.task_devices') AND mode = 'RowExclusiveLock' \
                 AND state = 'idle in transaction'";
    until("the restore is in the middle", || (Cluster::shared().sql(&url, waits) == "1").then_some(()));
    half.kill().unwrap();
    let _ = half.wait().unwrap();
    drop(pipe);
    until("the database has noticed", || (Cluster::shared().sql(&url, waits) == "0").then_some(()));
    for table in ["server_secrets", "tasks", "task_devices"] {
        assert_eq!(
            Cluster::shared().sql(&url, &format!("SELECT count(*) FROM muster.{table}")),
            "0",
            "{table}"
        );
    }
    refused(&mut secret(&url), 5, "start `muster serve` there once");
    assert_eq!(finished(&mut restore(&file, ["--store", &url]))["verified"], true);
}

/// I6: where a server once began and made secrets, those of the backup replace them: tokens and signatures of what was
/// restored go on to count.
#[test]
fn a_restore_brings_its_secrets() {
    let server = Server::start();
    let _ = work(&server);
    let (url, place) = (Cluster::shared().fresh_database(), tempfile::tempdir().unwrap());
    let file = place.path().join("a.backup");
    let _ = finished(&mut backup(&file, ["--data", server.data().to_str().unwrap()]));
    let mut early = Server::with(&[("MUSTER_SERVER__STORE", &url)]);
    let theirs = secret(&url).output().unwrap().stdout;
    refused(&mut restore(&file, ["--store", &url]), 1, "stop all servers on it first");
    let _ = early.terminate();
    refused(&mut migrate(&server.data(), &url), 4, "has served from that database");
    let _ = finished(&mut restore(&file, ["--store", &url]));
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
    refused(&mut restore(), 1, "stop all servers on it first");
    assert_eq!(epoch(), before);
    let _ = server.terminate();
    let restored = finished(&mut restore());
    assert_eq!(restored["epoch"].to_string(), epoch());
    assert_eq!(Cluster::shared().sql(&url, "SELECT node IS NULL FROM muster.leader"), "t");
    server.restart();
}
