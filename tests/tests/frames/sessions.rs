//! Sessions of frames with real workers: chunks, clocks, removals and retries; and a session while its workers and the server
//! are killed and stopped, of which nothing may be missing, twice, or come from somebody who had lost it (contract S).
//!
//! `MUSTER_FRAMES` says how many frames (1500), `MUSTER_SEED` which chance.

use crate::Farm;
use muster_tests::{
    Dice, SimWorker,
    frames::{all_is_set_apart, check_losses, check_session, no_id_is_used_twice, summary},
    number_from, until, wait_until,
};
use serde_json::{Value, json};
use std::{fs, thread, time::Duration};

/// S17, S20b: a chunk is retired from the command line with a reason. Its frames go out again with another chunk, and
/// the diagnostics say so.
#[test]
fn a_chunk_is_retired() {
    let farm = Farm::start(&[]);
    let _worker = SimWorker::start(&farm.server, "W1", &["--fps", "1"]);
    let submitted = farm.muster("session submit night --frames 1000 --frames-per-task 1000");
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let live = |farm: &Farm| -> Option<Value> {
        let chunks = farm.document("chunk list --session night --state live");
        chunks["chunks"].as_array().unwrap().first().cloned()
    };
    let chunk = until("a chunk is given out", || live(&farm));
    let id = chunk["chunkId"].as_u64().unwrap();
    assert_eq!(farm.muster(&format!("chunk retire {id}")).code, 2, "a reason is needed");
    assert_eq!(farm.muster("chunk retire 999999 --reason wrong-ids").code, 5);
    let retired = farm.document(&format!("chunk retire {id} --reason wrong-ids"));
    assert_eq!((&retired["chunkId"], &retired["state"]), (&json!(id), &json!("retired")));
    let listed = farm.document("chunk list --session night --state retired");
    assert_eq!(listed["chunks"][0]["chunkId"], id);
    assert!(listed["chunks"][0]["reason"].is_string(), "{listed}");
    let next = until("the frames go out again", || live(&farm));
    assert_eq!(next["taskId"], chunk["taskId"]);
    assert!(next["chunkId"].as_u64().unwrap() > id);
    let kinds = until("it is in the diagnostics", || {
        Some(farm.kinds("night")).filter(|kinds| kinds.iter().any(|kind| kind == "retired"))
    });
    assert!(kinds.iter().any(|kind| kind == "reassigned"), "{kinds:?}");
    let said = farm.muster("session diagnostics night").stdout;
    assert!(said.contains("wrong-ids"), "the reason is missing: {said}");
    assert_eq!(farm.muster("session cancel night").code, 0);
}

/// A program that writes the time of each frame into its fragment, by a clock that is so many milliseconds ahead. It
/// waits until both workers have a range, and takes a moment for each frame.
fn script(farm: &Farm, worker: &str, ahead_ms: u64) -> String {
    let place = farm.path("go");
    let place = place.parent().unwrap().display();
    format!(
        r#"touch {place}/{worker}; while [ ! -e {place}/W1 ] || [ ! -e {place}/W2 ]; do sleep 0.02; done
        mkdir -p meta; n=$MUSTER_FRAME_START; frames=
        while [ $n -lt $MUSTER_FRAME_END ]; do
            frames="$frames${{frames:+,}}{{\"frame_id\":$n,\"timestamp\":$(($(date +%s%3N) + {ahead_ms}))}}"
            sleep 0.005; n=$((n + 1))
        done
        echo "{{\"workerId\":\"{worker}\",\"frameRange\":[$MUSTER_FRAME_START,$MUSTER_FRAME_END],\
            \"globalIdChunkId\":$MUSTER_CHUNK_ID,\"cameras\":[{{\"id\":\"cam1\"}}],\"statistics\":{{\"a\":{{\"b\":1}}}},\
            \"validationSummary\":{{}},\"frames\":[$frames]}}" > meta/manifest_fragment_{worker}_$MUSTER_CHUNK_ID.json"#
    )
}

