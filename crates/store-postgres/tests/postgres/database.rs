//! Properties of PostgreSQL: settings, versions, encryption, plain SQL and errors.

use crate::scene::{self, Server, count, fresh, open, refusal, try_open};
use muster_model::LogKind;
use muster_pg_harness::Cluster;
use muster_store::{
    Batch, Store, StoreError,
    conformance::scenes::{AT, batch, job, logged, worker_batch},
};
use muster_store_postgres::{PostgresOptions, PostgresStore, SCHEMA_VERSION};
use muster_tables::{Kind, TABLES};
use std::{collections::BTreeSet, thread, time::Duration};

/// S18: servers that start at once on a new database make its tables once.
#[test]
fn several_servers_migrate_at_once() {
    let url = Cluster::shared().fresh_database();
    thread::scope(|scope| {
        let servers: Vec<_> = (0..8).map(|_| scope.spawn(|| try_open(&url))).collect();
        for server in servers {
            server.join().unwrap().unwrap();
        }
    });
    let version = "SELECT version, oldest_binary FROM muster.schema_version";
    assert_eq!(Cluster::shared().sql(&url, version), format!("{SCHEMA_VERSION}|{OLDEST_BINARY}"));
    open(&url).begin_term().unwrap().writer.commit(&batch(1, 1)).unwrap();
}

/// S18: servers are upgraded one after the other. The tables may be newer, if they say that this binary can use them.
#[test]
fn newer_tables_are_used_if_they_allow_it() {
    let url = fresh();
    let set = |version: u32, oldest: u32| {
        let sql = format!("UPDATE muster.schema_version SET version = {version}, oldest_binary = {oldest}");
        Cluster::shared().sql(&url, &sql);
    };
    set(99, SCHEMA_VERSION);
    open(&url).begin_term().unwrap().writer.commit(&batch(1, 1)).unwrap();
    set(99, SCHEMA_VERSION + 1);
    let error = try_open(&url).err().unwrap();
    assert!(matches!(error, StoreError::TooNew { found: 99, known: SCHEMA_VERSION }), "{error}");
    assert_eq!(Cluster::shared().sql(&url, "SELECT version FROM muster.schema_version"), "99");
}

/// S18: a newer server adds to the tables while an older one leads; that goes on as before, and so does whoever follows it
/// with the older binary.
#[test]
fn a_term_outlives_an_upgrade_of_the_tables() {
    let url = fresh();
    let (a, b) = (Server::on(&url, "a"), Server::on(&url, "b"));
    let mut term = a.lead();
    term.writer.commit(&batch(1, 5)).unwrap();
    let upgrade = format!(
        "DO $$ DECLARE name TEXT; BEGIN \
         FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'muster' LOOP \
         EXECUTE format('ALTER TABLE muster.%I ADD COLUMN added_later BIGINT NOT NULL DEFAULT 0', name); \
         END LOOP; END $$; \
         CREATE TABLE muster.made_later (id BIGINT PRIMARY KEY); \
         UPDATE muster.schema_version SET version = {}, oldest_binary = {SCHEMA_VERSION}",
        SCHEMA_VERSION + 1
    );
    Cluster::shared().sql(&url, &upgrade);
    term.writer.commit(&batch(6, 5)).unwrap();
    assert_eq!(a.tasks(), 10);
    drop(term);
    b.lead().writer.commit(&batch(11, 5)).unwrap();
    assert_eq!(b.tasks(), 15);
}

#[test]
fn tables_of_somebody_else_are_left_alone() {
    let url = Cluster::shared().fresh_database();
    let foreign = "CREATE SCHEMA muster AUTHORIZATION muster; CREATE TABLE muster.tasks (id INTEGER)";
    Cluster::shared().sql(&url, foreign);
    assert!(refusal(&url).contains("another program"), "{}", refusal(&url));
    assert_eq!(Cluster::shared().sql(&url, "SELECT count(*) FROM muster.tasks"), "0");
}

/// An administrator may make the schema, so that the user need not be allowed to make any.
#[test]
fn a_schema_that_was_made_for_us_is_used() {
    let url = Cluster::shared().fresh_database();
    let name = url.rsplit('/').next().unwrap();
    Cluster::shared().sql(
        &url,
        &format!("ALTER DATABASE {name} OWNER TO postgres; REVOKE CREATE ON DATABASE {name} FROM muster"),
    );
    assert!(refusal(&url).contains("GRANT CREATE ON DATABASE"), "{}", refusal(&url));
    Cluster::shared().sql(&url, "CREATE SCHEMA muster AUTHORIZATION muster");
    drop(open(&url));
    open(&url).begin_term().unwrap().writer.commit(&batch(1, 1)).unwrap();
}

