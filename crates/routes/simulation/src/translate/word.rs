//! The words of parameters, and which entries of the feed are about a session.

use muster_model::{ChunkState, SessionId, SessionStatus};
use serde::Deserialize;

/// Where a session stands.
pub(crate) fn read_session_status(word: &str) -> Option<SessionStatus> {
    SessionStatus::from_word(word)
}

/// What became of granted ids.
pub(crate) fn read_chunk_state(word: &str) -> Option<ChunkState> {
    ChunkState::from_word(word)
}

/// Whether an entry of the feed is about a session: it names the session, or a task of it.
pub(crate) fn is_about(entry: &str, session: &SessionId) -> bool {
    // Most entries are about something else; that is seen without reading them.
    if !entry.contains(session.as_str()) {
        return false;
    }
    let about: About<'_> = serde_json::from_str(entry).unwrap_or_default();
    let of_task = about.task.and_then(|task| task.rsplit_once('.')).map(|(session, _)| session);
    about.session == Some(session.as_str()) || of_task == Some(session.as_str())
}

#[derive(Default, Deserialize)]
struct About<'a> {
    session: Option<&'a str>,
    task: Option<&'a str>,
}

/// Where a session can stand.
pub(crate) const SESSION_WORDS: [&str; 5] = ["running", "paused", "completed", "failed", "cancelled"];

/// What can become of granted ids.
pub(crate) const CHUNK_WORDS: [&str; 3] = ["live", "used", "retired"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_understood() {
        assert_eq!(SESSION_WORDS.map(read_session_status), SessionStatus::ALL.map(Some));
        assert_eq!(CHUNK_WORDS.map(read_chunk_state), ChunkState::ALL.map(Some));
    }

    /// S26: the stream of a session has what is about it or one of its tasks, and nothing else.
    #[test]
    fn entries_are_told_apart() {
        let session = SessionId::new("s1").unwrap();
        for own in [r#"{"at":1,"session":"s1"}"#, r#"{"task":"s1.00000100","worker":"w"}"#] {
            assert!(is_about(own, &session), "{own}");
        }
        for other in [
            r#"{"session":"s11"}"#,
            r#"{"task":"s11.00000100"}"#,
            r#"{"worker":"s1"}"#,
            r#"{"task":"s1"}"#,
            r#"{"session":7,"task":["s1"]}"#,
            "s1",
        ] {
            assert!(!is_about(other, &session), "{other}");
        }
    }
}
