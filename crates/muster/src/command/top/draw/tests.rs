use super::*;
use crate::command::top::state::{
    Connection, Input,
    tests::{entry, press, state, write},
};
use crossterm::event::KeyCode;
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer, style::Color};
use serde_json::json;

fn drawn(state: &State, is_coloured: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(110, 24)).unwrap();
    terminal.draw(|frame| draw(frame, state, Theme { is_coloured })).unwrap();
    terminal.backend().buffer().clone()
}

/// The content of a screen, line by line.
fn screen(state: &State) -> String {
    let buffer = drawn(state, true);
    let line = |y: u16| (0..110).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..24).map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// Compares text by text; on a difference the whole screen is shown.
fn assert_screen(state: &State, expected: &str) {
    let screen = screen(state);
    assert_eq!(screen, expected, "the screen is now:\n{screen}");
}

fn with_events() -> State {
    let mut state = state();
    state.take(entry(42, "worker_online", json!({"at": 3_723_000, "worker": "PC-01"})));
    state.take(entry(43, "task_ended", json!({"at": 3_724_000, "task": "t1", "status": "failed"})));
    state
}

#[test]
fn everything_is_on_one_screen() {
    assert_screen(&with_events(), include_str!("screens/fleet.txt"));
}

#[test]
fn the_devices_of_a_node_take_its_place() {
    let mut state = with_events();
    press(&mut state, KeyCode::Enter);
    write(&mut state, "/err");
    assert_screen(&state, include_str!("screens/devices.txt"));
}

#[test]
fn a_dangerous_order_says_what_it_will_do() {
    let mut state = with_events();
    press(&mut state, KeyCode::Tab);
    write(&mut state, "c");
    assert_screen(&state, include_str!("screens/cancel.txt"));
}

#[test]
fn a_server_that_is_away_is_told() {
    let mut state = with_events();
    state.take(Input::Lost(Connection::Following, "connection refused".to_owned()));
    assert!(screen(&state).lines().next().unwrap().ends_with("reconnecting: connection refused"));
    state.take(Input::Open);
    assert!(screen(&state).lines().next().unwrap().ends_with("live"));
}

/// Q16: an explanation is read whole, however long.
#[test]
fn an_explanation_is_shown_whole() {
    let mut state = state();
    let sentence = "PC-01 runs 20 of 20 devices; ".repeat(8) + "the end.";
    state.take(Input::Text("run r1".to_owned(), sentence));
    let screen = screen(&state);
    assert!(screen.contains(" run r1 ") && screen.contains("the end."), "{screen}");
}

/// I4: `NO_COLOR` leaves no colour anywhere.
#[test]
fn without_colours_there_are_none() {
    let state = with_events();
    let coloured = |buffer: Buffer| buffer.content().iter().any(|cell| cell.fg != Color::Reset);
    assert!(coloured(drawn(&state, true)));
    assert!(!coloured(drawn(&state, false)));
}

#[test]
fn any_size_of_terminal_will_do() {
    for (width, height) in [(1, 1), (10, 3), (40, 10), (300, 100)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut state = with_events();
        write(&mut state, "?");
        terminal.draw(|frame| draw(frame, &state, Theme { is_coloured: true })).unwrap();
    }
}
