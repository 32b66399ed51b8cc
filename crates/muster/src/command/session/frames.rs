//! Frame ranges as people write and read them (half-open, as in the contract), and the frames of a session as a strip of
//! characters.

use serde_json::{Value, json};
use std::str::FromStr;

/// Ranges of frames that were given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameList(Vec<Frames>);

/// From `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frames {
    start: u64,
    end: u64,
}

/// Reasons why a text is no list of frames.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameListError {
    #[error("{0:?} is no frame and no range of frames; {HOW}")]
    NotFrames(String),
    #[error("the range {start}-{end} has no frame in it: it ends before {end}; {HOW}")]
    Empty { start: u64, end: u64 },
}

impl FrameList {
    /// As the server takes it: `[[start, end], …]`.
    pub(super) fn to_json(&self) -> Value {
        self.0.iter().map(|frames| json!([frames.start, frames.end])).collect()
    }
}

impl FromStr for FrameList {
    type Err = FrameListError;

    fn from_str(text: &str) -> Result<Self, FrameListError> {
        pieces(text).into_iter().map(parse_range).collect::<Result<_, _>>().map(Self)
    }
}

/// Splits a list at its commas, except for the one within `[A, B)`.
fn pieces(text: &str) -> Vec<&str> {
    let mut is_inside = false;
    let is_end = |letter: char| {
        is_inside = letter == '[' || (is_inside && letter != ')');
        letter == ',' && !is_inside
    };
    text.split(is_end).map(str::trim).collect()
}

fn parse_range(text: &str) -> Result<Frames, FrameListError> {
    let frames = read(text).ok_or_else(|| FrameListError::NotFrames(text.to_owned()))?;
    let Frames { start, end } = frames;
    if start < end { Ok(frames) } else { Err(FrameListError::Empty { start, end }) }
}

/// Reads `N`, `A-B`, or `[A, B)` as messages print it.
fn read(text: &str) -> Option<Frames> {
    let printed = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(')'));
    let bounds = match printed {
        Some(inner) => Some(inner.split_once(',')?),
        None => text.split_once('-'),
    };
    match bounds {
        Some((start, end)) => Some(Frames { start: number(start)?, end: number(end)? }),
        None => number(text).and_then(|start| Some(Frames { start, end: start.checked_add(1)? })),
    }
}

/// A number without a sign.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The `failedFrames` of a session.
pub(super) struct FailedFrames(Vec<Frames>);

impl FailedFrames {
    /// Of a session as the server shows it.
    pub(super) fn of(session: &Value) -> Self {
        let ranges = session.get("failedFrames").and_then(Value::as_array).into_iter().flatten();
        let read =
            |range: &Value| Some(Frames { start: range.get(0)?.as_u64()?, end: range.get(1)?.as_u64()? });
        Self(ranges.filter_map(read).collect())
    }

    /// Number of frames.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|frames| frames.end.saturating_sub(frames.start)).sum()
    }

    /// The ranges in one line, the first of many.
    pub(super) fn text(&self) -> String {
        let ranges = self.0.iter().take(RANGES_MAX).map(|Frames { start, end }| format!("[{start}, {end})"));
        let mut text = ranges.collect::<Vec<_>>().join(", ");
        if self.0.len() > RANGES_MAX {
            text += &format!(" and {} more ranges", self.0.len() - RANGES_MAX);
        }
        text
    }
}

/// Advice in error messages.
const HOW: &str = "write ranges such as 120-130,200: from the first frame up to, not including, the second; a single number is one frame";
/// Number of ranges that fit into a few lines; `--json` has them all.
const RANGES_MAX: usize = 20;

/// Draws a session's coverage in so many cells: `█` done, `▓` at a worker, `▒` waiting for another worker, `·` not
/// given out, `×` failed. Of a cell's frames the least advanced one decides, so that a gap never hides; a failed frame
/// comes before all others.
pub(in crate::command) fn strip(session: &Value, cells: usize) -> String {
    stages(session, cells).into_iter().map(Stage::mark).collect()
}

/// As [`strip`], with failed cells in red where colours are used.
pub(super) fn coloured(session: &Value, cells: usize, is_colourful: bool) -> String {
    let plain = strip(session, cells);
    if is_colourful { plain.replace(FAILED, &format!("\u{1b}[31m{FAILED}\u{1b}[0m")) } else { plain }
}

fn stages(session: &Value, cells: usize) -> Vec<Stage> {
    let total = session.get("totalFrames").and_then(Value::as_u64).unwrap_or(0);
    let Some(width) = std::num::NonZeroU64::new(total.min(cells as u64)) else {
        return Vec::new();
    };
    let mut drawn = vec![Stage::Done; usize::try_from(width.get()).unwrap_or(0)];
    let coverage = session.get("coverage").and_then(Value::as_array);
    for (range, stage) in coverage.into_iter().flatten().filter_map(piece) {
        for (cell, worst) in (0u64..).zip(&mut drawn) {
            let from = u128::from(cell) * u128::from(total) / u128::from(width.get());
            let to = u128::from(cell + 1) * u128::from(total) / u128::from(width.get());
            if u128::from(range.0) < to && u128::from(range.1) > from {
                *worst = (*worst).min(stage);
            }
        }
    }
    drawn
}