/// The same tables as the embedded store has: whoever reads or copies one can read or copy the other.
#[test]
fn every_table_is_known_with_all_its_columns() {
    let url = fresh();
    let there = Cluster::shared().sql(
        &url,
        "SELECT table_name, column_name, data_type FROM information_schema.columns \
         JOIN information_schema.tables USING (table_schema, table_name) \
         WHERE table_schema = 'muster' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER' \
         AND table_name NOT IN ('schema_version', 'leader', 'fence', 'server_secrets')",
    );
    let kind = |kind| match kind {
        Kind::Integer => "bigint",
        Kind::Text => "text",
        Kind::Blob => "bytea",
    };
    let known = TABLES.iter().flat_map(|table| {
        table
            .columns
            .iter()
            .map(move |column| format!("{}|{}|{}", table.name, column.name, kind(column.kind)))
    });
    assert_eq!(there.lines().map(str::to_owned).collect::<BTreeSet<_>>(), known.collect());
    let keys = Cluster::shared().sql(
        &url,
        "SELECT c.relname, string_agg(a.attname, ',' ORDER BY k.place) FROM pg_index i \
         JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'muster'::regnamespace \
         CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place) \
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number WHERE i.indisprimary GROUP BY c.relname",
    );
    for table in TABLES {
        let key = format!("{}|{}", table.name, table.key.join(","));
        assert!(keys.lines().any(|line| line == key), "{key}");
    }
    let unordered = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'muster' \
                     AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'";
    assert_eq!(Cluster::shared().sql(&url, unordered), "");
}

#[test]
fn a_database_that_may_forget_is_refused() {
    let cluster = Cluster::start();
    let url = cluster.fresh_database();
    for (setting, restart) in [("full_page_writes", false), ("fsync", true)] {
        cluster.sql("postgres", &format!("ALTER SYSTEM SET {setting} = off"));
        if restart {
            cluster.stop_immediately();
            cluster.start_again();
        } else {
            cluster.reload();
        }
        let error = scene::until("the setting holds", || try_open(&url).err()).to_string();
        assert!(error.contains(&format!("{setting} = off")) && error.contains("postgresql.conf"), "{error}");
        cluster.sql("postgres", &format!("ALTER SYSTEM RESET {setting}"));
        cluster.reload();
    }
}

/// A commit is durable when it is acknowledged, whatever the server, the database or the user has for a default.
#[test]
fn commits_wait_for_the_disk_whatever_the_default() {
    let url = fresh();
    let cluster = Cluster::shared();
    let name = url.rsplit('/').next().unwrap();
    for (default, used) in [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")] {
        cluster.sql(&url, &format!("ALTER DATABASE {name} SET synchronous_commit = {default}"));
        // A trigger sees the settings of whoever commits.
        cluster.sql(
            &url,
            "CREATE OR REPLACE FUNCTION muster.tell() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'synchronous_commit is %', current_setting('synchronous_commit'); END $$; \
             CREATE OR REPLACE TRIGGER tell BEFORE INSERT ON muster.pcs EXECUTE FUNCTION muster.tell()",
        );
        let refused = open(&url).begin_term().unwrap().writer.commit(&worker_batch("PC-01"));
        let error = refused.err().unwrap().to_string();
        assert!(error.contains(&format!("synchronous_commit is {used} ")), "{error}");
    }
}

#[test]
fn what_cannot_be_reached_is_explained_without_the_password() {
    let url = fresh();
    let unknown = url.replace("/test_", "/nobody_made_this_");
    let closed = url.replace(&Cluster::shared().port().to_string(), "1");
    for (url, why) in [
        (unknown.as_str(), "createdb"),
        (closed.as_str(), "127.0.0.1:1: "),
        (&url.replace(":a-long-secret@", ":geheim@"), "PGPASSWORD"),
    ] {
        let error = refusal(url);
        assert!(
            error.contains(why) && !error.contains("geheim") && !error.contains("a-long-secret"),
            "{error}"
        );
    }
}

