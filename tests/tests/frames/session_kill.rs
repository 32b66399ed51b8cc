//! A session of real frames while its workers are killed and stopped, and the server too; and nothing may be missing,
//! twice, or come from somebody who had lost it.
//!
//! `MUSTER_FRAMES` says how many frames (1500), `MUSTER_SEED` which chance.

use muster_tests::{
    Dice, Server, SimWorker,
    frames::{check_losses, check_session, no_id_is_used_twice, summary},
    until,
};
use serde_json::json;
use std::{path::PathBuf, thread, time::Duration};

/// S13, S14, S15, S16, S24, S27: the session ends complete, its manifest verifies, no frame stands twice, no id is used
/// twice over all label files, the retired ones included, and each loss appears in `replay[]`.
#[test]
fn no_kill_loses_a_frame_or_repeats_an_id() {
    let frames: u64 = std::env::var("MUSTER_FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(1500);
    let mut dice = Dice::announced();
    let mut farm = Farm::start();
    let session = json!({"sessionId": "night", "totalFrames": frames, "framesPerTask": 20, "scenario": {"fps": 30},
        "cameras": ["front"], "qualityMode": "strict"});
    let _ = farm.server.admin().post("/api/v1/sessions", &session).expect(201);
    let mut harm = 0;
    while farm.status() == "running" {
        thread::sleep(dice.millis(300, 900));
        harm += 1;
        match dice.below(12) {
            0..=4 => farm.kill_worker(&mut dice),
            5..=8 => farm.stop_worker(&mut dice),
            9..=10 => farm.continue_worker(&mut dice),
            _ => farm.kill_server(dice.millis(0, 300)),
        }
    }
    assert_eq!(farm.status(), "completed");
    farm.continue_all();
    until("all that was retired is set apart", || farm.has_moved_everything().then_some(()));
    let session = farm.server.session("night");
    assert_eq!((&session["completedFrames"], &session["totalFrames"]), (&frames.into(), &frames.into()));
    let (output, database) = (farm.output(), farm.server.database());
    check_session(&output, "night", frames);
    no_id_is_used_twice(&output);
    assert!(check_losses(&output, &database) > 0, "nothing was lost at all");
    println!("{frames} frames, {harm} times harmed: {}", summary(&database));
}

struct Farm {
    server: Server,
    workers: Vec<SimWorker>,
}

impl Farm {
    fn start() -> Self {
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

    fn status(&self) -> String {
        let answer = self.server.session("night");
        answer["status"].as_str().unwrap().to_owned()
    }

    fn kill_worker(&mut self, dice: &mut Dice) {
        self.any(dice).kill9_and_restart();
    }

    /// Longer than the limit: it is lost meanwhile, and does not know.
    fn stop_worker(&mut self, dice: &mut Dice) {
        let well = self.workers.iter().filter(|worker| !worker.is_stopped()).count();
        if well > 3 {
            self.any(dice).signal("STOP");
        }
    }

    fn continue_worker(&mut self, dice: &mut Dice) {
        let stopped = self.workers.iter_mut().filter(|worker| worker.is_stopped());
        let mut stopped: Vec<_> = stopped.collect();
        if !stopped.is_empty() {
            let index = usize::try_from(dice.below(stopped.len() as u64)).unwrap();
            stopped[index].signal("CONT");
        }
    }

    fn continue_all(&mut self) {
        for worker in &mut self.workers {
            worker.signal("CONT");
        }
    }

    fn kill_server(&mut self, away: Duration) {
        self.server.kill9();
        thread::sleep(away);
        self.server.restart();
    }

    /// Whether no entry of the quarantine waits for its files.
    fn has_moved_everything(&self) -> bool {
        self.server.database().count("SELECT count(*) FROM sim_quarantine WHERE moved = 0") == 0
    }

    fn output(&self) -> PathBuf {
        self.server.data().join("output")
    }

    fn any(&mut self, dice: &mut Dice) -> &mut SimWorker {
        let index = usize::try_from(dice.below(self.workers.len() as u64)).unwrap();
        &mut self.workers[index]
    }
}
