//! I4: each end of `serve`, `backup`, `restore`, `migrate` and `secret` has its exit code and words that say what to do.

use crate::{backup, finished, migrate, refused, restore};
use muster_pg_harness::Cluster;
use muster_tests::{Server, muster_command};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

fn muster(line: &[&str]) -> Command {
    let mut command = muster_command();
    command.args(line);
    command
}

/// I4: 2, what was not understood; no password is repeated (I6).
#[test]
fn what_is_not_understood_ends_with_2() {
    let place = tempfile::tempdir().unwrap();
    let (file, nowhere) = (place.path().join("x"), place.path().join("no/such/file"));
    let form = "postgres://USER@HOST/DATABASE";
    refused(&mut muster(&["serve", "--store", "host=h password=hunter2"]), 2, form);
    refused(&mut muster(&["secret", "show", "admin", "--store", "postgres//u:hunter2@h"]), 2, form);
    refused(&mut backup(&file, ["--store", "memory"]), 2, "the store is memory");
    refused(&mut backup(&nowhere, ["--data", Server::start().data().to_str().unwrap()]), 2, "cannot write");
    refused(&mut restore(&nowhere, ["--store", "sqlite"]), 2, "cannot read");
    refused(&mut muster(&["migrate"]), 2, "--to must name the database to move to: postgres://USER@HOST");
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
    refused(&mut backup(&file, data), 5, "there is no muster.db");
    refused(&mut backup(&file, ["--store", &url]), 5, "is it the right database?");
    refused(&mut migrate(&empty, &url), 5, "there is no muster.db");
    refused(
        &mut muster(&["secret", "show", "admin", "--data", data[1]]),
        5,
        "start `muster serve` there once",
    );
    refused(&mut muster(&["secret", "show", "admin", "--store", &url]), 5, "is it the right database?");
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
    refused(&mut restore(&file, ["--store", &url]), 1, "line 1 of the backup: it is no muster backup");
    fs::write(&file, [0x28, 0xb5, 0x2f, 0xfd, 0xff]).unwrap();
    refused(&mut restore(&file, ["--store", &url]), 1, "unpack it");
    assert_eq!(Cluster::shared().sql(&url, "SELECT to_regnamespace('muster') IS NULL"), "t");
    refused(muster(&["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data), 1, "in use");
    let absent = format!("{url}_absent");
    refused(&mut backup(&place.path().join("b"), ["--store", &absent]), 1, "createdb");
    refused(&mut muster(&["secret", "show", "node", "--store", &absent]), 1, "createdb");
    refused(&mut migrate(&data, &absent), 1, "createdb");
    refused(
        &mut muster(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            &absent,
            "--data",
            place.path().to_str().unwrap(),
        ]),
        1,
        "createdb",
    );
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
    let _ = finished(&mut restore(&file, ["--data", data.to_str().unwrap()]));
}

/// I4: a wish for the log that means nothing is told, not silently followed into silence.
#[test]
fn a_senseless_log_level_is_told() {
    let server = Server::with(&[("MUSTER_LOG", "verbse")]);
    let log = server.log();
    assert!(log.contains("\"verbse\", which is no level") && log.contains("INFO"), "{log}");
}
