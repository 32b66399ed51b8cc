//! A fragment: a worker's report about the frames of one task (S21).

mod reader;

use crate::{
    json::{self, JsonError},
    name::{is_chunk, is_worker_id},
    number::Number,
    paths::{Paths, TOP},
    range::FrameRange,
    time_order::{Moment, Span},
};
use reader::{Draft, Reader};
use std::cell::RefCell;

/// A valid fragment.
#[derive(Clone, Debug)]
pub struct Fragment {
    frame_range: FrameRange,
    chunk: u64,
    worker: Option<Box<str>>,
    replay: bool,
    pub(crate) statistics: Vec<(u32, Number)>,
    pub(crate) is_estimated: bool,
    pub(crate) frames: Frames,
    /// The names of all its statistics.
    pub(crate) paths: Paths,
    /// The text of `cameras`; none for `null`.
    pub(crate) cameras: Option<Box<str>>,
    /// The text of `validationSummary`; none for `null`.
    pub(crate) validation_summary: Option<Box<str>>,
}

/// The reason why a text is not a fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The text is not strict JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// A field is missing or has an impossible value.
    #[error("{field}: {problem}")]
    Field {
        /// The name of the field, such as `frames` or `statistics`.
        field: String,
        /// The fault.
        problem: String,
    },
}

impl Fragment {
    /// Reads a fragment strictly, once, in time and memory proportional to its length.
    ///
    /// # Errors
    /// If it is not strict JSON, a field is missing, or a field has an impossible value.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let field = RefCell::default();
        let draft =
            json::read(bytes, Reader { field: &field }).map_err(|error| explain(error, field.take()))?;
        Self::checked(draft)
    }

    /// Returns its frames.
    #[must_use]
    pub const fn frame_range(&self) -> FrameRange {
        self.frame_range
    }

    /// Returns the chunk of ids that belongs to the task.
    #[must_use]
    pub const fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Returns the worker's id, if the fragment has one.
    #[must_use]
    pub fn worker(&self) -> Option<&str> {
        self.worker.as_deref()
    }

    /// Returns true if its frames replace lost ones.
    #[must_use]
    pub const fn replay(&self) -> bool {
        self.replay
    }

    /// Returns the number of dropped frames by its statistics (top level only), if they have one. A fraction is rounded up.
    #[must_use]
    pub fn dropped_frames(&self) -> Option<u64> {
        let dropped_frames = self.paths.known(TOP, "droppedFrames")?;
        let (_, dropped) = self.statistics.iter().find(|(path, _)| *path == dropped_frames)?;
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
            paths: draft.paths,
            cameras: draft.cameras,
            validation_summary: draft.validation_summary,
        })
    }
}

impl Refusal {
    /// Returns the name of the wrong field; none if the text is not JSON.
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

/// Turns a parser's error into a refusal. It names the field, unless the text itself is not JSON.
fn explain(error: JsonError, field: String) -> Refusal {
    match error {
        JsonError::Json(error) if error.is_data() && !field.is_empty() => {
            Refusal::Field { field, problem: error.to_string() }
        }
        other => Refusal::NotJson(other.to_string()),
    }
}

/// Frames in the order of their ids, and the statistics of all frames in one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    list: Vec<Frame>,
    values: Vec<(u32, Number)>,
    pub(crate) is_disordered: bool,
    pub(crate) is_estimated: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) id: u64,
    pub(crate) moment: Option<Moment>,
    values_from: usize,
    values_end: usize,
}

impl Frames {
    /// Adds a frame as the text lists it. Its statistics were added before.
    pub(super) fn push(&mut self, id: u64, moment: Option<Moment>) {
        let values_from = self.list.last().map_or(0, |frame| frame.values_end);
        self.list.push(Frame { id, moment, values_from, values_end: self.values.len() });
    }

    pub(super) fn push_value(&mut self, path: u32, value: Number) {
        self.values.push((path, value));
    }

