use super::*;
use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::{Value, json};

/// A fleet of two nodes, two runs and a session.
pub(in crate::command::top) fn document() -> Value {
    let throughput = json!({"tasks_ok": [0, 1, 2, 4, 8], "tasks_failed": [0, 0, 0, 1, 0]});
    let overview = json!({
        "seq": 41, "at": 100_000, "version": "0.1.0",
        "leader": {"address": "http://a:1", "epoch": 3, "store": "sqlite"},
        "nodes": {"online": 1, "offline": 1, "draining": 1},
        "devices": {"total": 4, "idle": 1, "running": 1, "offline": 1, "error": 1},
        "slots": {"used": 1, "target": 2}, "runs": {"pending": 1, "running": 1},
        "sessions": {"pending": 0, "running": 1, "paused": 0},
        "pool": {"jobs_waiting": 5, "jobs_running": 2, "workers_online": 1, "workers": 2},
        "oldest_waiting": {"kind": "run", "id": "r2", "since": 35_000}, "throughput": throughput,
    });
    let devices = json!([["a-1", "running", "t1"], ["a-2", "idle", null], ["a-3", "error", null]]);
    let nodes = json!([
        {"node_id": "PC-01", "status": "online", "draining": false, "max_devices": 20, "devices": devices},
        {"node_id": "PC-02", "status": "offline", "draining": true, "devices": [["b-1", "offline", null]]},
    ]);
    let counts = json!({"pending": 1, "running": 1, "completed": 2, "failed": 0, "cancelled": 0});
    let runs = json!([
        {"run_id": "r1", "status": "running", "title": "warm up", "workflow_id": "w", "counts": counts},
        {"run_id": "r2", "status": "pending", "title": null, "workflow_id": "nightly"},
    ]);
    let sessions =
        json!([{"sessionId": "s1", "status": "running", "totalFrames": 100, "completedFrames": 25}]);
    json!({"overview": overview, "fleet": {"nodes": nodes}, "runs": runs, "sessions": sessions})
}

pub(in crate::command::top) fn state() -> State {
    State::new("http://a:1".to_owned(), Snapshot::read(&document()))
}

pub(in crate::command::top) fn press(state: &mut State, code: KeyCode) -> Option<Action> {
    state.take(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

/// Presses the keys of a text, one after the other; says what came of the last.
pub(in crate::command::top) fn write(state: &mut State, text: &str) -> Option<Action> {
    text.chars().map(|char| press(state, KeyCode::Char(char))).last().flatten()
}

pub(in crate::command::top) fn entry(seq: u64, kind: &str, body: Value) -> Input {
    Input::Entry(Entry { seq: Some(seq), kind: kind.to_owned(), body })
}

#[test]
fn q_and_ctrl_c_quit() {
    assert_eq!(write(&mut state(), "q"), Some(Action::Quit));
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let mut asking = state();
    asking.mode = Mode::Confirming(Order::Drain("PC-01".to_owned()));
    assert_eq!(asking.take(Input::Key(ctrl_c)), Some(Action::Quit));
}

/// Q16: what is chosen is what is explained, in every pane.
#[test]
fn explain_is_about_what_is_chosen() {
    let mut state = state();
    let explained = |state: &mut State| match write(state, "e") {
        Some(Action::Explain(subject)) => format!("{} {}", subject.kind, subject.id),
        other => format!("{other:?}"),
    };
    assert_eq!(explained(&mut state), "node PC-01");
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Down);
    assert_eq!(explained(&mut state), "device a-2");
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::Tab);
    press(&mut state, KeyCode::Down);
    assert_eq!(explained(&mut state), "run r2");
    press(&mut state, KeyCode::Down);
    assert_eq!(explained(&mut state), "session s1");
    press(&mut state, KeyCode::Tab);
    assert_eq!(explained(&mut state), "None", "no event yet");
    assert!(state.notice.is_some());
    state.take(entry(1, "device_error", json!({"at": 1, "device": "a-3"})));
    assert_eq!(explained(&mut state), "device a-3");
}

/// Q16: an explanation that comes late takes nothing away from somebody who is typing.
#[test]
fn a_late_text_does_not_take_what_is_typed() {
    let mut state = state();
    write(&mut state, "/pc");
    let text = || Input::Text("node PC-01".to_owned(), "it is online".to_owned());
    state.take(text());
    assert!(state.notice.as_deref().is_some_and(|notice| notice.contains("node PC-01")));
    write(&mut state, "-02");
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.nodes().len(), 1, "the filter was not cut short");
    state.take(text());
    assert!(matches!(state.mode, Mode::Reading { .. }));
}