#[test]
fn the_password_need_not_stand_in_the_address() {
    let url = fresh().replace(":a-long-secret@", "@");
    let options = PostgresOptions { password: Some("a-long-secret".into()), ..PostgresOptions::default() };
    PostgresStore::open(&url, &options).unwrap();
}

#[test]
fn connections_are_encrypted_as_asked_for() {
    let cluster = Cluster::start();
    let url = cluster.fresh_database();
    let encrypted = |parameters: &str| {
        let store = try_open(&format!("{url}?{parameters}"))?;
        let _term = store.begin_term()?;
        let sql = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'muster'";
        Ok::<_, StoreError>(cluster.sql("postgres", sql) == "t")
    };
    assert!(!encrypted("sslmode=prefer").unwrap());
    assert!(encrypted("sslmode=require").is_err());
    let root = cluster.serve_tls("127.0.0.1").display().to_string();
    assert!(encrypted("sslmode=prefer").unwrap());
    assert!(!encrypted("sslmode=disable").unwrap());
    assert!(encrypted("sslmode=require").unwrap());
    assert!(encrypted(&format!("sslmode=verify-full&sslrootcert={root}")).unwrap());
    // This machine does not trust the authority that signed it.
    let error = encrypted("sslmode=verify-full").err().unwrap().to_string();
    assert!(error.to_lowercase().contains("certificate"), "{error}");
}

#[test]
fn a_certificate_must_be_for_the_host_if_that_is_asked_for() {
    let cluster = Cluster::start();
    let url = cluster.fresh_database();
    let root = cluster.serve_tls("database.example").display().to_string();
    let opens = |mode: &str| try_open(&format!("{url}?sslmode={mode}&sslrootcert={root}"));
    opens("verify-ca").unwrap();
    opens("require").unwrap();
    let error = opens("verify-full").err().unwrap().to_string();
    assert!(error.contains("certificate"), "{error}");
    let other = Cluster::start();
    let foreign = other.serve_tls("127.0.0.1").display().to_string();
    for mode in ["verify-ca", "verify-full", "require"] {
        assert!(try_open(&format!("{url}?sslmode={mode}&sslrootcert={foreign}")).is_err(), "{mode}");
    }
}

