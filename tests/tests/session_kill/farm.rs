//! The server and six workers, three that ask and three that are pushed to.

use muster_tests::{Dice, Server, SimWorker};
use std::{path::PathBuf, thread, time::Duration};

pub(crate) struct Farm {
    pub(crate) server: Server,
    workers: Vec<SimWorker>,
}

impl Farm {
    pub(crate) fn start() -> Self {
        let server = Server::with_fixed_port(&[
            ("MUSTER_SIMULATION__HEARTBEAT_MS", "200"),
            // Workers here die more often than any real ones: that they do is not held against them.
            ("MUSTER_SIMULATION__QUARANTINE_AFTER", "1000"),
            ("MUSTER_SIMULATION__MAX_ATTEMPTS", "100"),
            ("MUSTER_SIMULATION__CHUNK_SIZE", "1000"),
        ]);
        let worker = |number: u32| {
            let mut args = vec!["--fps", "40", "--persons-per-frame", "3"];
            if number.is_multiple_of(2) {
                args.extend(["--listen", "127.0.0.1:0"]);
            }
            SimWorker::start(&server, &format!("W{number}"), &args)
        };
        Self { workers: (1..=6).map(worker).collect(), server }
    }

    pub(crate) fn status(&self) -> String {
        let answer = self.server.session("night");
        answer["status"].as_str().unwrap().to_owned()
    }

    pub(crate) fn kill_worker(&mut self, dice: &mut Dice) {
        self.any(dice).kill9_and_restart();
    }

    /// Longer than the limit: it is lost meanwhile, and does not know.
    pub(crate) fn stop_worker(&mut self, dice: &mut Dice) {
        let well = self.workers.iter().filter(|worker| !worker.is_stopped()).count();
        if well > 3 {
            self.any(dice).signal("STOP");
        }
    }

    pub(crate) fn continue_worker(&mut self, dice: &mut Dice) {
        let stopped = self.workers.iter_mut().filter(|worker| worker.is_stopped());
        let mut stopped: Vec<_> = stopped.collect();
        if !stopped.is_empty() {
            let index = usize::try_from(dice.below(stopped.len() as u64)).unwrap();
            stopped[index].signal("CONT");
        }
    }

    pub(crate) fn continue_all(&mut self) {
        for worker in &mut self.workers {
            worker.signal("CONT");
        }
    }

    pub(crate) fn kill_server(&mut self, away: Duration) {
        self.server.kill9();
        thread::sleep(away);
        self.server.restart();
    }

    /// Whether no entry of the quarantine waits for its files.
    pub(crate) fn has_moved_everything(&self) -> bool {
        self.server.database().count("SELECT count(*) FROM sim_quarantine WHERE moved = 0") == 0
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.server.data().join("output")
    }

    fn any(&mut self, dice: &mut Dice) -> &mut SimWorker {
        let index = usize::try_from(dice.below(self.workers.len() as u64)).unwrap();
        &mut self.workers[index]
    }
}