/// A cancel says what it will do, and asks for a reason.
#[test]
fn a_run_is_cancelled_after_a_yes_and_a_reason() {
    let mut state = state();
    press(&mut state, KeyCode::Tab);
    assert_eq!(write(&mut state, "c"), None);
    assert!(matches!(&state.mode, Mode::Confirming(order) if order.question().contains("r1")));
    write(&mut state, "n");
    assert_eq!((state.mode.clone(), state.notice.as_deref()), (Mode::Looking, Some("left as it is")));
    write(&mut state, "cyoldx");
    press(&mut state, KeyCode::Backspace);
    let action = press(&mut state, KeyCode::Enter);
    assert_eq!(action, Some(Action::Order(Order::Cancel("r1".to_owned()), "old".to_owned())));
    assert_eq!(state.mode, Mode::Looking);
}

/// Q11: a device is returned with a note.
#[test]
fn a_device_is_returned_with_a_note() {
    let mut state = state();
    write(&mut state, "r");
    assert!(state.notice.as_deref().is_some_and(|notice| notice.contains("Enter")), "a node is no device");
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::End);
    write(&mut state, "rnew cable");
    let action = press(&mut state, KeyCode::Enter);
    assert_eq!(action, Some(Action::Order(Order::Return("a-3".to_owned()), "new cable".to_owned())));
}

#[test]
fn a_node_is_drained_or_resumed() {
    let mut state = state();
    write(&mut state, "dy");
    let action = press(&mut state, KeyCode::Enter);
    assert_eq!(action, Some(Action::Order(Order::Drain("PC-01".to_owned()), String::new())));
    press(&mut state, KeyCode::Down);
    let action = write(&mut state, "dy");
    assert_eq!(action, Some(Action::Order(Order::Resume("PC-02".to_owned()), String::new())));
}

#[test]
fn a_filter_hides_what_does_not_contain_it() {
    let mut state = state();
    write(&mut state, "/pc-02");
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.nodes().len(), 1);
    assert_eq!(state.subject(), Some(Subject::new("node", "PC-02")));
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.nodes().len(), 2);
}

/// An order must not hit the neighbour of what was chosen.
#[test]
fn a_cursor_stays_with_what_it_is_at() {
    let mut state = state();
    press(&mut state, KeyCode::Tab);
    press(&mut state, KeyCode::Down);
    let mut later = document();
    later["runs"].as_array_mut().unwrap().remove(0);
    state.take(Input::Snapshot(Box::new(Snapshot::read(&later))));
    assert_eq!(state.subject(), Some(Subject::new("run", "r2")));
    later["runs"] = json!([]);
    later["sessions"] = json!([]);
    later["overview"]["pool"] = json!({});
    state.take(Input::Snapshot(Box::new(Snapshot::read(&later))));
    assert_eq!((state.subject(), state.cursors[1]), (None, 0));
}

#[test]
fn a_node_that_is_gone_is_closed() {
    let mut state = state();
    press(&mut state, KeyCode::Enter);
    state.take(Input::Snapshot(Box::default()));
    assert_eq!((state.open_node.clone(), state.subject()), (None, None));
}

#[test]
fn events_follow_the_newest_unless_somebody_reads() {
    let mut state = state();
    state.pane = Pane::Events;
    for number in 0..EVENTS_MAX as u64 + 5 {
        state.take(entry(number, "device_error", json!({"device": format!("d{number}")})));
    }
    assert_eq!(state.events.len(), EVENTS_MAX);
    assert_eq!(state.subject().unwrap().id, format!("d{}", EVENTS_MAX + 4));
    press(&mut state, KeyCode::Up);
    state.take(entry(9999, "device_error", json!({"device": "last"})));
    assert_eq!(state.subject().unwrap().id, format!("d{}", EVENTS_MAX + 3));
    press(&mut state, KeyCode::End);
    assert_eq!(state.subject().unwrap().id, "last");
}

#[test]
fn a_server_that_is_away_is_told_until_both_ways_work() {
    let mut state = state();
    state.take(Input::Lost(Connection::Following, "gone".to_owned()));
    state.take(Input::Lost(Connection::Asking, "gone".to_owned()));
    state.take(Input::Snapshot(Box::new(Snapshot::read(&document()))));
    assert_eq!(state.ailing, [None, Some("gone".to_owned())]);
    state.take(Input::Open);
    assert_eq!(state.ailing, [None, None]);
}
