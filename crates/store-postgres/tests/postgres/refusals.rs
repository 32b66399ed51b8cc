//! A start fails with a helpful message on errors that time does not fix, and waits out the others.

use crate::scene::{self, fresh, try_open};
use muster_pg_harness::Cluster;
use muster_store::StoreError;

/// I1: nobody waits for a password that is wrong.
#[test]
fn what_somebody_must_change_is_not_waited_for() {
    let url = fresh();
    let name = url.rsplit('/').next().unwrap();
    for (url, remedy) in [
        (url.replace(":a-long-secret@", "@"), "PGPASSWORD"),
        (url.replace(":a-long-secret@", ":geheim@"), "PGPASSWORD"),
        (url.replace("muster:", "nobody:"), "the user"),
        (url.replace("/test_", "/nobody_made_this_"), "createdb"),
        (format!("{url}?sslmode=require"), "turn ssl on"),
    ] {
        assert_lasts(&url, remedy);
    }
    Cluster::shared().sql(&url, "ALTER SCHEMA muster OWNER TO postgres");
    assert_lasts(&url, "GRANT");
    Cluster::shared().sql(&url, &format!("ALTER DATABASE {name} OWNER TO postgres"));
    Cluster::shared().sql(&url, &format!("REVOKE CONNECT ON DATABASE {name} FROM public, muster"));
    assert_lasts(&url, "GRANT");
}

#[test]
fn a_certificate_that_is_not_believed_is_not_waited_for() {
    let cluster = Cluster::start();
    let url = cluster.fresh_database();
    let root = cluster.serve_tls("database.example").display().to_string();
    assert_lasts(&format!("{url}?sslmode=verify-full"), "sslrootcert=FILE");
    assert_lasts(&format!("{url}?sslmode=verify-full&sslrootcert={root}"), "verify-ca");
}

/// S18: a server that is away, or full, or not yet promoted may be back by itself.
#[test]
fn what_time_heals_is_waited_for() {
    let first = Cluster::start();
    let url = first.fresh_database();
    drop(scene::open(&url));
    let second = first.standby();
    let port = |cluster: &Cluster| format!("127.0.0.1:{}", cluster.port());
    let standby = url.replace(&port(&first), &port(&second));
    assert_passes(&standby, "this is a standby (read only)");
    assert_passes(&url.replace(&port(&first), "127.0.0.1:1"), "127.0.0.1:1: ");
    first.sql("postgres", "ALTER ROLE muster CONNECTION LIMIT 0");
    assert_passes(&url, "max_connections");
    first.sql("postgres", "ALTER ROLE muster CONNECTION LIMIT -1");
    first.stop_immediately();
    // One of two may be back: the other's refusal does not end the start.
    let both = standby.replace(&port(&second), &format!("{},{}", port(&first), port(&second)));
    assert_passes(&both.replace(":a-long-secret@", ":geheim@"), "PGPASSWORD");
    second.promote();
    drop(scene::open(&both));
}

fn assert_lasts(url: &str, remedy: &str) {
    let error = try_open(url).err().expect("it is refused");
    let words = error.to_string();
    assert!(matches!(error, StoreError::Unfit(_)) && words.contains(remedy), "{error:?}");
    assert!(!words.contains("geheim") && !words.contains("a-long-secret"), "{words}");
}

fn assert_passes(url: &str, words: &str) {
    let error = try_open(url).err().expect("it is refused");
    assert!(matches!(&error, StoreError::Backend(what) if what.contains(words)), "{error:?}");
}