    /// Sorts the frames by id.
    ///
    /// # Errors
    /// Names the first frame that is outside the range, listed twice, or has a timestamp of another kind.
    pub(super) fn settled(mut self, range: FrameRange) -> Result<Self, String> {
        if let Some(stray) = self.list.iter().find(|frame| !range.has(frame.id)) {
            return Err(format!("frameId {} is not in the frameRange {range}", stray.id));
        }
        let listed_backwards = goes_backwards(&self.list)?;
        self.list.sort_unstable_by_key(|frame| frame.id);
        if let Some([frame, _]) = self.list.array_windows().find(|[one, next]| one.id == next.id) {
            return Err(format!("frameId {} is listed twice", frame.id));
        }
        self.is_disordered = listed_backwards || goes_backwards(&self.list)?;
        Ok(self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the frames of a range.
    pub(crate) fn within(&self, range: FrameRange) -> &[Frame] {
        let from = self.list.partition_point(|frame| frame.id < range.start);
        let end = self.list.partition_point(|frame| frame.id < range.end);
        &self.list[from..end]
    }

    /// Returns the statistics of one frame.
    pub(crate) fn values_of(&self, frame: &Frame) -> &[(u32, Number)] {
        &self.values[frame.values_from..frame.values_end]
    }

    /// Returns the statistics of all frames.
    pub(crate) fn values(&self) -> &[(u32, Number)] {
        &self.values
    }

    /// Returns the earliest and the latest timestamp in a range.
    pub(crate) fn span(&self, range: FrameRange) -> Option<Span> {
        Span::of(self.within(range).iter().filter_map(|frame| frame.moment))
    }
}

fn goes_backwards(frames: &[Frame]) -> Result<bool, String> {
    let mut moments = frames.iter().filter_map(|frame| frame.moment);
    let Some(mut before) = moments.next() else { return Ok(false) };
    let mut is_backwards = false;
    for moment in moments {
        match moment.order(before) {
            Some(order) => is_backwards |= order.is_lt(),
            None => return Err(format!("the timestamps {before} and {moment} are of different kinds")),
        }
        before = moment;
    }
    Ok(is_backwards)
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

    /// S21: `frame_id` means the same as `frameId`; both may stand in one frame if they agree.
    #[test]
    fn a_frame_id_has_two_spellings() {
        let text = br#"{"frameRange":[0,9],"globalIdChunkId":1,
            "frames":[{"frame_id":3,"timestamp":3},{"frameId":1},{"frameId":2,"frame_id":2}]}"#;
        let fragment = Fragment::parse(text).unwrap();
        let frames = fragment.frames.within(fragment.frame_range());
        assert_eq!(frames.iter().map(|frame| frame.id).collect::<Vec<_>>(), [1, 2, 3]);
        let differ =
            refusal(r#"{"frameRange":[0,9],"globalIdChunkId":1,"frames":[{"frame_id":3,"frameId":4}]}"#);
        assert!(differ.to_string().contains("frameId and frame_id differ: 3 and 4"), "{differ}");
    }

    /// S21: statistics nest up to the depth of JSON; `droppedFrames` and `estimated` count at the top level only.
    #[test]
    fn statistics_may_nest() {
        let nested = |depth: usize| {
            let (open, close) = ("{\"a\":".repeat(depth), "}".repeat(depth));
            format!(r#"{{"frameRange":[0,1],"globalIdChunkId":1,"statistics":{open}1{close}}}"#)
        };
        assert_eq!(Fragment::parse(nested(127).as_bytes()).unwrap().statistics.len(), 1);
        assert_eq!(refusal(&nested(128)).wrong_field(), None);
        let text = br#"{"frameRange":[0,1],"globalIdChunkId":1,
            "statistics":{"estimated":true,"a":{"droppedFrames":7,"estimated":1,"none":{}}}}"#;
        let fragment = Fragment::parse(text).unwrap();
        assert_eq!((fragment.dropped_frames(), fragment.is_estimated), (None, true));
        let shown: Vec<String> =
            fragment.statistics.iter().map(|(path, _)| fragment.paths.shown(*path)).collect();
        assert_eq!(shown, [r#""a"."droppedFrames""#, r#""a"."estimated""#]);
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
        ] {
            assert_eq!(refusal(&format!("{{{members}}}")).wrong_field(), Some(field), "{members}");
        }
    }

    /// S25: a wrong member of statistics, frames or opaque fields is refused by the name of its field.
    #[test]
    fn a_field_with_a_wrong_member_is_named() {
        for (field, member) in [
            ("statistics", r#""statistics":{"a":"1"}"#),
            ("statistics", r#""statistics":{"a":{"b":"1"}}"#),
            ("statistics", r#""statistics":{"a":{"b":[1]}}"#),
            ("statistics", r#""statistics":{"a":{"b":null}}"#),
            ("statistics", r#""statistics":{"a":null}"#),
            ("statistics", r#""statistics":{"a":{"estimated":true}}"#),
            ("statistics", r#""statistics":{"a":{"b":1,"b":1}}"#),
            ("statistics", r#""statistics":{"estimated":{"a":1}}"#),
            ("statistics", r#""statistics":{"a":1,"a":1}"#),
            ("statistics", r#""statistics":{"estimated":1}"#),
            ("statistics", r#""statistics":[1]"#),
            ("frames", r#""frames":[{"frameId":5}]"#),
            ("frames", r#""frames":[{"frameId":1},{"frameId":1}]"#),
            ("frames", r#""frames":[{"frameId":1},{"frame_id":1}]"#),
            ("frames", r#""frames":[{"frame_id":5}]"#),
            ("frames", r#""frames":[{"frameId":1,"frame_id":2}]"#),
            ("frames", r#""frames":[{"frameId":1,"frameId":1}]"#),
            ("frames", r#""frames":[{}]"#),
            ("frames", r#""frames":[{"frameId":1.0}]"#),
            ("frames", r#""frames":[{"frameId":1,"timestamp":"noon"}]"#),
            ("frames", r#""frames":[{"frameId":1,"statistics":{"a":[]}}]"#),
            ("cameras", r#""cameras":[{"a":1,"a":2}]"#),
            ("cameras", r#""cameras":[{"a":1e400}]"#),
            ("validationSummary", r#""validationSummary":{"a":1,"a":2}"#),
            ("own", r#""own":{"a":1,"a":2}"#),
        ] {
            let text = format!(r#"{{"frameRange":[0,5],"globalIdChunkId":1,{member}}}"#);
            assert_eq!(refusal(&text).wrong_field(), Some(field), "{member}");
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