/// Progress of a frame, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Failed,
    Waiting,
    Returned,
    AtWorker,
    Done,
}

impl Stage {
    const fn mark(self) -> char {
        match self {
            Self::Failed => FAILED,
            Self::Waiting => '·',
            Self::Returned => '▒',
            Self::AtWorker => '▓',
            Self::Done => '█',
        }
    }
}

fn piece(entry: &Value) -> Option<((u64, u64), Stage)> {
    let range = entry.get("frameRange")?.as_array()?;
    let stage = match entry.get("status")?.as_str()? {
        "completed" => Stage::Done,
        "assigned" | "running" => Stage::AtWorker,
        "lost" => Stage::Returned,
        "failed" => Stage::Failed,
        _ => Stage::Waiting,
    };
    Some(((range.first()?.as_u64()?, range.get(1)?.as_u64()?), stage))
}

const FAILED: char = '×';

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(text: &str) -> Result<Value, String> {
        text.parse::<FrameList>().map(|list| list.to_json()).map_err(|error| error.to_string())
    }

    /// S26b: frames are given as half-open ranges, as single frames, or as a message printed them.
    #[test]
    fn frames_are_read() {
        assert_eq!(parsed("7"), Ok(json!([[7, 8]])));
        assert_eq!(parsed("120-130,200"), Ok(json!([[120, 130], [200, 201]])));
        assert_eq!(parsed(" 0-1 , 5 "), Ok(json!([[0, 1], [5, 6]])));
        assert_eq!(parsed("[7, 8), [120, 130),4"), Ok(json!([[7, 8], [120, 130], [4, 5]])));
    }

    /// I4, S26b: what is no list of frames is refused with words that say what to write.
    #[test]
    fn nonsense_is_refused_with_an_example() {
        let too_large = u64::MAX.to_string();
        for wrong in
            ["", ",", "1,", "x", "-5", "+5", "1-", "1-2-3", "1..5", "[1, 5]", "[1-5)", "1 2", &too_large]
        {
            let error = parsed(wrong).unwrap_err();
            assert!(error.contains("is no frame") && error.contains("120-130,200"), "{wrong}: {error}");
        }
        for empty in ["5-5", "9-3", "[4, 4)"] {
            let error = parsed(empty).unwrap_err();
            assert!(error.contains("has no frame in it") && error.contains("120-130,200"), "{error}");
        }
    }

    /// S26b: failed frames are counted, and named as `--frames` takes them.
    #[test]
    fn failed_frames_are_named() {
        let failed = FailedFrames::of(&json!({"failedFrames": [[7, 8], [120, 130]]}));
        assert_eq!((failed.count(), failed.text().as_str()), (11, "[7, 8), [120, 130)"));
        assert_eq!(parsed(&failed.text()), Ok(json!([[7, 8], [120, 130]])));
        assert_eq!(FailedFrames::of(&json!({})).count(), 0);
        let many: Vec<Value> = (0..25).map(|frame| json!([frame * 2, frame * 2 + 1])).collect();
        let text = FailedFrames::of(&json!({ "failedFrames": many })).text();
        assert!(text.ends_with("[38, 39) and 5 more ranges"), "{text}");
    }

    /// S26: the strip shows every frame that is not done.
    #[test]
    fn the_least_advanced_frame_decides() {
        let entry =
            |start: u64, end: u64, status: &str| json!({"frameRange": [start, end], "status": status});
        let session = json!({"totalFrames": 100, "coverage": [
            entry(0, 35, "completed"), entry(35, 50, "running"), entry(50, 51, "lost"), entry(51, 60, "completed"),
            entry(60, 100, "pending"),
        ]});
        assert_eq!(strip(&session, 10), "███▓▓▒····");
        assert_eq!(strip(&json!({"totalFrames": 0}), 10), "");
        assert_eq!(strip(&json!({}), 10), "");
    }

    /// S26b: one failed frame among many shows, by its mark alone, and in red where colours are used.
    #[test]
    fn a_failed_frame_shows() {
        let entry =
            |start: u64, end: u64, status: &str| json!({"frameRange": [start, end], "status": status});
        let session = json!({"totalFrames": 100, "coverage": [
            entry(0, 34, "completed"), entry(34, 35, "failed"), entry(35, 90, "completed"), entry(90, 100, "pending"),
        ]});
        assert_eq!(strip(&session, 10), "███×█████·");
        assert_eq!(coloured(&session, 10, false), "███×█████·");
        assert_eq!(coloured(&session, 10, true), "███\u{1b}[31m×\u{1b}[0m█████·");
    }
}
