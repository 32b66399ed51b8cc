//! One fragment: what a worker says about the frames of one task (S21).

mod frames;
mod reader;

pub(crate) use frames::Frames;

use crate::{
    json::{self, JsonError},
    name::{is_chunk, is_worker_id},
    names::Names,
    number::Number,
    range::FrameRange,
};
use reader::{Draft, Reader};
use std::cell::RefCell;

/// A fragment that was read and found to be in order.
#[derive(Clone, Debug)]
pub struct Fragment {
    frame_range: FrameRange,
    chunk: u64,
    worker: Option<Box<str>>,
    replay: bool,
    pub(crate) statistics: Vec<(u32, Number)>,
    pub(crate) is_estimated: bool,
    pub(crate) frames: Frames,
    pub(crate) names: Names,
}

/// Why a text is not a fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is not JSON, or JSON that two readers may understand differently.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// A field says something impossible.
    #[error("{field}: {problem}")]
    Field {
        /// The field's name, as `frames` or `statistics`.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Fragment {
    /// Reads a fragment strictly, once, in time and memory proportional to its length.
    ///
    /// # Errors
    /// When it is not strict JSON, a field is missing, or a field says something impossible.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let field = RefCell::default();
        let draft =
            json::read(bytes, Reader { field: &field }).map_err(|error| explain(error, field.take()))?;
        Self::checked(draft)
    }

    /// The frames it speaks of.
    #[must_use]
    pub const fn frame_range(&self) -> FrameRange {
        self.frame_range
    }

    /// The chunk of ids that was given out with the task.
    #[must_use]
    pub const fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Who made it, where it says so.
    #[must_use]
    pub fn worker(&self) -> Option<&str> {
        self.worker.as_deref()
    }

    /// Whether its frames were made anew after a loss.
    #[must_use]
    pub const fn replay(&self) -> bool {
        self.replay
    }

    /// How many frames its statistics say were dropped, where they do; a broken number counts as the next whole one.
    #[must_use]
    pub fn dropped_frames(&self) -> Option<u64> {
        let number = self.names.known("droppedFrames")?;
        let (_, dropped) = self.statistics.iter().find(|(name, _)| *name == number)?;
        Some(match dropped.whole() {
            Some(whole) => u64::try_from(whole.max(0)).unwrap_or(u64::MAX),
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a cast of floats saturates"
            )]
            None => dropped.approximate().ceil() as u64,
        })
    }

    fn checked(draft: Draft) -> Result<Self, Refusal> {
        let frame_range = draft.frame_range.ok_or_else(|| Refusal::missing("frameRange"))?;
        let chunk = draft.chunk.ok_or_else(|| Refusal::missing("globalIdChunkId"))?;
        if !is_chunk(chunk) {
            return Err(Refusal::field("globalIdChunkId", format!("{chunk} is not from 1 to 2^63 - 1")));
        }
        if let Some(worker) = draft.worker.as_deref().filter(|worker| !is_worker_id(worker)) {
            return Err(Refusal::field("workerId", format!("{worker:?} is not a worker's id")));
        }
        let frames =
            draft.frames.settled(frame_range).map_err(|problem| Refusal::field("frames", problem))?;
        Ok(Self {
            frame_range,
            chunk,
            worker: draft.worker,
            replay: draft.replay,
            statistics: draft.statistics,
            is_estimated: draft.is_estimated,
            frames,
            names: draft.names,
        })
    }
}

impl Refusal {
    /// The field that is wrong, where the text is JSON at all.
    #[must_use]
    pub fn wrong_field(&self) -> Option<&str> {
        match self {
            Self::NotJson(_) => None,
            Self::Field { field, .. } => Some(field),
        }
    }

    fn missing(field: &str) -> Self {
        Self::field(field, "is missing")
    }

    fn field(field: &str, problem: impl Into<String>) -> Self {
        Self::Field { field: field.to_owned(), problem: problem.into() }
    }
}

