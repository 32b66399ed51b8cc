//! What the master knows of a session and no fragment says: `session.json` (S21, S24).

use crate::{
    json::{self, JsonError, Opaque},
    range::{FRAME_MAX, FrameRange},
};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The content of `session.json`; all of it is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The session's name.
    #[serde(default)]
    pub session_id: Option<String>,
    /// How many frames it has, from 0 on.
    #[serde(default)]
    pub total_frames: Option<u64>,
    /// Which frame ranges were given out again, and with which chunks.
    #[serde(default)]
    pub replays: Vec<Replay>,
}

/// Frames of a chunk that count no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// The frames.
    pub frame_range: FrameRange,
    /// The chunk whose frames they were.
    pub retired_chunk_id: u64,
    /// The chunk that was given out in its place, where the master did so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_chunk_id: Option<u64>,
}

/// Why a text is not a session's.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It is not JSON, or a field is wrong.
    #[error("not a session: {0}")]
    Json(String),
    /// The number of frames cannot be.
    #[error("totalFrames: {0} is not from 1 to {FRAME_MAX}")]
    TotalFrames(u64),
}

impl Session {
    /// Reads `session.json`.
    ///
    /// # Errors
    /// When it is not strict JSON or a field is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, SessionError> {
        if !bytes.trim_ascii_start().starts_with(b"{") {
            // A list would be taken as the fields in their order.
            return Err(SessionError::Json("it must be an object".to_owned()));
        }
        json::read(bytes, PhantomData::<Opaque>)
            .and_then(|_| serde_json::from_slice::<Self>(bytes).map_err(JsonError::from))
            .map_err(|error| SessionError::Json(error.to_string()))?
            .checked()
    }

    /// The text of `session.json`.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a session has only text keys")
    }

    fn checked(self) -> Result<Self, SessionError> {
        match self.total_frames {
            Some(frames) if !is_total(frames) => Err(SessionError::TotalFrames(frames)),
            _ => Ok(self),
        }
    }
}

/// Whether a session can have so many frames.
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
        let session = Session { session_id: Some("s".into()), total_frames: Some(10), replays };
        let text = session.to_json();
        assert_eq!(
            String::from_utf8_lossy(&text),
            r#"{"sessionId":"s","totalFrames":10,"replays":[{"frameRange":[0,10],"retiredChunkId":1,"newChunkId":2}]}"#
        );
        assert_eq!(Session::parse(&text).unwrap(), session);
        assert_eq!(Session::parse(br#"{"own":1}"#).unwrap(), Session::default());
        for bad in
            ["", "[]", r#"{"totalFrames":0}"#, r#"{"totalFrames":1,"totalFrames":2}"#, r#"{"replays":[{}]}"#]
        {
            assert!(Session::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