/// S18: with PostgreSQL the generated secrets live in the store, so that all servers know the same.
#[test]
fn a_secret_is_the_same_for_all() {
    let url = fresh();
    let secrets: BTreeSet<String> = thread::scope(|scope| {
        let ask = |node: u32| {
            let url = &url;
            scope.spawn(move || open(url).secret("admin", &format!("of server {node}")).unwrap())
        };
        let asking: Vec<_> = (0..4).map(ask).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert_eq!(secrets.len(), 1, "{secrets:?}");
    assert_eq!(open(&url).secret("enrol", "another").unwrap(), "another");
}

#[test]
fn a_large_batch_is_one_commit() {
    let store = open(&fresh());
    let mut term = store.begin_term().unwrap();
    term.writer.commit(&batch(1, 100_000)).unwrap();
    assert_eq!(count(store.reader().as_ref()), 100_000);
    term.writer.commit(&batch(50_001, 100_000)).unwrap();
    assert_eq!(count(store.reader().as_ref()), 150_000);
    let mut loaded = 0;
    term.writer.load(&mut |_| loaded += 1).unwrap();
    assert!(loaded > 150_000);
}

#[test]
fn a_failed_batch_leaves_nothing_behind() {
    let url = fresh();
    let store = open(&url);
    let mut term = store.begin_term().unwrap();
    // Tasks are written before workers; the failure comes in the middle.
    Cluster::shared().sql(
        &url,
        "CREATE FUNCTION muster.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no more'; END $$; \
         CREATE TRIGGER full_up BEFORE INSERT ON muster.pcs EXECUTE FUNCTION muster.refuse()",
    );
    let changes = [batch(1, 10).changes, worker_batch("PC-01").changes].concat();
    let failed = term.writer.commit(&Batch { changes, ..Batch::default() });
    assert!(matches!(&failed, Err(StoreError::Backend(what)) if what.contains("no more")), "{failed:?}");
    assert_eq!(count(store.reader().as_ref()), 0);
    Cluster::shared().sql(&url, "DROP TRIGGER full_up ON muster.pcs");
    term.writer.commit(&batch(1, 10)).unwrap();
    assert_eq!(count(store.reader().as_ref()), 10);
}

/// Errors do not show the values of rows, because payloads and hashes of tokens are among them.
#[test]
fn a_row_that_is_refused_is_not_shown() {
    let url = fresh();
    let mut term = open(&url).begin_term().unwrap();
    let refuse = "ALTER TABLE muster.pcs ADD CONSTRAINT no_more CHECK (id <> 'PC-01')";
    Cluster::shared().sql(&url, refuse);
    let error = term.writer.commit(&worker_batch("PC-01")).unwrap_err().to_string();
    assert!(error.contains("table pcs; constraint no_more"), "{error}");
    assert!(!error.contains("Failing row") && !error.contains("PC-01"), "{error}");
}

/// Q1, Q13
#[test]
fn plain_sql_reads_the_tables() {
    let url = fresh();
    let mut term = open(&url).begin_term().unwrap();
    term.writer.commit(&worker_batch("PC-01")).unwrap();
    term.writer.commit(&batch(1, 3)).unwrap();
    let found = "SELECT count(*) FROM muster.task_devices WHERE task_id || '.0000002' = id AND status = 'running' \
                 AND attempt < max_attempts AND lease_expires_at > created_at AND device_id = 'device-2'";
    assert_eq!(Cluster::shared().sql(&url, found), "1");
    let summary = "SELECT pc_id, pc_status, device_count, running_count FROM muster.pc_device_summary";
    assert_eq!(Cluster::shared().sql(&url, summary), "PC-01|online|0|3");
}

/// Q12: `execution_logs` is read as a table, and the log of one task is found by the key of its row.
#[test]
fn plain_sql_reads_a_log() {
    let url = fresh();
    open(&url).begin_term().unwrap().writer.commit(&logged()).unwrap();
    let sql = |sql: &str| Cluster::shared().sql(&url, sql);
    for (seq, kind) in (1..).zip(LogKind::ALL) {
        let found = format!(
            "SELECT count(*) FROM muster.execution_logs WHERE task_device_id = '{}.0000001' AND seq = {seq} \
             AND attempt_no = 1 AND event_type = '{}' AND level = '{}' AND message = '\\ \"끝\"' AND at = {}",
            job(),
            kind.as_str(),
            kind.level(),
            AT.0
        );
        assert_eq!(sql(&found), "1", "{found}");
    }
    let plan = sql(
        "SET enable_seqscan = off; EXPLAIN SELECT * FROM muster.execution_logs WHERE task_device_id = 'x'",
    );
    assert!(plan.contains("task_devices_pkey") && plan.contains("id = 'x'"), "{plan}");
}

#[test]
fn a_value_that_makes_no_sense_is_named() {
    for (sql, table, place) in [
        ("UPDATE muster.tasks SET status = 'sleeping'", "tasks", "status = sleeping"),
        ("UPDATE muster.task_devices SET attempt = 70000", "task_devices", "attempt = 70000"),
        ("UPDATE muster.pcs SET draining = 2", "pcs PC-01", "draining = 2"),
        ("DELETE FROM muster.meta WHERE key = 'session_seq'", "meta session_seq", "missing"),
    ] {
        let url = fresh();
        let mut term = open(&url).begin_term().unwrap();
        term.writer.commit(&worker_batch("PC-01")).unwrap();
        term.writer.commit(&batch(1, 1)).unwrap();
        Cluster::shared().sql(&url, sql);
        let Err(StoreError::Corrupt(what)) = term.writer.load(&mut |_| {}) else {
            panic!("{sql} went unnoticed")
        };
        assert!(what.starts_with(table) && what.ends_with(place), "{what}");
    }
}

/// A reader whose connection was ended gets another.
#[test]
fn readers_outlive_their_connections() {
    let url = fresh();
    let store = open(&url);
    store.begin_term().unwrap().writer.commit(&batch(1, 5)).unwrap();
    let reader = store.reader();
    assert_eq!(count(reader.as_ref()), 5);
    Cluster::shared().sql(
        &url,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    assert_eq!(count(reader.as_ref()), 5);
}

/// Whatever the lease: no number of milliseconds is too small for the settings of a connection.
#[test]
fn a_short_lease_will_do() {
    let options = PostgresOptions { lease: Duration::from_millis(50), ..PostgresOptions::default() };
    let store = PostgresStore::open(&fresh(), &options).unwrap();
    store.begin_term().unwrap().writer.commit(&batch(1, 1)).unwrap();
}

/// The oldest binary, by the version it knows, that can work with the tables as they are now.
const OLDEST_BINARY: u32 = 7;
