//! A second server that follows the first.

use crate::{Cluster, Lodging, binaries::run};
use std::{thread, time::Duration};

impl Cluster {
    /// Starts a server that follows this one, by streaming.
    #[must_use]
    pub fn standby(&self) -> Self {
        let standby = Self::prepare(Lodging::default());
        let mut copy = self.client("pg_basebackup");
        copy.args([
            "--checkpoint=fast",
            "--wal-method=stream",
            "--write-recovery-conf",
            "--no-sync",
            "--pgdata",
        ]);
        run(copy.arg(standby.data()));
        standby.configure(&[
            &format!("port = {}", standby.port()),
            &standby.socket_setting(),
            &format!("cluster_name = '{STANDBY}'"),
        ]);
        standby.start_again();
        // It would otherwise wait for a standby of its own once it is promoted.
        standby.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = ''");
        standby.reload();
        standby
    }

    /// From now on commits wait until a standby has them too (`true`), or not.
    pub fn replicate_synchronously(&self, yes: bool) {
        let names = if yes { STANDBY } else { "" };
        self.sql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        self.reload();
        let state = if yes { "sync" } else { "async" };
        self.until("the standby to follow", &format!(
            "SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '{state}'"
        ));
    }

    /// Waits until a standby has everything that was written so far.
    pub fn wait_for_standby(&self) {
        self.until(
            "the standby to catch up",
            "SELECT count(*) > 0 FROM pg_stat_replication \
             WHERE state = 'streaming' AND replay_lsn >= pg_current_wal_insert_lsn()",
        );
    }

    /// Waits until no standby follows any more.
    pub fn wait_until_alone(&self) {
        self.until("the standby to leave", "SELECT count(*) = 0 FROM pg_stat_replication");
    }

    /// Makes a standby a server that takes writes; returns when it does.
    pub fn promote(&self) {
        self.control(&["promote", "--wait"]);
    }

    /// Waits until a query answers yes.
    pub(crate) fn until(&self, what: &str, condition: &str) {
        for _ in 0..600 {
            if self.sql("postgres", condition) == "t" {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("waited too long for {what}");
    }
}

/// By this name the first server knows the second.
const STANDBY: &str = "standby";
