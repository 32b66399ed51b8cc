//! That the servers of tests are what tests take them for.

use muster_pg_harness::Cluster;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

#[test]
fn what_was_committed_outlives_an_immediate_stop() {
    let cluster = Cluster::start();
    let database = cluster.fresh_database();
    assert_ne!(database, cluster.fresh_database());
    cluster.sql(&database, "CREATE TABLE kept AS SELECT 42 AS number, 'text' AS text");
    cluster.stop_immediately();
    cluster.start_again();
    assert_eq!(cluster.sql(&database, "SELECT * FROM kept"), "42|text");
    assert_eq!(cluster.sql("postgres", "SHOW fsync"), "on");
}

#[test]
fn a_standby_takes_over_what_was_committed_synchronously() {
    let first = Cluster::start();
    let second = first.standby();
    first.replicate_synchronously(true);
    first.sql("postgres", "CREATE TABLE kept AS SELECT 42 AS number");
    first.stop_immediately();
    second.promote();
    assert_eq!(second.sql("postgres", "SELECT * FROM kept"), "42");
    second.sql("postgres", "UPDATE kept SET number = 43");
}

#[test]
fn nothing_is_left_of_a_test_that_is_killed() {
    let mut test = Command::new(std::env::current_exe().expect("this is a program"))
        .args(["--exact", "--ignored", "--nocapture", "start_and_wait"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test can be run");
    let mut said = std::io::BufReader::new(test.stdout.take().expect("it is piped"));
    let home = std::iter::from_fn(|| {
        let mut line = String::new();
        (std::io::BufRead::read_line(&mut said, &mut line).ok()? > 0).then_some(line)
    })
    .find_map(|line| line.trim().strip_prefix("socket in ").map(str::to_owned))
    .expect("it says where");
    let home = Path::new(&home).parent().expect("the socket's directory is in another");
    let server = fs::read_to_string(home.join("data/postmaster.pid")).expect("it runs");
    let server = format!("/proc/{}", server.lines().next().expect("the first line is its id"));
    assert!(Path::new(&server).exists());
    test.kill().and_then(|()| test.wait()).expect("it can be killed");
    for _ in 0..600 {
        if !home.exists() && !Path::new(&server).exists() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{} or {server} is still there", home.display());
}

#[test]
#[ignore = "run by nothing_is_left_of_a_test_that_is_killed, which kills it"]
fn start_and_wait() {
    let cluster = Cluster::shared();
    println!("\nsocket in {}", cluster.sql("postgres", "SHOW unix_socket_directories"));
    thread::sleep(Duration::from_secs(600));
}
