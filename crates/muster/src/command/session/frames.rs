//! Frame ranges as people write and read them (half-open, as in the contract), and the frames of a session as a strip of
//! characters.

use muster_contract_simulation::{Coverage, Range, SessionDetail};
use muster_model::FrameTaskStatus;
use std::str::FromStr;

/// Ranges of frames that were given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameList(pub(super) Vec<Range>);

/// Reasons why a text is no list of frames.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameListError {
    #[error("{0:?} is no frame and no range of frames; {HOW}")]
    NotFrames(String),
    #[error("the range {start}-{end} has no frame in it: it ends before {end}; {HOW}")]
    Empty { start: u64, end: u64 },
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

fn parse_range(text: &str) -> Result<Range, FrameListError> {
    let [start, end] = read(text).ok_or_else(|| FrameListError::NotFrames(text.to_owned()))?;
    if start < end { Ok([start, end]) } else { Err(FrameListError::Empty { start, end }) }
}

/// Reads `N`, `A-B`, or `[A, B)` as messages print it.
fn read(text: &str) -> Option<Range> {
    let printed = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(')'));
    let bounds = match printed {
        Some(inner) => Some(inner.split_once(',')?),
        None => text.split_once('-'),
    };
    match bounds {
        Some((start, end)) => Some([number(start)?, number(end)?]),
        None => number(text).and_then(|start| Some([start, start.checked_add(1)?])),
    }
}

/// A number without a sign.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Number of frames in some ranges.
pub(super) fn count(ranges: &[Range]) -> u64 {
    ranges.iter().map(|[start, end]| end.saturating_sub(*start)).sum()
}

/// Some ranges in one line, the first of many.
pub(super) fn ranges_text(ranges: &[Range]) -> String {
    let first = ranges.iter().take(RANGES_MAX).map(|[start, end]| format!("[{start}, {end})"));
    let mut text = first.collect::<Vec<_>>().join(", ");
    if ranges.len() > RANGES_MAX {
        text += &format!(" and {} more ranges", ranges.len() - RANGES_MAX);
    }
    text
}

/// Advice in error messages.
const HOW: &str = "write ranges such as 120-130,200: from the first frame up to, not including, the second; a single number is one frame";
/// Number of ranges that fit into a few lines; `--json` has them all.
const RANGES_MAX: usize = 20;

/// Draws a session's coverage in so many cells: `█` done, `▓` at a worker, `▒` waiting for another worker, `·` not
/// given out, `×` failed. Of a cell's frames the least advanced one decides, so that a gap never hides; a failed frame
/// comes before all others.
pub(in crate::command) fn strip(session: &SessionDetail, cells: usize) -> String {
    stages(session, cells).into_iter().map(Stage::mark).collect()
}

/// As [`strip`], with failed cells in red where colours are used.
pub(super) fn coloured(session: &SessionDetail, cells: usize, is_colourful: bool) -> String {
    let plain = strip(session, cells);
    if is_colourful { plain.replace(FAILED, &format!("\u{1b}[31m{FAILED}\u{1b}[0m")) } else { plain }
}

fn stages(detail: &SessionDetail, cells: usize) -> Vec<Stage> {
    let total = detail.session.total_frames;
    let Some(width) = std::num::NonZeroU64::new(total.min(cells as u64)) else {
        return Vec::new();
    };
    let mut drawn = vec![Stage::Done; usize::try_from(width.get()).unwrap_or(0)];
    for Coverage { frame_range: [start, end], status, .. } in &detail.coverage {
        let stage = Stage::of(status);
        for (cell, worst) in (0u64..).zip(&mut drawn) {
            let from = u128::from(cell) * u128::from(total) / u128::from(width.get());
            let to = u128::from(cell + 1) * u128::from(total) / u128::from(width.get());
            if u128::from(*start) < to && u128::from(*end) > from {
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
    /// The stage of frames with that status; one that a later server may tell counts as not given out.
    fn of(status: &str) -> Self {
        match FrameTaskStatus::from_word(status) {
            Some(FrameTaskStatus::Completed) => Self::Done,
            Some(FrameTaskStatus::Assigned | FrameTaskStatus::Running) => Self::AtWorker,
            Some(FrameTaskStatus::Lost) => Self::Returned,
            Some(FrameTaskStatus::Failed) => Self::Failed,
            Some(FrameTaskStatus::Pending | FrameTaskStatus::Cancelled) | None => Self::Waiting,
        }
    }

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

const FAILED: char = '×';

#[cfg(test)]
mod tests {
    use super::{super::tests::detail, *};
    use serde_json::json;

    fn parsed(text: &str) -> Result<Vec<Range>, String> {
        text.parse::<FrameList>().map(|list| list.0).map_err(|error| error.to_string())
    }

    /// S26b: frames are given as half-open ranges, as single frames, or as a message printed them.
    #[test]
    fn frames_are_read() {
        assert_eq!(parsed("7"), Ok(vec![[7, 8]]));
        assert_eq!(parsed("120-130,200"), Ok(vec![[120, 130], [200, 201]]));
        assert_eq!(parsed(" 0-1 , 5 "), Ok(vec![[0, 1], [5, 6]]));
        assert_eq!(parsed("[7, 8), [120, 130),4"), Ok(vec![[7, 8], [120, 130], [4, 5]]));
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
        let failed = [[7, 8], [120, 130]];
        assert_eq!((count(&failed), ranges_text(&failed).as_str()), (11, "[7, 8), [120, 130)"));
        assert_eq!(parsed(&ranges_text(&failed)), Ok(failed.to_vec()));
        assert_eq!(count(&[]), 0);
        let many: Vec<Range> = (0..25).map(|frame| [frame * 2, frame * 2 + 1]).collect();
        let text = ranges_text(&many);
        assert!(text.ends_with("[38, 39) and 5 more ranges"), "{text}");
    }

    /// S26: the strip shows every frame that is not done.
    #[test]
    fn the_least_advanced_frame_decides() {
        let entry =
            |start: u64, end: u64, status: &str| json!({"frameRange": [start, end], "status": status});
        let session = detail(json!({"totalFrames": 100, "coverage": [
            entry(0, 35, "completed"), entry(35, 50, "running"), entry(50, 51, "lost"), entry(51, 60, "completed"),
            entry(60, 100, "pending"),
        ]}));
        assert_eq!(strip(&session, 10), "███▓▓▒····");
        assert_eq!(strip(&detail(json!({"totalFrames": 0})), 10), "");
    }

    /// S26b: one failed frame among many shows, by its mark alone, and in red where colours are used.
    #[test]
    fn a_failed_frame_shows() {
        let entry =
            |start: u64, end: u64, status: &str| json!({"frameRange": [start, end], "status": status});
        let session = detail(json!({"totalFrames": 100, "coverage": [
            entry(0, 34, "completed"), entry(34, 35, "failed"), entry(35, 90, "completed"), entry(90, 100, "pending"),
        ]}));
        assert_eq!(strip(&session, 10), "███×█████·");
        assert_eq!(coloured(&session, 10, false), "███×█████·");
        assert_eq!(coloured(&session, 10, true), "███\u{1b}[31m×\u{1b}[0m█████·");
    }
}
