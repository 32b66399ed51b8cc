//! Two servers, one of which leads until it is struck.

use super::witness::Witnesses;
use crate::{call::call, server::Server, stopwatch::now};
use rustix::process::{Pid, Signal, kill_process};
use std::{mem, thread, time::Duration};
use tempfile::TempDir;

/// What happens to the leader.
#[derive(Clone, Copy)]
pub(super) enum Blow {
    /// Its process is gone, and its connections with it.
    Kill,
    /// It stands still with its connections open, as a machine does whose cable was pulled.
    Stop,
    /// It is asked to end, and hands over.
    Terminate,
}

impl Blow {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kill => "killed (SIGKILL)",
            Self::Stop => "silent (SIGSTOP)",
            Self::Terminate => "ended (SIGTERM)",
        }
    }

    fn signal(self) -> Signal {
        match self {
            Self::Kill => Signal::KILL,
            Self::Stop => Signal::STOP,
            Self::Terminate => Signal::TERM,
        }
    }
}

/// How long nobody wrote.
pub(super) struct Outage {
    /// From the blow to the new term.
    pub(super) taken: Duration,
    /// From there to its first acknowledged write.
    pub(super) answered: Duration,
}

/// Both servers.
pub(super) struct Duel {
    database: String,
    leader: Fighter,
    follower: Fighter,
}

struct Fighter {
    server: Server,
    _data: TempDir,
}

impl Duel {
    pub(super) fn begin(database: &str) -> Self {
        let leader = Fighter::enter(database, "leading");
        let follower = Fighter::enter(database, "following");
        Self { database: database.to_owned(), leader, follower }
    }

    /// Strikes the leader; the other takes its place, and a third follows that one.
    pub(super) fn round(&mut self, blow: Blow) -> Outage {
        let witnesses = Witnesses::call(self.follower.server.address, &self.database);
        let epoch = witnesses.term();
        // Writes go on for a while, so that nothing read before this can be of use.
        thread::sleep(Duration::from_secs(2));
        let process = i32::try_from(self.leader.server.id()).ok().and_then(Pid::from_raw);
        let struck = now();
        kill_process(process.expect("a process"), blow.signal()).expect("it is ours");
        let [begun, acknowledged] = witnesses.next_term(epoch);
        drop(witnesses);
        let next = mem::replace(&mut self.follower, Fighter::enter(&self.database, "following"));
        self.leader = next;
        Outage { taken: begun - struck, answered: acknowledged.saturating_duration_since(begun) }
    }
}

impl Fighter {
    /// Starts a server and waits until it has its place.
    fn enter(database: &str, place: &str) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let server = Server::start(data.path(), database, SETTINGS);
        loop {
            let answer = call(server.address, "GET /readyz", "");
            if answer.is_ok_and(|answer| answer.status == 200 && answer.text.contains(place)) {
                return Self { server, _data: data };
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Nobody answers for the devices; what is live stays so.
const SETTINGS: &[(&str, &str)] = &[
    ("MUSTER_OPERATIONS__SLOTS", "100"),
    ("MUSTER_OPERATIONS__ATTEMPT_TIMEOUT_S", "86400"),
    ("MUSTER_NODES__LEASE_S", "86400"),
    ("MUSTER_NODES__OFFLINE_AFTER_S", "86400"),
];
