//! S26b, S26c: frames that fail, what the commands say of them, and `muster session retry`.

use crate::farm::Farm;
use muster_tests::SimWorker;
use serde_json::json;
use std::fs;

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
        farm.signal_file().display()
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
    assert!(["Registered", "Healthy"].contains(&worker["state"].as_str().unwrap()), "{worker}");
    assert!(farm.muster("session diagnostics night").stdout.contains("no bone in frame 333"));

    assert_eq!(farm.muster("session retry night --frames 0-333").code, 4, "none of these failed");
    assert_eq!(farm.muster("session retry nothing").code, 5);
    assert_eq!(farm.muster("session retry night --frames 8-7").code, 2);
    fs::write(farm.signal_file(), "").unwrap();
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

/// S23b, S26b: a relaxed session completes without the frame, and nothing hides that.
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
    fs::write(farm.signal_file(), "").unwrap();
    assert_eq!(farm.muster("session retry night").code, 0);
    assert_eq!(farm.muster("session watch night").code, 0);
    assert_eq!(farm.server.session("night")["skippedFrames"], 0);
}
