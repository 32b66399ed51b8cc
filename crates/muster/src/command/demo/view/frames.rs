//! The session of frames, in one line.

use super::{
    super::{
        farm::Farm,
        paint::{Paint, grouped},
        session::{FRAMES, Session},
        worker::Worker,
    },
    KILLED,
};

/// The newest session: its frames as a strip, how far it is, and who of its workers is down.
pub(super) fn session_line(paint: Paint, farm: &Farm) -> String {
    let Some(session) = farm.sessions().last() else { return String::new() };
    let strip = paint.accent(&session.strip);
    let mut line = format!("{}  {strip}  {}", paint.strong(&session.id), session_words(session));
    for Worker { plan, .. } in farm.workers().iter().filter(|worker| worker.down_since().is_some()) {
        line.push_str(&format!("  {}", paint.bad(&format!("{} {KILLED}", plan.id))));
    }
    line
}

/// How far a session is, or how it ended.
pub(super) fn session_words(session: &Session) -> String {
    let Session { status, done, rate, replays, .. } = session;
    let pace = match session.took.filter(|_| session.is_over()) {
        Some(took) => format!("{status} in {:.1} s", took.as_secs_f64()),
        None => format!("{rate:.0} frames/s"),
    };
    format!("{:>3}/{FRAMES} frames  {pace}  {replays} replayed", grouped(*done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_session_says_how_far_it_is_and_how_it_ended() {
        let mut session = Session { done: 75, rate: 71.6, replays: 1, ..Session::planned(0) };
        "running".clone_into(&mut session.status);
        assert_eq!(session_words(&session), " 75/600 frames  72 frames/s  1 replayed");
        "completed".clone_into(&mut session.status);
        (session.done, session.took) = (600, Some(Duration::from_millis(9840)));
        assert_eq!(session_words(&session), "600/600 frames  completed in 9.8 s  1 replayed");
    }
}