/// S21, S22, S23: two workers whose clocks are an hour apart share a session. Nothing is skipped or rendered again, and
/// the manifest keeps every frame.
#[test]
fn clocks_an_hour_apart_cost_no_frame() {
    let farm = Farm::start(&[]);
    let workers = [("W1", 0), ("W2", 3_600_000)].map(|(worker, ahead_ms)| {
        SimWorker::start(&farm.server, worker, &["--exec", "sh", "-c", &script(&farm, worker, ahead_ms)])
    });
    let ended = farm.muster("session submit night --frames 60 --frames-per-task 5 --wait");
    assert_eq!(ended.code, 0, "{} {}", ended.stdout, workers[0].log());
    let session = farm.server.session("night");
    assert_eq!((&session["complete"], &session["replays"]), (&json!(true), &json!([])));
    let manifest = fs::read(farm.output().join("session_night/meta/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!((&manifest["skipped"], &manifest["gaps"]), (&json!([]), &json!([])));
    assert_eq!(manifest["distributed"]["workers"], json!(["W1", "W2"]));
    assert_eq!(manifest["cameras"], json!([{"id": "cam1"}]));
    let ranges = manifest["ranges"].as_array().unwrap().len();
    assert!(ranges >= 12);
    assert_eq!(manifest["statistics"]["a"]["b"], ranges);
    let merged =
        farm.muster(&format!("manifest merge {}", farm.output().join("session_night/meta").display()));
    assert_eq!(merged.code, 0, "{}", merged.stderr);
}

/// S6: the master calls a removed worker that listens. The worker acknowledges it and ends, long before its next
/// heartbeat would have told it, so it is no zombie.
#[test]
fn a_removed_worker_hears_of_it_by_push() {
    let farm = Farm::start(&[("MUSTER_SIMULATION__HEARTBEAT_MS", "60000")]);
    let mut worker = SimWorker::start(&farm.server, "W1", &["--listen", "127.0.0.1:0"]);
    wait_until("the worker is registered", || farm.muster("worker show W1").code == 0);
    let removed = farm.muster("worker remove W1 --reason old-driver");
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    let ended = until("the worker ends", || worker.ended());
    assert_eq!(ended.code(), Some(4), "{}", worker.log());
    assert!(worker.log().contains("the master called: it removed this worker"), "{}", worker.log());
    assert_eq!(zombies(&farm), 0);
}

/// S6: a removed worker that renders stops its task, which goes back to the queue.
#[test]
fn a_removed_worker_stops_its_task() {
    let farm = Farm::start(&[]);
    let mut worker = SimWorker::start(&farm.server, "W1", &["--listen", "127.0.0.1:0", "--fps", "1"]);
    let submitted = farm.muster("session submit night --frames 1000 --frames-per-task 1000");
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let is_running = || farm.server.session("night")["coverage"][0]["status"] == "running";
    wait_until("the task runs", is_running);
    assert_eq!(farm.muster("worker remove W1 --reason old-driver").code, 0);
    let ended = until("the worker ends", || worker.ended());
    assert_eq!(ended.code(), Some(4), "{}", worker.log());
    assert!(!is_running(), "the range waits for another worker");
    // A call that was on its way when the worker was removed counts as one of a zombie, until it has been silent.
    wait_until("the worker is no zombie", || zombies(&farm) == 0);
    assert_eq!(farm.muster("session cancel night").code, 0);
}

fn zombies(farm: &Farm) -> u64 {
    let status = farm.server.admin().get("/api/v1/status").expect(200);
    status["workers"]["zombie"].as_u64().unwrap_or(0)
}

/// The frame that fails.
const BAD: u64 = 333;

/// A farm whose only worker cannot render the bad frame until the signal file is there.
fn farm() -> (Farm, SimWorker) {
    let farm = Farm::start(&[]);
    let script = format!(
        "mkdir frames; n=$MUSTER_FRAME_START
        while [ $n -lt $MUSTER_FRAME_END ]; do
            if [ $n = {BAD} ] && [ ! -e {} ]; then echo no bone in frame $n >&2; exit 3; fi
            echo frame $n > frames/$n.txt; n=$((n + 1))
        done",
        farm.path("go").display()
    );
    let worker = SimWorker::start(&farm.server, "W1", &["--exec", "sh", "-c", &script]);
    (farm, worker)
}

/// The frames that lie together, in order.
fn delivered(farm: &Farm) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(farm.output().join("session_night/frames"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

/// S26b, S26c, S20b: of a thousand frames one cannot be rendered. The other 999 are delivered in order, the session and
/// the commands name the one, the only worker is not put into quarantine, and a retry completes the session once the
/// program is mended.
#[test]
fn one_bad_frame_of_a_thousand_costs_one_frame() {
    let (farm, _worker) = farm();
    let ended = farm.muster("session submit night --frames 1000 --frames-per-task 1000 --wait");
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let advice = "1 frame is missing: [333, 334). `muster session retry night` renders it again.";
    assert!(ended.stderr.contains(advice), "{}", ended.stderr);
    assert!(ended.stdout.contains("failedFrames: [333, 334)"), "{}", ended.stdout);
    let session = farm.server.session("night");
    assert_eq!((&session["status"], &session["complete"]), (&json!("failed"), &json!(false)));
    assert_eq!(
        (&session["failedFrames"], &session["completedFrames"]),
        (&json!([[BAD, BAD + 1]]), &json!(999))
    );
    let expected: Vec<String> =
        (0..1000).filter(|frame| *frame != BAD).map(|frame| format!("{frame:08}.txt")).collect();
    assert_eq!(delivered(&farm), expected);
    let worker = farm.server.admin().get("/api/v1/workers/W1").expect(200);
    let is_at_work = ["Registered", "Healthy", "Degraded"].iter().any(|state| worker["state"] == *state);
    assert!(is_at_work, "{worker}");
    assert!(farm.muster("session diagnostics night").stdout.contains("no bone in frame 333"));

    assert_eq!(farm.muster("session retry night --frames 0-333").code, 4, "none of these failed");
    assert_eq!(farm.muster("session retry nothing").code, 5);
    assert_eq!(farm.muster("session retry night --frames 8-7").code, 2);
    fs::write(farm.path("go"), "").unwrap();
    let retried = farm.document("session retry night --frames 333 --reason new-bone");
    assert_eq!(retried["status"], "running");
    let ended = farm.muster("session watch night");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let session = farm.server.session("night");
    assert_eq!((&session["complete"], &session["failedFrames"]), (&json!(true), &json!([])));
    assert_eq!(delivered(&farm).len(), 1000);
    let mended = farm.output().join("session_night/frames/00000333.txt");
    assert_eq!(fs::read_to_string(mended).unwrap(), "frame 333\n");
    assert_eq!(farm.muster("session retry night").code, 4, "nothing failed");
    let kinds = farm.kinds("night");
    for kind in ["split", "given_up", "retried"] {
        assert!(kinds.iter().any(|found| found == kind), "{kind} is not among {kinds:?}");
    }
}

/// S23b, S26b: a relaxed session completes without the bad frame, and neither its record nor the exit code hides that. A
/// retry renders the frame.
#[test]
fn a_relaxed_session_hides_no_failed_frame() {
    let (farm, _worker) = farm();
    let ended =
        farm.muster("session submit night --frames 400 --frames-per-task 100 --quality relaxed --wait");
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("1 frame is missing: [333, 334)."), "{}", ended.stderr);
    let session = farm.server.session("night");
    assert_eq!((&session["status"], &session["complete"]), (&json!("completed"), &json!(false)));
    assert_eq!((&session["skippedFrames"], &session["failedFrames"]), (&json!(1), &json!([[BAD, BAD + 1]])));
    fs::write(farm.path("go"), "").unwrap();
    farm.muster("session retry night").done();
    farm.muster("session watch night").done();
    assert_eq!(farm.server.session("night")["skippedFrames"], 0);
}

/// S13, S14, S15, S16, S24, S27: the session ends complete, its manifest verifies, no frame stands twice, no id is used
/// twice over all label files, the retired ones included, and each loss appears in `replay[]`.
#[test]
fn no_kill_loses_a_frame_or_repeats_an_id() {
    let frames: u64 = number_from("MUSTER_FRAMES", 1500);
    let mut dice = Dice::announced();
    let mut wild = Wild::start();
    let session = json!({"sessionId": "night", "totalFrames": frames, "framesPerTask": 20, "scenario": {"fps": 30},
        "cameras": ["front"], "qualityMode": "strict"});
    let _ = wild.farm.server.admin().post("/api/v1/sessions", &session).expect(201);
    let mut harm = 0;
    while wild.status() == "running" {
        let before = wild.completed();
        thread::sleep(dice.millis(300, 900));
        // However slow the machine is, the work gets on between most rounds; the others hit while it recovers.
        if dice.percent(70) {
            wait_until("frames are done", || wild.completed() > before || wild.status() != "running");
        }
        harm += 1;
        match dice.below(12) {
            0..=4 => wild.kill_worker(&mut dice),
            5..=8 => wild.stop_worker(&mut dice),
            9..=10 => wild.continue_worker(&mut dice),
            _ => wild.kill_server(dice.millis(0, 300)),
        }
    }
    assert_eq!(wild.status(), "completed");
    wild.continue_all();
    wait_until("all that was retired is set apart", || all_is_set_apart(&wild.farm.server.database()));
    let session = wild.farm.server.session("night");
    assert_eq!((&session["completedFrames"], &session["totalFrames"]), (&frames.into(), &frames.into()));
    let (output, database) = (wild.farm.output(), wild.farm.server.database());
    check_session(&output, "night", frames);
    no_id_is_used_twice(&output);
    assert!(check_losses(&output, &database) > 0, "nothing was lost at all");
    println!("{frames} frames, {harm} times harmed: {}", summary(&database));
}

/// A farm and workers that are killed and stopped.
struct Wild {
    farm: Farm,
    workers: Vec<SimWorker>,
}

impl Wild {
    fn start() -> Self {
        let farm = Farm::start(&[
            ("MUSTER_SIMULATION__HEARTBEAT_MS", "500"),
            ("MUSTER_SIMULATION__MISSES_UNTIL_LOST", "3"),
            // Workers here die more often than any real ones: that they do is not held against them.
            ("MUSTER_SIMULATION__QUARANTINE_AFTER", "1000"),
            ("MUSTER_SIMULATION__MAX_ATTEMPTS", "1000"),
            ("MUSTER_SIMULATION__CHUNK_SIZE", "1000"),
        ]);
        let worker = |number: u32| {
            let mut args = vec!["--fps", "40", "--persons-per-frame", "3"];
            if number.is_multiple_of(2) {
                args.extend(["--listen", "127.0.0.1:0"]);
            }
            SimWorker::start(&farm.server, &format!("W{number}"), &args)
        };
        Self { workers: (1..=6).map(worker).collect(), farm }
    }

    fn status(&self) -> String {
        let answer = self.farm.server.session("night");
        answer["status"].as_str().unwrap().to_owned()
    }

    fn completed(&self) -> Option<u64> {
        self.farm.server.session("night")["completedFrames"].as_u64()
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
        self.farm.server.kill9();
        thread::sleep(away);
        self.farm.server.restart();
    }

    fn any(&mut self, dice: &mut Dice) -> &mut SimWorker {
        let index = usize::try_from(dice.below(self.workers.len() as u64)).unwrap();
        &mut self.workers[index]
    }
}