/// What the parser found while it read a field. Where the text itself is broken the field does not matter.
fn explain(error: JsonError, field: String) -> Refusal {
    match error {
        JsonError::Json(error) if error.is_data() && !field.is_empty() => {
            Refusal::Field { field, problem: error.to_string() }
        }
        other => Refusal::NotJson(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Refusal {
        Fragment::parse(text.as_bytes()).expect_err(text)
    }

    /// S21: the fields of a fragment are read; what is unknown is no obstacle.
    #[test]
    fn a_fragment_is_read() {
        let text = r#"{"frameRange":[10,20],"globalIdChunkId":7,"workerId":"W1","replay":true,"cameras":[{"id":1}],
            "statistics":{"persons":3,"droppedFrames":2},"validationSummary":{"ok":[]},"own":{"deep":[1]},
            "frames":[{"frameId":11,"timestamp":1.5,"statistics":{"persons":1},"own":0},{"frameId":10}]}"#;
        let fragment = Fragment::parse(text.as_bytes()).unwrap();
        assert_eq!(fragment.frame_range(), FrameRange { start: 10, end: 20 });
        assert_eq!((fragment.chunk(), fragment.worker(), fragment.replay()), (7, Some("W1"), true));
        assert_eq!(fragment.dropped_frames(), Some(2));
        let least = Fragment::parse(br#"{"frameRange":[0,1],"globalIdChunkId":1}"#).unwrap();
        assert_eq!((least.worker(), least.replay(), least.dropped_frames()), (None, false, None));
        let nulls = br#"{"frameRange":[0,1],"globalIdChunkId":1,"workerId":null,"replay":null,"statistics":null,"frames":null}"#;
        assert!(Fragment::parse(nulls).is_ok());
    }

    /// S25: each impossible field is refused by its name.
    #[test]
    fn a_wrong_field_is_named() {
        let long = format!("\"workerId\":\"{}\"", "w".repeat(65));
        for (field, members) in [
            ("frameRange", r#""globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":[5,5],"globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":[6,5],"globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":[-1,5],"globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":[0,5.0],"globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":[0],"globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":[0,1,2],"globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":"0-5","globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":null,"globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":[0,9007199254740992],"globalIdChunkId":1"#),
            ("frameRange", r#""frameRange":[0,5],"frameRange":[0,6],"globalIdChunkId":1"#),
            ("globalIdChunkId", r#""frameRange":[0,5]"#),
            ("globalIdChunkId", r#""frameRange":[0,5],"globalIdChunkId":0"#),
            ("globalIdChunkId", r#""frameRange":[0,5],"globalIdChunkId":-1"#),
            ("globalIdChunkId", r#""frameRange":[0,5],"globalIdChunkId":"1""#),
            ("globalIdChunkId", r#""frameRange":[0,5],"globalIdChunkId":9223372036854775808"#),
            ("workerId", r#""frameRange":[0,5],"globalIdChunkId":1,"workerId":"../x""#),
            ("workerId", r#""frameRange":[0,5],"globalIdChunkId":1,"workerId":"""#),
            ("workerId", &format!(r#""frameRange":[0,5],"globalIdChunkId":1,{long}"#)),
            ("replay", r#""frameRange":[0,5],"globalIdChunkId":1,"replay":"yes""#),
            ("statistics", r#""frameRange":[0,5],"globalIdChunkId":1,"statistics":{"a":"1"}"#),
            ("statistics", r#""frameRange":[0,5],"globalIdChunkId":1,"statistics":{"a":{"b":1}}"#),
            ("statistics", r#""frameRange":[0,5],"globalIdChunkId":1,"statistics":{"a":1,"a":1}"#),
            ("statistics", r#""frameRange":[0,5],"globalIdChunkId":1,"statistics":{"estimated":1}"#),
            ("statistics", r#""frameRange":[0,5],"globalIdChunkId":1,"statistics":[1]"#),
            ("frames", r#""frameRange":[0,5],"globalIdChunkId":1,"frames":[{"frameId":5}]"#),
            ("frames", r#""frameRange":[0,5],"globalIdChunkId":1,"frames":[{"frameId":1},{"frameId":1}]"#),
            ("frames", r#""frameRange":[0,5],"globalIdChunkId":1,"frames":[{}]"#),
            ("frames", r#""frameRange":[0,5],"globalIdChunkId":1,"frames":[{"frameId":1.0}]"#),
            (
                "frames",
                r#""frameRange":[0,5],"globalIdChunkId":1,"frames":[{"frameId":1,"timestamp":"noon"}]"#,
            ),
            (
                "frames",
                r#""frameRange":[0,5],"globalIdChunkId":1,"frames":[{"frameId":1,"statistics":{"a":[]}}]"#,
            ),
            ("cameras", r#""frameRange":[0,5],"globalIdChunkId":1,"cameras":[{"a":1,"a":2}]"#),
            ("own", r#""frameRange":[0,5],"globalIdChunkId":1,"own":{"a":1,"a":2}"#),
        ] {
            assert_eq!(refusal(&format!("{{{members}}}")).wrong_field(), Some(field), "{members}");
        }
        let mixed = r#"{"frameRange":[0,2],"globalIdChunkId":1,"frames":[{"frameId":0,"timestamp":1},
            {"frameId":1,"timestamp":"2026-01-01T00:00:00Z"}]}"#;
        assert_eq!(refusal(mixed).wrong_field(), Some("frames"));
    }

    /// S25: what is not JSON is refused as that.
    #[test]
    fn what_is_not_json_is_refused() {
        let deep = format!(r#"{{"own":{}{}}}"#, "[".repeat(128), "]".repeat(128));
        for text in [
            "",
            "nonsense",
            "[]",
            "1",
            r#"{"frameRange":[0,NaN]}"#,
            r#"{"statistics":{"a":Infinity}}"#,
            &deep,
        ] {
            assert_eq!(refusal(text).wrong_field(), None, "{text:.60}");
        }
    }
}
