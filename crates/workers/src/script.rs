//! The little language of the cores' tests: what happens when, and what the core does then.
//!
//! A line is `TIME HAPPENS -> DOES; DOES`. A line without an arrow compares nothing.

use muster_model::Timestamp;

/// A core with a server that does what the script says.
pub(crate) trait Player {
    /// The beginnings of actions that are compared only if a line names them.
    const QUIET: &'static [&'static str];
    /// Starts the core, as the words after `start` say.
    fn start(words: &str, now: Timestamp) -> Self;
    /// Lets something happen; `rest` are the words after the first.
    fn play(&mut self, what: &str, rest: &str);
    /// Takes the core's actions, and answers those that the script does not.
    fn gather(&mut self);
    /// The state that every player has.
    fn state(&mut self) -> &mut PlayerState;
    fn next_wake(&self) -> Option<Timestamp>;
    fn wake(&mut self, now: Timestamp);

    /// Lets time pass, with all wakes that are due meanwhile.
    fn pass(&mut self, until: Timestamp) {
        let mut woken_at = None;
        while let Some(due) = self.next_wake().filter(|due| *due <= until) {
            let now = self.state().now.max(due);
            assert!(woken_at != Some(now), "it asks to be woken over and over");
            (self.state().now, woken_at) = (now, Some(now));
            self.wake(now);
            self.gather();
        }
        self.state().now = until;
    }
}

/// The state that every player has.
#[derive(Default)]
pub(crate) struct PlayerState {
    pub(crate) now: Timestamp,
    /// Calls are not answered by themselves.
    pub(crate) is_cut: bool,
    /// Actions of the core since the last line.
    pub(crate) did: Vec<String>,
}

/// Plays a script and compares.
#[track_caller]
pub(crate) fn check<P: Player>(script: &str) {
    let mut played: Option<P> = None;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (happens, expected) = match line.split_once("->") {
            Some((happens, expected)) => (happens, Some(expected.trim())),
            None => (line, None),
        };
        let (at, happens) = happens.trim().split_once(' ').expect(line);
        let (at, happens) = (time(at), happens.trim());
        match (happens.strip_prefix("start"), &mut played) {
            (Some(words), _) => played = Some(P::start(words, at)),
            (None, Some(player)) => {
                player.pass(at);
                let (what, rest) = happens.split_once(' ').unwrap_or((happens, ""));
                player.play(what, rest.trim());
            }
            (None, None) => panic!("a script begins with start"),
        }
        let player = played.as_mut().expect("it has begun");
        player.gather();
        let actions = std::mem::take(&mut player.state().did);
        if let Some(expected) = expected {
            assert_eq!(shown(&actions, P::QUIET, expected), expected, "{line}");
        }
    }
}

fn shown(actions: &[String], quiet: &[&str], expected: &str) -> String {
    let is_named = |action: &&String| {
        let quiet = quiet.iter().find(|quiet| action.starts_with(**quiet));
        quiet.is_none_or(|quiet| expected.contains(quiet))
    };
    let actions: Vec<&str> = actions.iter().filter(is_named).map(String::as_str).collect();
    if actions.is_empty() { "nothing".to_owned() } else { actions.join("; ") }
}

/// The value of `name=value` among words.
pub(crate) fn word<'a>(words: &'a str, name: &str) -> Option<&'a str> {
    words.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

#[allow(clippy::cast_possible_truncation, reason = "a script lasts minutes")]
fn time(text: &str) -> Timestamp {
    let seconds: f64 = text.trim_end_matches('s').parse().expect(text);
    Timestamp((seconds * 1_000.0).round() as i64)
}
