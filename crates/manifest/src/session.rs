//! `session.json`: what the server knows about a session and no fragment has (S21, S24).

use crate::{
    json::read_object,
    range::{FRAME_MAX, FrameRange},
};
use serde::{Deserialize, Serialize};

/// The content of `session.json`. Every field is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The session's name.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The number of frames, which count from 0.
    #[serde(default)]
    pub total_frames: Option<u64>,
    /// The ranges that were assigned again, with their old and new chunks.
    #[serde(default)]
    pub replays: Vec<Replay>,
    /// The frames that the server gave up (S26b).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<GivenUpRange>,
}

/// Frames that the server gave up. The manifest lists them in `skipped[]`, unless a fragment has them after all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenUpRange {
    /// The frames.
    pub frame_range: FrameRange,
    /// The reason.
    pub reason: String,
}

/// Frames of a chunk that no longer count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// The frames.
    pub frame_range: FrameRange,
    /// The chunk they belonged to.
    pub retired_chunk_id: u64,
    /// The chunk that replaces it, if the server assigned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_chunk_id: Option<u64>,
}

/// The reason why a text is not a session's.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The text is not strict JSON, or a field is wrong.
    #[error("not a session: {0}")]
    Json(String),
    /// The number of frames is impossible.
    #[error("totalFrames: {0} is not from 1 to {FRAME_MAX}")]
    TotalFrames(u64),
}

impl Session {
    /// Reads `session.json`.
    ///
    /// # Errors
    /// If it is not strict JSON or a field is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, SessionError> {
        let session: Self = read_object(bytes).map_err(SessionError::Json)?;
        match session.total_frames {
            Some(frames) if !is_total(frames) => Err(SessionError::TotalFrames(frames)),
            _ => Ok(session),
        }
    }

    /// Returns the text of `session.json`.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a session has only text keys")
    }
}

/// Returns true if a session can have this number of frames.
pub(crate) const fn is_total(frames: u64) -> bool {
    frames >= 1 && frames <= FRAME_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S21: a session's file is read back as it was written, unknown fields or not.
    #[test]
    fn a_session_is_read_back() {
        let range = FrameRange { start: 0, end: 10 };
        let replays = vec![Replay { frame_range: range, retired_chunk_id: 1, new_chunk_id: Some(2) }];
        let session =
            Session { session_id: Some("s".into()), total_frames: Some(10), replays, given_up: Vec::new() };
        let text = session.to_json();
        assert_eq!(
            String::from_utf8_lossy(&text),
            r#"{"sessionId":"s","totalFrames":10,"replays":[{"frameRange":[0,10],"retiredChunkId":1,"newChunkId":2}]}"#
        );
        assert_eq!(Session::parse(&text).unwrap(), session);
        let given_up = vec![GivenUpRange { frame_range: range, reason: "failed 5 times".into() }];
        let session = Session { given_up, ..Session::default() };
        let text = session.to_json();
        assert!(text.ends_with(br#""givenUp":[{"frameRange":[0,10],"reason":"failed 5 times"}]}"#));
        assert_eq!(Session::parse(&text).unwrap(), session);
        assert_eq!(Session::parse(br#"{"own":1}"#).unwrap(), Session::default());
        for bad in [
            "",
            "[]",
            r#"{"totalFrames":0}"#,
            r#"{"totalFrames":1,"totalFrames":2}"#,
            r#"{"replays":[{}]}"#,
            r#"{"givenUp":[{"frameRange":[0,1]}]}"#,
        ] {
            assert!(Session::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
