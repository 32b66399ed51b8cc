use super::*;

const MISSED: &str = "subscribes = []\ncommand = ['true']\n[[schedules]]\nname = 'news'\ncron = '*/10 * * * *'\ntask_type = 'briefing'\nmissed = 'once'\n[schedules.payload]\nday = 1\nat = 2026-02-07T10:00:00Z";

fn general(missed: &str) -> (&'static str, String) {
    ("gen-briefing", MISSED.replace("'once'", &format!("'{missed}'")))
}

fn tasks(scene: &Scene) -> usize {
    scene.ids(Place::TasksPending).len()
}

/// C22: one task of low priority per slot, also when the king is another one each time.
#[test]
fn a_slot_comes_once() {
    let (name, text) = general("skip");
    let mut scene = Scene::new(&[(name, &text)]);
    scene.step();
    assert_eq!(tasks(&scene), 0, "a new schedule begins with the next slot");
    assert_eq!(scene.king.next_deadline(), Some("2026-02-07T10:10:00Z".parse().unwrap()));
    scene.advance_s(600);
    for _ in 0..3 {
        scene.set_health("green");
        scene.restart(&[(name, &text)]);
        scene.step();
    }
    let task = scene.only(Place::TasksPending);
    assert_eq!(task.text("event_id").as_deref(), Some("schedule-news"));
    assert_eq!(task.text("type").as_deref(), Some("briefing"));
    assert_eq!(task.text("priority").as_deref(), Some("low"));
    assert_eq!(task.raw("payload"), Some(r#"{"at":"2026-02-07T10:00:00Z","day":1}"#));
    scene.finish(&id("task-20260207-001"), r#""status": "success", "summary": "told""#);
    scene.step();
    assert_eq!(scene.ids(Place::TasksCompleted).len(), 1);
}

/// C22: what passed while nobody was there is left out by default, or made up for once.
#[test]
fn missed_slots_follow_the_policy() {
    for (missed, count) in [("skip", 0), ("once", 1)] {
        let (name, text) = general(missed);
        let mut scene = Scene::new(&[(name, &text)]);
        scene.step();
        scene.advance_s(3600 + 120);
        scene.set_health("green");
        scene.restart(&[(name, &text)]);
        scene.step();
        scene.step();
        assert_eq!(tasks(&scene), count, "{missed}");
        scene.advance_s(480);
        scene.set_health("green");
        scene.step();
        assert_eq!(tasks(&scene), count + 1, "{missed}: the next slot is no missed one");
    }
}

/// C19, C22: by default a slot comes in time, however busy the host is; also one that an obeying king had held back.
#[test]
fn a_slot_does_not_wait_by_default() {
    let (name, text) = general("skip");
    for had_obeyed in [false, true] {
        let mut scene = Scene::with(&[(name, &text)], had_obeyed);
        scene.step();
        scene.advance_s(600);
        scene.set_health("red");
        scene.step();
        assert_eq!(tasks(&scene), usize::from(!had_obeyed));
        scene.obeys = false;
        scene.advance_s(120);
        scene.restart(&[(name, &text)]);
        scene.step();
        assert_eq!(tasks(&scene), 1);
    }
}

/// C19, C22: a slot that comes while the host is busy waits for a king that obeys, and is not missed.
#[test]
fn a_busy_host_delays_a_slot() {
    let (name, text) = general("skip");
    let mut scene = Scene::obeying(&[(name, &text)]);
    scene.step();
    scene.advance_s(600);
    scene.set_health("orange");
    scene.step();
    assert_eq!(tasks(&scene), 0);
    scene.advance_s(300);
    scene.set_health("green");
    scene.step();
    assert_eq!(tasks(&scene), 1);
}

/// C22: a plan that an earlier king left is finished, not made again.
#[test]
fn a_planned_slot_is_finished() {
    let (name, text) = general("skip");
    let mut scene = Scene::new(&[(name, &text)]);
    scene.step();
    scene.advance_s(600);
    scene.set_health("green");
    scene.step();
    let record = id("news");
    let mut document = scene.folder.read(Place::Schedules, &record).unwrap();
    document.set_raw("plan", r#"{"slot": "2026-02-07T10:10:00Z", "task_id": "task-20260207-001", "thread_start": "msg-20260207-001"}"#);
    scene.folder.write(Place::Schedules, &record, &document).unwrap();
    scene.restart(&[(name, &text)]);
    scene.step();
    assert_eq!((tasks(&scene), scene.messages().len()), (1, 1));
}

/// C22: a schedule that makes no sense is an error at start that names it.
#[test]
fn a_wrong_schedule_is_an_error_at_start() {
    let (name, text) = general("skip");
    for (cron, why) in [("99 * * * *", "99"), ("0 0 30 2 *", "no day of the calendar is ever due")] {
        let text = text.replace("*/10 * * * *", cron);
        let error = King::new(court(&[(name, &text)]), String::new()).err().unwrap().to_string();
        assert!(["gen-briefing", "news", why].iter().all(|word| error.contains(word)), "{error}");
    }
    let leap_day = text.replace("*/10 * * * *", "0 0 29 2 *");
    assert!(King::new(court(&[(name, &leap_day)]), String::new()).is_ok());
}

/// C19, C22: after a downtime nothing is known of the host yet; what was missed is dropped all the same.
#[test]
fn a_stale_health_makes_no_slot_up() {
    let (name, text) = general("skip");
    let mut scene = Scene::obeying(&[(name, &text)]);
    scene.step();
    scene.advance_s(3 * 24 * 3600 + 300);
    scene.restart(&[(name, &text)]);
    scene.step();
    scene.set_health("green");
    scene.step();
    assert_eq!(tasks(&scene), 0);
}

/// C22: a slot that waits for the host is not forgotten by the next king.
#[test]
fn a_held_slot_outlives_its_king() {
    let (name, text) = general("skip");
    let mut scene = Scene::obeying(&[(name, &text)]);
    scene.step();
    scene.advance_s(600);
    scene.set_health("yellow");
    scene.step();
    scene.advance_s(300);
    scene.set_health("green");
    scene.restart(&[(name, &text)]);
    scene.step();
    assert_eq!(tasks(&scene), 1);
}

/// C22: a clock that was years ahead for a moment does not silence a schedule.
#[test]
fn a_clock_that_was_ahead_does_no_lasting_harm() {
    let (name, text) = general("skip");
    let mut scene = Scene::new(&[(name, &text)]);
    scene.step();
    let right = scene.now;
    scene.advance_s(400_000_000);
    scene.set_health("green");
    scene.step();
    scene.now = right;
    scene.step();
    scene.advance_s(600);
    scene.set_health("green");
    scene.step();
    assert_eq!(tasks(&scene), 1);
}
