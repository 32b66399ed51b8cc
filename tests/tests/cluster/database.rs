//! A database that crashes, moves, or has no room.

use crate::load::{flows, under_load};
use muster_pg_harness::{Cluster as Database, Lodging};
use muster_tests::{
    Cluster, ClusterSetup, Request, SmallDisk, Standing,
    load::{Ledger, jobs},
    until,
};
use std::collections::BTreeSet;

/// S18, I1: servers outlive a crash of the database, a short one and a long one, and go on without being started anew;
/// nothing that was acknowledged is lost.
#[test]
fn a_crash_of_the_database_is_outlived() {
    let database = Database::start();
    let cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&SETTINGS).start();
    let ledger = under_load(&cluster, |ledger| {
        database.stop_immediately();
        database.start_again();
        flows(ledger);
        database.stop_immediately();
        wait_until_nobody_leads(&cluster);
        database.start_again();
        flows(ledger);
        cluster.settle();
    });
    jobs::check_all(&cluster.database(), &ledger);
}

/// S18: when a standby takes the database's place that commits had waited for, nothing that was acknowledged is lost.
#[test]
fn a_synchronous_standby_takes_over_everything() {
    let first = Database::start();
    let url = first.fresh_database();
    let second = first.standby();
    first.replicate_synchronously(true);
    let cluster = ClusterSetup::new(&either(&url, &first, &second), 2).with(&SETTINGS).start();
    let ledger = under_load(&cluster, |_| {
        let before = cluster.settle();
        first.stop_immediately();
        second.promote();
        let after = cluster.leader_after(before.epoch);
        assert!(after.epoch > before.epoch);
    });
    jobs::check_all(&cluster.database(), &ledger);
}

/// S18: when a standby takes the database's place that had fallen behind, what it did not have is lost and nothing else;
/// no epoch comes twice, though the standby has never heard of the last one.
#[test]
fn an_asynchronous_standby_loses_only_what_it_did_not_have() {
    let first = Database::start();
    let url = first.fresh_database();
    let second = first.standby();
    let mut cluster = ClusterSetup::new(&either(&url, &first, &second), 2).with(&SETTINGS).start();
    let kept = under_load(&cluster, |_| {});
    first.wait_for_standby();
    second.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
    second.reload();
    first.wait_until_alone();
    hand_over(&mut cluster);
    let newest = cluster.settle().epoch;
    let risked = Ledger::default();
    let client = cluster.login("carl");
    (0..20).for_each(|_| jobs::hand_in(&client, &risked));
    first.stop_immediately();
    second.promote();
    let after = cluster.leader_after(newest);
    assert!(after.epoch > cluster.epochs().newest(), "an epoch came twice");
    jobs::check_all(&cluster.database(), &kept);
    jobs::hand_in(&client, &kept);
    jobs::check_all(&cluster.database(), &kept);
}

/// S18, I1: on a database without room nothing is acknowledged and the reason is told; with room again the work goes on
/// by itself, and nothing is lost.
#[test]
fn a_full_disk_of_the_database_is_outlived() {
    let disk = SmallDisk::mount(DISK_MB).expect("only root can mount a small disk");
    let lodging = Lodging { below: Some(disk.path().to_owned()), ..Lodging::default() };
    let database = Database::start_at(lodging, &["max_wal_size = '64MB'", "min_wal_size = '32MB'"]);
    let cluster = ClusterSetup::new(&database.fresh_database(), 2).with(&SETTINGS).start();
    let ledger = under_load(&cluster, |_| {
        disk.fill();
        until("somebody says that the disk is full", || {
            cluster.servers.iter().any(|server| server.log().contains("No space left")).then_some(())
        });
        let refused = Request::new("GET", "/readyz");
        until("nobody is ready", || {
            let answer = cluster.anonymous().try_send(refused.clone()).ok()?;
            (answer.status == 503).then_some(())
        });
        disk.free();
        if !database.is_running() {
            database.start_again();
        }
    });
    jobs::check_all(&cluster.database(), &ledger);
}

/// Ends the leader as an upgrade would, and starts it anew.
fn hand_over(cluster: &mut Cluster) {
    let before = cluster.settle();
    assert!(cluster.servers[before.index].terminate().success());
    let _ = cluster.leader_after(before.epoch);
    cluster.servers[before.index].restart();
}

fn wait_until_nobody_leads(cluster: &Cluster) {
    until("nobody leads", || {
        let standings: BTreeSet<_> = (0..2).map(|index| cluster.standing(index) == Standing::Lost).collect();
        (standings == BTreeSet::from([true])).then_some(())
    });
}

/// The address of a database that is on the one server or on the other.
fn either(url: &str, first: &Database, second: &Database) -> String {
    let [one, other] = [first, second].map(|server| format!("127.0.0.1:{}", server.port()));
    let hosts = format!("{one},{other}");
    format!("{}?target_session_attrs=read-write", url.replace(&one, &hosts))
}

/// The database's own files take a fifth of it.
const DISK_MB: u32 = 200;

/// Short, so that silence is noticed soon.
const SETTINGS: [(&str, &str); 1] = [("MUSTER_LEADERSHIP__LEASE_MS", "1500")];
